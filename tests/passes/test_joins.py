"""Where the four stores of a join meet."""

from __future__ import annotations

from tests.cases import FIXTURES, told


def test_both_sides_of_a_healthy_join_agree() -> None:
    rows = told(FIXTURES / "join_left_outer" / "checkpoint")
    joins = [row for row in rows if row["kind"] == "join"]
    assert {row["store_name"] for row in joins} == {
        "left-keyWithIndexToValue",
        "right-keyWithIndexToValue",
    }
    wrong = ("missing_rows", "counters_without_rows", "dangling_rows")
    assert {row["bad_keys"] for row in joins if row["slug"] in wrong} == {0}
    assert sum(row["bad_keys"] for row in joins if row["slug"] == "rows") == 76
