"""JUnit XML, read by a library that reads it as CI servers do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml, TestSuite

from inspector.findings.baseline import Earlier, compare
from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Severity
from inspector.findings.metrics import apply_gates, parse_gates
from inspector.findings.rule import all_kinds
from inspector.model import Problem
from inspector.render.as_junit import (
    MOST_PROBLEMS,
    junit_document,
    junit_failure,
    junit_suite,
    render_junit,
)
from inspector.render.report import Report
from tests.attributes import attributes
from tests.render.samples import HOSTILE, PROBLEM, finding, report


def judged(**options: object) -> Report:
    arguments = {"judged": True, "fail_on": Severity.WARNING, "problems": ()} | options
    return report(**arguments)


def suite_of(report: Report) -> TestSuite:
    (suite,) = JUnitXml.fromstring("".join(render_junit(report)))
    return suite


def failures(suite: TestSuite) -> list[str]:
    """Return the names of the failed cases of a suite."""
    return [case.name for case in suite if Failure in map(type, case.result)]


def test_junit_has_one_case_per_rule() -> None:
    suite = suite_of(judged(findings=[finding(), finding(kind=SameValues.kind)]))
    names = attributes(suite, "name")
    assert names == ["readable", *(f"{kind.id} {kind.title}" for kind in all_kinds())]
    assert set(attributes(suite, "classname")) == {"inspector.things"}
    (failed,) = failures(suite)
    assert failed.startswith("SS203 ")
    assert (suite.tests, suite.failures, suite.errors) == (len(all_kinds()) + 1, 1, 0)


@pytest.mark.parametrize(
    ("fail_on", "failures"), [(None, 0), (Severity.ERROR, 1), (Severity.INFO, 2)]
)
def test_junit_rule_fails_at_severity_of_fail_on(fail_on: Severity | None, failures: int) -> None:
    result = [finding(), finding(kind=SameValues.kind)]
    assert suite_of(judged(findings=result, fail_on=fail_on)).failures == failures


def test_junit_of_command_without_rules_has_one_case() -> None:
    assert attributes(suite_of(report(judged=False, problems=())), "name") == ["readable"]


def test_junit_error_for_unreadable_file() -> None:
    problems = [Problem("truncated", f"got {n} bytes", f"/ck/{n}.delta") for n in range(30)]
    suite = suite_of(judged(problems=problems))
    assert suite.errors == 1
    (error,) = next(iter(suite)).result
    assert isinstance(error, Error)
    assert error.text.count("\n") == MOST_PROBLEMS
    assert error.text.endswith("and 10 more")
    harmless = judged(problems=[Problem("uncommitted", "newer")])
    assert suite_of(harmless).errors == 0


def test_junit_has_cases_for_gates_and_baseline_metrics() -> None:
    gates = apply_gates(parse_gates({"state.rows": "1", "state.bytes": "9"}), {"state.rows": 2})
    earlier = Earlier("/ck", None, 1, complete=True, metrics={"state.rows": 1}, findings={})
    comparison = compare((), {"state.rows": 2}, earlier)
    result = replace(judged(findings=()), gates=gates, comparison=comparison)
    assert failures(suite_of(result)) == ["gate state.rows", "baseline state.rows"]


def test_junit_escapes_hostile_text(tmp_path: Path) -> None:
    hostile = f"{HOSTILE}\x00\ud800\ufffe]]>&"
    result = judged(checkpoint=hostile, findings=[finding(evidence=hostile)], problems=[PROBLEM])
    text = "".join(junit_document([junit_suite(result), junit_failure("audit", hostile, hostile)]))
    file = tmp_path / "report.xml"
    file.write_text(text, "utf-8")
    first, second = JUnitXml.fromfile(str(file))
    assert first.name == second.name
    assert "\\x1b[31mred" in first.name
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_junit_document_counts_suites() -> None:
    suites = [junit_suite(judged()), junit_failure("things", "/x", "gone")]
    document = JUnitXml.fromstring("".join(junit_document(suites)))
    assert (document.tests, document.failures, document.errors) == (len(all_kinds()) + 2, 2, 1)
