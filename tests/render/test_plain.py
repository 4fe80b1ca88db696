"""Findings, problems and rows as plain values, with every column in its place."""

from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.model import Problem
from inspector.render.plain import (
    FindingRow,
    ProblemRow,
    finding_row,
    plain_row,
    plain_summary,
    problem_row,
)
from inspector.render.tabular import Column, Table, Unit, values
from tests.attributes import attributes
from tests.render.samples import PROBLEM, finding, report


def test_plain_finding_has_all_columns() -> None:
    row = values(finding_row(finding(evidence="e", next_step="n", cause="A timeout fired.")))
    assert list(row) == attributes(FindingRow.columns(), "name")
    assert row == {
        "id": "SS203",
        "severity": "error",
        "certainty": "proven",
        "title": KeptKeys.kind.title,
        "spark": KeptKeys.kind.spark,
        "operator_id": 0,
        "store_name": "left-keyToNumValues",
        "rows": 3,
        "bytes": 5000,
        "cause": "A timeout fired.",
        "evidence": "e",
        "next_step": "n",
        "command": "leftovers",
    }


def test_plain_problem_has_all_columns() -> None:
    row = values(problem_row(PROBLEM))
    assert list(row) == attributes(ProblemRow.columns(), "name")
    assert row == {
        "problem": "truncated",
        "path": "/ck/1.delta",
        "offset": 7,
        "message": "got 3 bytes",
        "operator_id": 0,
        "store_name": "default",
        "partition_id": 1,
        "version": 1,
    }
    bare = values(problem_row(Problem("storage", "Permission denied")))
    assert list(bare) == list(row)
    assert {name for name, value in bare.items() if value is not None} == {"problem", "message"}


def test_plain_row_has_table_order_and_times_as_text() -> None:
    columns = (Column("b"), Column("at_ms", Unit.TIME_MS), Column("a"))
    table = Table("t", "t", columns, [])
    row = plain_row(table, {"a": 1, "at_ms": 0, "unknown": 2})
    assert list(row.items()) == [
        ("b", None),
        ("at_ms", 0),
        ("at", "1970-01-01T00:00:00.000Z"),
        ("a", 1),
    ]
    assert plain_row(table, {})["at"] is None


def test_summary_has_times_as_text() -> None:
    summary = plain_summary(report(summary={"x_ms": -1, "y_ms": None, "z": 3}))
    assert summary == {
        "x_ms": -1,
        "x": "1969-12-31T23:59:59.999Z",
        "y_ms": None,
        "y": None,
        "z": 3,
    }
