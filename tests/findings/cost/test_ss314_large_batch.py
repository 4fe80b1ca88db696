"""SS314: one batch far larger than others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss314_large_batch import LargeBatch
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from tests.store_views import checkpoint_view, store_view, versions_with

BACKLOG = (3000, 20, 20, 20, 20, 20)


def findings(puts: Sequence[int], *, rebased: int = 0, **thresholds: float) -> list[Any]:
    """Return the findings about a store whose versions put these numbers of rows."""
    history = versions_with("puts", puts)
    history[0] = VersionFacts(puts=puts[0], rebased=rebased)
    view = store_view(StoreRule(), history=history)
    return list(LargeBatch(parse_thresholds(thresholds)).findings(view))


def test_batch_with_many_rows_is_named() -> None:
    (finding,) = findings((20, 10, 20, 3000, 20, 0, 30))
    assert (finding.kind.id, finding.rows) == ("SS314", None)
    assert finding.cause == (
        "Batch 3 wrote 3,000 rows, 150 times as many as a batch usually does: most likely a "
        "backlog was read at once, as at a first start or after a stop, without a limit such as "
        "maxOffsetsPerTrigger."
    )
    assert finding.evidence == (
        "batch 3 wrote 3,000 rows, 150 times as many as a batch usually does: half of 5 others "
        "wrote 20 or fewer"
    )


@pytest.mark.parametrize(
    ("puts", "is_found"),
    [
        (BACKLOG, True),
        (BACKLOG[:-1], False),  # too few batches
        ((3000, 0, 20, 20, 20, 20), False),  # too few that wrote
        ((999, 20, 20, 20, 20, 20), False),
        ((3000, 101, 101, 101, 101, 101), False),
        ((3000,) * 6, False),
    ],
)
def test_large_batch_needs_enough_smaller_batches(puts: Sequence[int], *, is_found: bool) -> None:
    assert bool(findings(puts)) is is_found


def test_thresholds_set_rows_and_ratio() -> None:
    assert findings((999, 20, 20, 20, 20, 20), burst_rows=999)
    assert not findings(BACKLOG, burst_ratio=151)


def test_version_from_snapshot_is_no_batch() -> None:
    assert not findings(BACKLOG, rebased=1)


def test_counter_store_of_join_has_no_finding() -> None:
    view = store_view(StoreRule(), history=versions_with("puts", BACKLOG))
    names = ("left-keyToNumValues", "left-keyWithIndexToValue")
    counters, rows = checkpoint_view(dict.fromkeys(names, StoreRule())).stores
    counters.versions = rows.versions = dict(view.versions)
    assert list(LargeBatch().findings(counters)) == []
    (finding,) = LargeBatch().findings(rows)
    assert finding.store_name == "left-keyWithIndexToValue"
