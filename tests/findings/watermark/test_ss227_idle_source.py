"""SS227: source that brings nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.findings.finding import Finding, Severity
from inspector.findings.rule import parse_thresholds
from inspector.findings.watermark.ss206_flat_watermark import FlatWatermark
from inspector.findings.watermark.ss227_idle_source import SilentSource
from tests.findings.watermark.test_ss206_flat_watermark import offsets
from tests.store_views import batch_clocks, checkpoint_view

BATCHES = 14
MOVING = [*"0123456789ABCD"]
IDLE = offsets(*zip(MOVING, "a" * BATCHES, strict=True))
GAP = IDLE.copy()
del GAP[9]


def findings(sources: Any = IDLE, **thresholds: str) -> list[Finding]:
    """Return the findings about a query without a watermark."""
    view = checkpoint_view({}, clocks=batch_clocks(*[0] * BATCHES), sources=sources)
    return list(SilentSource(parse_thresholds(thresholds)).findings(view))


def test_idle_source_is_named_with_its_offset() -> None:
    (finding,) = findings()
    assert (finding.kind.id, finding.severity) == ("SS227", Severity.INFO)
    assert finding.cause == (
        "No data has come from source 1 since batch 0, while another source brought data in 10 of "
        "the batches 4 to 13."
    )
    assert finding.evidence == "source 1 is at a since batch 0"


@pytest.mark.parametrize(
    "sources",
    [
        offsets(*zip(MOVING, MOVING, strict=True)),
        # It moved ten batches ago.
        offsets(*zip(MOVING, "aaaaabbbbbbbbb", strict=True)),
        # No source moved, and only one source.
        offsets(*[["a", "a"]] * BATCHES),
        offsets(*[["a"]] * BATCHES),
        GAP,
    ],
)
def test_healthy_sources_have_no_finding(sources: Any) -> None:
    assert findings(sources) == []


def test_number_of_batches_is_a_threshold() -> None:
    assert findings(idle_batches="13")
    assert not findings(idle_batches="14")


def test_batches_without_data_have_no_finding() -> None:
    clocks = batch_clocks(*[0] * BATCHES)
    idle = {n: replace(clock, has_new_data=n > 11) for n, clock in clocks.items()}
    view = checkpoint_view({}, clocks=idle, sources=IDLE)
    assert list(SilentSource().findings(view)) == []


def test_flat_watermark_finding_replaces_idle_source() -> None:
    assert "SS227" in FlatWatermark.slow_source.hides
