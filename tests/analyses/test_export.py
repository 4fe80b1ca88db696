"""Rows and changes of each store, as typed tables and as reports."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from inspector import api
from inspector.analyses.export import store_reports
from inspector.analyses.shared.run import Run
from tests.cli.support import checkpoint_of, copy_of

JOIN = str(checkpoint_of("join_left_outer"))


def test_typed_tables_hold_what_rows_show() -> None:
    tables = api.export("rows", JOIN)
    assert [table.name for table in tables] == [
        "operator-0.left-keyToNumValues",
        "operator-0.left-keyWithIndexToValue",
        "operator-0.right-keyToNumValues",
        "operator-0.right-keyWithIndexToValue",
    ]
    counts = [pa.Table.from_batches(t.batches, t.schema).num_rows for t in tables]
    assert sum(counts) == len(list(api.rows(JOIN).primary.rows))
    changes = api.export("changes", JOIN)
    counts = [pa.Table.from_batches(t.batches, t.schema).num_rows for t in changes]
    assert sum(counts) == len(list(api.changes(JOIN).primary.rows))


def test_report_tables_are_the_same_as_text() -> None:
    reports = store_reports(Run.start(JOIN, None), "rows")
    rows = [row for _, report in reports for row in report.primary.rows]
    assert sorted(map(str, rows)) == sorted(map(str, api.rows(JOIN).primary.rows))
    later = store_reports(Run.start(JOIN, None), "changes", from_batch=3)
    assert {row["batch_id"] >= 3 for _, report in later for row in report.primary.rows} == {True}


def test_problems_of_the_listing_are_told_once(tmp_path: Path) -> None:
    root = copy_of("join_left_outer", tmp_path)
    (root / "state/0/0/left-keyToNumValues/3.delta").unlink()
    assert [bool(table.problems) for table in api.export("rows", str(root))] == [True] + [False] * 3
