"""Sizes of partitions if there were more: Spark's hash of the real keys."""

from __future__ import annotations

from typing import Any

import pytest

from inspector import api
from tests.cli.support import checkpoint_of


def more(case: str, **options: Any) -> tuple[list[dict[str, Any]], str]:
    """The rows of the table, and the notes of the report."""
    report = api.memory(str(checkpoint_of(case)), api.Options(**options))
    (table,) = (table for table in report.tables if table.name == "more_partitions")
    return [dict(row) for row in table.rows], " ".join(report.footnotes)


@pytest.mark.parametrize("case", ["agg_update", "fmgws_event_ignore", "trouble_skew"])
def test_the_first_row_is_what_there_is(case: str) -> None:
    rows, _ = more(case)
    sizes = api.sizes(str(checkpoint_of(case)), by="partition").primary.rows
    for row in rows[::4]:
        mine = [one for one in sizes if one["store_name"] == row["store_name"]]
        most = max(mine, key=lambda one: one["row_bytes"])
        assert row["partitions"] == len(mine)
        assert row["max_row_bytes"] == most["row_bytes"]
        assert row["max_rows"] == max(one["rows"] for one in mine)
        assert row["largest_partition"] == most["partition_id"]


def test_keys_that_are_many_spread_and_one_key_does_not() -> None:
    rows, said = more("agg_update")
    assert [row["partitions"] for row in rows] == [2, 4, 8, 16]
    sizes = [row["max_row_bytes"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] < 0.75 * sizes[0]
    assert rows[0]["largest_heap_bytes"] > rows[1]["largest_heap_bytes"] > sizes[1]
    assert "More partitions do not help" not in said
    assert "a new checkpoint" in said
    rows, said = more("trouble_skew")
    skewed = [row for row in rows if row["store_name"] == "left-keyWithIndexToValue"]
    assert skewed[-1]["partitions"] == 40
    assert skewed[-1]["max_row_bytes"] > 0.9 * skewed[0]["max_row_bytes"]
    assert "More partitions do not help store left-keyWithIndexToValue of operator 0" in said


def test_of_one_partition_only_what_comes_of_it_is_counted() -> None:
    rows, _ = more("agg_update", partition_id=1)
    whole, _ = more("agg_update")
    assert [row["partitions"] for row in rows] == [1, 2, 4, 8]
    assert all(row["largest_partition"] % 2 == 1 for row in rows)
    assert all(a["max_rows"] <= b["max_rows"] for a, b in zip(rows, whole, strict=True))


@pytest.mark.parametrize(
    ("case", "which"),
    [("agg_global", "operator 0 (stateStoreSave)"), ("wide_key", "operator 0 (stateStoreSave)")],
)
def test_where_the_hash_is_not_known_it_says_so(case: str, which: str) -> None:
    rows, said = more(case)
    assert rows == []
    assert f"How the keys of {which} would be spread over more partitions is not known" in said
    assert "a new checkpoint" not in said
