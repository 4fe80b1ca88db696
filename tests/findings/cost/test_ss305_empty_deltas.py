"""SS305: empty deltas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inspector.checkpoint.layout import OperatorLayout, PartitionLayout, StoreLayout
from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss305_empty_deltas import EmptyDeltas
from inspector.findings.rule import parse_thresholds
from inspector.light_dataclasses import replace
from inspector.model import StoreId
from inspector.operators.rule import StoreRule
from tests.store_views import store_view, versions_with


def empty(*numbers: int, partitions: int = 40, rebased: int = 0) -> list[VersionFacts]:
    """Return the facts of versions with these numbers of empty deltas."""
    return versions_with("empty_deltas", numbers, stores=partitions, rebased=rebased)


def findings(
    history: list[VersionFacts],
    rows: Sequence[int] = (1, 1),
    thresholds: Mapping[str, float] | None = None,
) -> list[Any]:
    """Return the findings about a store whose partitions have these rows."""
    history = history[:-1] + [replace(changes, rows=rows[0]) for changes in history[-1:]]
    view = store_view(StoreRule(), history=history, partitions=versions_with("rows", rows[1:]))
    return list(EmptyDeltas(parse_thresholds(thresholds or {})).findings(view))


def test_batches_without_changes_are_counted() -> None:
    (finding,) = findings(empty(30, 40, 40))
    assert (finding.kind.id, finding.rows) == ("SS305", None)
    assert finding.evidence == (
        "110 of 120 deltas change nothing, in versions 1 to 3; in 2 of 3 versions no partition "
        "changed"
    )
    assert finding.cause == ("110 of 120 state files are empty: 2 of 3 batches changed nothing.")


def test_partitions_without_rows_are_counted() -> None:
    (finding,) = findings(empty(39, 40, 39), rows=(0,) * 39 + (7,))
    assert finding.cause == ("118 of 120 state files are empty: 39 of 40 partitions hold nothing.")


def test_batches_with_few_changed_partitions_are_counted() -> None:
    (finding,) = findings(empty(39, 38, 30), rows=(1,) * 39 + (0,))
    assert finding.cause == (
        "107 of 120 state files are empty: half of the 3 batches changed at most 2 of "
        "40 partitions."
    )


@pytest.mark.parametrize(
    ("history", "thresholds", "is_found"),
    [
        (empty(30, 40, 30), {}, True),
        (empty(30, 39, 30), {}, False),  # 99 deltas
        (empty(30, 40, 30, partitions=70), {}, False),  # 48 % of them
        (empty(30, 40, 30), {"empty_share": 0.9}, False),
        (empty(1), {"empty_deltas": 1, "empty_share": 0.01}, True),
        (empty(0), {"empty_deltas": 0}, False),
        ([], {}, False),
        # A version that a snapshot made has no known delta.
        (empty(0, partitions=200, rebased=200) + empty(0, 100, partitions=100), {}, True),
    ],
)
def test_finding_needs_number_and_share_of_empty_deltas(
    history: list[VersionFacts], thresholds: dict[str, float], *, is_found: bool
) -> None:
    assert bool(findings(history, thresholds=thresholds)) is is_found


def test_column_families_have_no_finding() -> None:
    view = store_view(StoreRule(), history=empty(40, 40, 40))
    assert list(EmptyDeltas().findings(view))
    default = StoreLayout(StoreId(0, "default", 0), "0/0", ())
    family = StoreLayout(StoreId(0, "list", 0), "0/0", ())
    layout = OperatorLayout(0, "0", (PartitionLayout(0, "0/0", (default, family)),))
    view.operator = replace(view.operator, layout=layout)
    assert not list(EmptyDeltas().findings(view))
