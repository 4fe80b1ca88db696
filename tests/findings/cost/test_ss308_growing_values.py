"""SS308: values that grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss308_growing_values import GrowingValues
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from tests.store_views import store_view


def findings(sizes: Sequence[int], **thresholds: float) -> list[Any]:
    """Return the findings about a store of ten rows whose versions have these bytes of values."""
    history = [VersionFacts(stores=1, rows=10, value_bytes=size) for size in sizes]
    view = store_view(StoreRule(), history=history)
    return list(GrowingValues(parse_thresholds(thresholds)).findings(view))


def test_growing_values_are_reported() -> None:
    (finding,) = findings([6_000 + n * 90_000 // 8 for n in range(1, 9)])
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS308", 10, 96_000)
    assert finding.cause == (
        "The values grow with the updates, from 1.7 KiB to 9.4 KiB on average."
    )
    assert finding.evidence == (
        "the mean value has 9.4 KiB, and had 1.7 KiB at the beginning of versions 1 to 8; 10 rows"
    )
    assert finding.hides == ("SS313",)


@pytest.mark.parametrize("grown", [5_000, 900])
def test_slightly_growing_values_have_no_finding(grown: int) -> None:
    assert findings([6_000 + n * grown // 8 for n in range(1, 9)]) == []


@pytest.mark.parametrize(("full", "is_found"), [(4, False), (9, True)])
def test_full_lists_have_no_finding(full: int, *, is_found: bool) -> None:
    sizes = [6_000 + 9_000 * min(n, full) for n in range(1, 9)]
    assert bool(findings(sizes)) is is_found


def test_few_versions_have_no_finding() -> None:
    sizes = [6_000, 90_000, 180_000]
    assert findings(sizes) == []
    assert findings(sizes, window_versions=3)
    assert findings(sizes, window_versions=3, mean_value_bytes=20_000) == []
