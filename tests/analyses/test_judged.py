"""Verdicts."""

import pytest

from inspector import api
from inspector.analyses.judged import AUDIT_KEYS, verdict
from inspector.findings.catalogue import NEVER_EXPIRES, SAME_VALUE, TIMEOUT_KEPT
from inspector.findings.finding import Finding, Kind
from inspector.model import Certainty, Problem
from tests.cli.support import checkpoint_of


@pytest.mark.parametrize(
    ("kinds", "problems", "expected"),
    [
        ((), 0, "no findings"),
        ((), 2, "no findings; 2 problems"),
        ((TIMEOUT_KEPT,), 0, "1 error"),
        ((SAME_VALUE, NEVER_EXPIRES, TIMEOUT_KEPT, SAME_VALUE), 0, "1 error, 1 warning, 2 info"),
        ((NEVER_EXPIRES,), 1, "1 warning; 1 problems"),
    ],
)
def test_a_verdict_counts_by_severity(
    kinds: tuple[Kind, ...], problems: int, expected: str
) -> None:
    findings = [Finding(kind, Certainty.PROVEN, "", "") for kind in kinds]
    assert verdict(findings, [Problem("storage", "")] * problems) == expected


def test_an_audit_adds_up_what_its_tables_tell() -> None:
    report = api.audit(str(checkpoint_of("join_left_outer")))
    tables = {table.name: list(table.rows) for table in report.tables}
    sizes = tables["sizes"]
    assert report.summary["rows"] == sum(row["rows"] for row in sizes) > 0
    assert report.summary["row_bytes"] == sum(row["row_bytes"] for row in sizes) > 0
    changes = tables["changes"]
    assert {row["versions"] for row in changes} == {"1 to 10"}
    for row in changes:
        assert row["puts"] == row["inserts"] + row["updates"]


def test_the_changes_end_with_the_rows_that_live() -> None:
    report = api.audit(str(checkpoint_of("agg_update")))
    (changes,) = next(list(t.rows) for t in report.tables if t.name == "changes")
    assert changes["inserts"] - changes["removals"] == report.summary["rows"]


def test_an_audit_lists_a_few_leftovers_and_counts_all() -> None:
    report = api.audit(str(checkpoint_of("agg_complete")))
    tables = {table.name: list(table.rows) for table in report.tables}
    assert len(tables["leftovers"]) == AUDIT_KEYS
    assert report.summary["leftovers"] == sum(row["keys"] for row in tables["classes"]) == 201


def test_a_verification_says_how_much_it_read() -> None:
    report = api.verify(str(checkpoint_of("join_left_outer")))
    assert (report.summary["stores"], report.summary["versions_replayed"]) == (8, 10)
    assert list(report.primary.rows) == []
    assert report.judged
