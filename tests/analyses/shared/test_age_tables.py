"""Tables about the lives of rows."""

from __future__ import annotations

from typing import Any

from inspector import api
from tests.fixture_folder import NEWEST


def tables(case: str) -> dict[str, list[dict[str, Any]]]:
    report = api.leftovers(str(NEWEST / case / "checkpoint"))
    return {table.name: [dict(row) for row in table.rows] for table in report.tables}


def test_age_table_counts_every_row_once() -> None:
    rows = tables("fmgws_snapshots_cleaned")["ages"]
    assert [row["last_put"] for row in rows] == [
        "this batch",
        "1-9 batches",
        "before the oldest version",
    ]
    assert sum(row["rows"] for row in rows) == 128


def test_leftover_ages_sum_to_the_classes() -> None:
    result = tables("fmgws_event_ignore")
    assert sum(row["keys"] for row in result["leftover_ages"]) == 68
    assert sum(row["row_bytes"] for row in result["leftover_ages"]) == 6528
    (row,) = result["classes"]
    assert (row["untouched"], row["changed"], row["empty"]) == (68, 0, 0)


def test_join_retention_table() -> None:
    left, right = tables("join_left_outer")["retention"]
    assert left["oldest_behind_ms"] == 20_000
    assert (left["removed_rows"], right["removed_rows"]) == (99, 81)


def test_proof_starts_at_the_oldest_log_entry() -> None:
    path = str(NEWEST / "fmgws_snapshots_cleaned" / "checkpoint")
    assert api.leftovers(path).summary["proof_from_batch"] == 9
    complete = str(NEWEST / "fmgws_event_ignore" / "checkpoint")
    assert api.leftovers(complete).summary["proof_from_batch"] == 0
