"""Where the four stores of a join meet."""

from __future__ import annotations

import pytest

from inspector.facts.join_rows import JoinCheck, MatchedPuts
from inspector.merge.collect import Facts
from inspector.model import JOIN_ROW_STORES, JOIN_TIMED_ROW_STORES, StoreName
from tests.cases import observed_in
from tests.fixture_folder import NEWEST


@pytest.mark.parametrize(
    ("case", "stores", "rows"),
    [
        ("join_left_outer", JOIN_ROW_STORES, (61, 15)),
        ("rocksdb_join_left_outer_v4", JOIN_TIMED_ROW_STORES, (31, 10)),
    ],
)
def test_healthy_join_sides_have_equal_counts(
    case: str, stores: tuple[str, ...], rows: tuple[int, int]
) -> None:
    """As many rows of each side as Spark's own source of state reads there."""
    checks = Facts(observed_in(NEWEST / case / "checkpoint")).sums(JoinCheck)
    assert checks == {
        StoreName(0, store): JoinCheck(rows=count)
        for store, count in zip(stores, rows, strict=True)
    }


def test_puts_of_both_join_sides_are_counted_by_their_match() -> None:
    seen = observed_in(NEWEST / "join_left_outer/checkpoint", fit=True)
    assert Facts(seen).sums(MatchedPuts) == {
        StoreName(0, "left-keyWithIndexToValue"): MatchedPuts(matched=100, unmatched=179),
        StoreName(0, "right-keyWithIndexToValue"): MatchedPuts(matched=119, unmatched=16),
    }
