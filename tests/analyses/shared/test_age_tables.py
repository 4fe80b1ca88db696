"""Tables of ages and retention of rows and leftovers."""

from __future__ import annotations

from inspector import api
from tests.fixture_folder import NEWEST
from tests.reports import cell_values, rows_of_table


def leftovers(case: str) -> api.Report:
    return api.leftovers(str(NEWEST / case / "checkpoint"))


def test_age_table_counts_every_row_once() -> None:
    rows = rows_of_table(leftovers("fmgws_snapshots_cleaned"), "ages")
    assert cell_values(rows, "last_put", "rows") == [
        ("this batch", 15),
        ("1-9 batches", 75),
        ("before the oldest version", 38),
    ]


def test_leftover_ages_sum_to_the_classes() -> None:
    report = leftovers("fmgws_event_ignore")
    ages = rows_of_table(report, "leftover_ages")
    assert sum(cell_values(ages, "keys")) == 68
    assert sum(cell_values(ages, "row_bytes")) == 6528
    (row,) = rows_of_table(report, "classes")
    assert (row["untouched"], row["changed"], row["empty"]) == (68, 0, 0)


def test_join_retention_table() -> None:
    left, right = rows_of_table(leftovers("join_left_outer"), "retention")
    assert left["oldest_behind_ms"] == 20_000
    assert (left["removed_rows"], right["removed_rows"]) == (99, 81)


def test_proof_starts_at_the_oldest_log_entry() -> None:
    assert leftovers("fmgws_snapshots_cleaned").summary["proof_from_batch"] == 9
    assert leftovers("fmgws_event_ignore").summary["proof_from_batch"] == 0
