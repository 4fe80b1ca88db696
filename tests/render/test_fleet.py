"""Documents about many checkpoints."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.findings.baseline import Comparison, FindingTrend, Place, Trend
from inspector.findings.finding import Severity
from inspector.findings.metrics import apply_gates, parse_gates
from inspector.findings.verdict import Cause, Level, StateSize, Verdict
from inspector.model import Problem
from inspector.render.display import Display
from inspector.render.fleet import Form, Member, document, fleet_table
from inspector.render.fleet_rows import short_names
from inspector.render.report import Report
from inspector.render.tabular import Column, Table, Unit
from tests.attributes import attributes
from tests.render.samples import HOSTILE, finding
from tests.reports import cell_values


def keep(pieces: Iterator[str]) -> Callable[[], Iterator[str]]:
    text = list(pieces)
    return lambda: iter(text)


def form(output: str = "table", *, details: bool = False) -> Form:
    return Form("audit", output, Display(), details, has_filters=True, keep=keep)


def audit(path: str, size: int = 0, *, bad: bool = False, **options: Any) -> Report:
    findings = [finding(evidence="bad")] if bad else []
    table = Table("findings", "findings", (Column("id"),), [{"id": f.kind.id} for f in findings])
    verdict = Verdict(
        Level.ERROR if bad else Level.OK, len(findings), 0, 0, 0, size=StateSize(3, size, size)
    )
    complete: dict[str, Any] = {
        "findings": findings,
        "judged": True,
        "verdict": verdict,
        "metrics": {"state.rows": 3, "state.bytes": size},
    }
    return Report("audit", path, {"batch_id": 4, "query_id": "q"}, (table,), **(complete | options))


def members(form: Form, *reports: Report) -> list[Member]:
    return [form.member(report, lambda: 0) for report in reports]


def text(form: Form, result: Sequence[Member], gone: Sequence[str] = ()) -> str:
    return "".join(document(form, result, gone))


def test_fleet_order_by_level_failure_and_size() -> None:
    gates = apply_gates(parse_gates({"state.rows": "1"}), {"state.rows": 3})
    result = form("json")
    actual = members(
        result,
        audit("/small", 5),
        audit("/large", 50),
        audit("/gated", 1, gates=gates),
        audit("/bad", 2, bad=True),
        audit("/part", 1, problems=[Problem("truncated", "too short")]),
    )
    actual.append(result.failure("/none", "nothing is there", "not-a-checkpoint", 3))
    rows = json.loads(text(result, actual))["fleet"]
    assert cell_values(rows, "checkpoint", "level") == [
        ("/part", "unreadable"),
        ("/none", "unreadable"),
        ("/bad", "error"),
        ("/gated", "ok"),
        ("/large", "ok"),
        ("/small", "ok"),
    ]


def test_fleet_order_by_new_and_worse_findings() -> None:
    new = FindingTrend(Place("SS203", 0, "default"), None, None, Trend.NEW)
    result = form("json")
    actual = members(
        result,
        audit("/large", 50, comparison=Comparison(None, (), ())),
        audit("/new", 5, comparison=Comparison(None, (new,), ())),
    )
    rows = json.loads(text(result, actual))["fleet"]
    assert cell_values(rows, "checkpoint", "new_or_worse") == [("/new", 1), ("/large", 0)]


def test_fleet_names_findings_of_level_info_by_id() -> None:
    item = finding(evidence="odd", severity=Severity.INFO)
    cause = Cause(item, "It is odd.", None, None, None, "Go.", "top")
    verdict = Verdict(Level.INFO, 0, 0, 1, 0, cause=cause)
    report = audit("/a", verdict=verdict, findings=[item])
    lines = text(form(), members(form(), report)).splitlines()
    assert "The findings of level info: inspector explain SS203" in lines


def test_action_for_a_single_checkpoint_has_no_number() -> None:
    cause = Cause(finding(evidence="bad"), "It is bad.", None, None, None, "Go.", "top")
    verdict = Verdict(Level.ERROR, 1, 0, 0, 0, cause=cause)
    report = audit("/a", bad=True, verdict=verdict)
    assert "SS203  Go." in text(form(), members(form(), report)).splitlines()


def test_fleet_headline_counts_levels() -> None:
    result = members(form(), audit("/a"), audit("/b", bad=True), audit("/c"))
    assert fleet_table(result).title == "3 checkpoints: 1 with errors, 2 ok"
    assert "gates_exceeded" not in set(attributes(fleet_table(result).columns, "name"))


def test_fleet_column_exists_if_any_checkpoint_has_it() -> None:
    result = form()
    small = Report("sizes", "/a", {"checkpoint": "/a", "rows": 3}, (Table("t", "", (), []),))
    large = replace(
        small, checkpoint="/b", summary={"rows": 4, "heap_estimate_bytes": 9, "at_ms": 0}
    )
    columns = fleet_table(members(result, small, large)).columns
    units = set(attributes(columns, "name", "unit", "exact"))
    assert units >= {
        ("rows", Unit.COUNT, True),
        ("heap_estimate_bytes", Unit.BYTES, False),
        ("at_ms", Unit.TIME_MS, True),
    }


def test_fleet_includes_problems_found_while_reading_rows() -> None:
    problems: list[Problem] = []

    def rows() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        problems.append(Problem("truncated", "too short"))

    for output in ("table", "json", "csv", "junit", "prometheus"):
        problems.clear()
        lazy = Report(
            "rows", "/a", {}, (Table("t", "", (Column("a"),), rows()),), problems=problems
        )
        (member,) = members(form(output), lazy)
        assert member.level is Level.UNREADABLE, output


def test_fleet_rows_have_columns_of_all_checkpoints() -> None:
    result = form("csv")
    report = Report(
        "x",
        "/a",
        {},
        (Table("t", "", (Column("a"), Column("c_ms", Unit.TIME_MS)), [{"a": "é,\n"}]),),
    )
    two = Report("x", "/b", {}, (Table("t", "", (Column("b"),), [{"b": [1]}]),))
    nothing = Report("x", "/c", {}, (Table("t", "", (Column("b"),), []),))
    rows = list(csv.DictReader(io.StringIO(text(result, members(result, report, two, nothing)))))
    assert list(rows[0]) == ["checkpoint", "level", "message", "a", "c_ms", "c", "b"]
    assert cell_values(rows, "checkpoint", "a", "b") == [
        ("/a", "é,\\n", ""),
        ("/b", "", "[1]"),
        ("/c", "", ""),
    ]


def test_fleet_includes_whole_reports_on_request() -> None:
    reports = (audit("/a", 5), audit("/b", bad=True))
    short, complete = form(), form(details=True)
    first = text(short, members(short, *reports))
    assert "\n/b\n" not in first
    assert "findings\n" not in first
    assert text(complete, members(complete, *reports)).count("findings\n") == 2


def test_fleet_groups_checkpoints_by_cause() -> None:
    result = Form("audit", "table", Display(80), details=False, has_filters=True, keep=keep)
    reports = []
    for number, keys in enumerate((3, 1200)):
        item = finding(evidence="bad")
        cause = Cause(item, f"The timeout of {keys:,} keys fired.", None, None, None, "Go.", "top")
        verdict = Verdict(Level.ERROR, 1, 0, 0, 0, cause=cause)
        reports.append(
            audit(f"s3a://b/q{number}/checkpoint", 2 - number, bad=True, verdict=verdict)
        )
    lines = text(result, members(result, *reports, audit("s3a://b/x/y/checkpoint", 7))).splitlines()
    assert lines[:7] == [
        "3 checkpoints: 2 with errors, 1 ok",
        "Each of them is s3a://b/NAME/checkpoint.",
        "error       2 checkpoints: The timeout of 3 to 1,200 keys fired. (SS203)",
        "              q0  3 rows, 2 B",
        "              q1  3 rows, 1 B",
        "ok          x/y: No findings.",
        "",
    ]
    assert lines[7:9] == ["Recommended actions, by finding:", "SS203  Go. (2 checkpoints)"]


@pytest.mark.parametrize(
    ("paths", "names", "frame"),
    [
        (["/a/b"], ["/a/b"], ""),
        (["/a/x/c", "/a/y/c"], ["x", "y"], "/a/NAME/c"),
        (["/a", "/a/c"], ["/a", "/a/c"], ""),
        (["/work/a", "/tmp/b"], ["/work/a", "/tmp/b"], ""),
        (["/t/a/a", "/t/a"], ["a/a", "a"], "/t/NAME"),
        (["q1", "s3a://b/q2"], ["q1", "s3a://b/q2"], ""),
    ],
)
def test_fleet_shows_differing_part_of_paths(
    paths: list[str], names: list[str], frame: str
) -> None:
    assert short_names(paths) == (names, frame)


def test_fleet_names_checkpoints_gone_since_baseline() -> None:
    result = form()
    assert "/old is in the baseline" in text(result, members(result, audit("/a")), ["/old"])


@pytest.mark.parametrize("output", ["table", "markdown", "csv", "json", "junit", "prometheus"])
def test_fleet_escapes_hostile_text(output: str) -> None:
    result = form(output, details=True)
    actual = [*members(result, audit(HOSTILE, bad=True)), result.failure(HOSTILE, HOSTILE, "x", 3)]
    outcome = text(result, actual, [HOSTILE])
    if output not in ("csv", "json"):
        assert "\x1b" not in outcome
        assert "\u202e" not in outcome
    if output == "json":
        assert len(json.loads(outcome)["reports"]) == 2
        assert "\x1b" not in outcome


def test_fleet_without_checkpoints_has_note() -> None:
    assert "(no checkpoints found)" in text(form(), [])
    assert json.loads(text(form("json"), []))["reports"] == []
