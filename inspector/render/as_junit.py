"""JUnit XML, as CI servers show it: a suite for each checkpoint, a case for each rule and gate.

A rule fails where the exit code does: for findings at or above ``--fail-on`` and, with a baseline,
for those that are new or worse. What could not be read is an error of the case ``readable``. Keys
never stand in findings; names and paths may hold what XML cannot, so controls are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from inspector.findings.baseline import MetricTrend
from inspector.findings.catalogue import CATALOGUE
from inspector.findings.finding import Finding
from inspector.findings.metrics import Passed
from inspector.plain_text import escape, escape_lines
from inspector.render.report_data import ReportData
from inspector.render.text import problem_line

PREFIX = "inspector"
MOST_PROBLEMS = 20  # problems that are listed; how many there are is always said


def render_junit(report: ReportData) -> Iterator[str]:
    """The report as a document of one test suite."""
    yield from junit_document([junit_suite(report)])


def junit_document(suites: Sequence[str]) -> Iterator[str]:
    """A document of suites that are text already."""
    counts = dict.fromkeys(("tests", "failures", "errors"), 0)
    for suite in suites:
        head = ET.fromstring(suite).attrib
        for name in counts:
            counts[name] += int(head[name])
    attributes = " ".join(f'{name}="{count}"' for name, count in counts.items())
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="{PREFIX}" {attributes}>\n'
    yield from suites
    yield "</testsuites>\n"


def junit_suite(report: ReportData) -> str:
    """The suite of one checkpoint."""
    suite = _Suite(report.command, report.checkpoint)
    problems = [problem_line(problem) for problem in report.problems]
    shown = "\n".join(problems[:MOST_PROBLEMS])
    more = len(problems) - MOST_PROBLEMS
    shown += f"\nand {more:,} more" if more > 0 else ""
    if report.complete:
        suite.passed("readable", shown)
    else:
        suite.broken("readable", "part of the checkpoint could not be read", shown)
    failing = {id(finding) for finding in report.failing}
    for kind in (report.rules or CATALOGUE) if report.judged else ():
        findings = [finding for finding in report.findings if finding.kind.id == kind.id]
        name, bad = f"{kind.id} {kind.title}", [f for f in findings if id(f) in failing]
        if bad:
            suite.failed(name, bad[0].evidence, _text(findings), bad[0].severity.word)
        else:
            suite.passed(name, _text(findings))
    for gate in report.gates:
        name = f"gate {gate.metric.name}"
        if gate.passed is Passed.EXCEEDED:
            suite.failed(name, gate.sentence, gate.metric.doc)
        else:
            suite.passed(name, gate.sentence)
    for trend in report.comparison.metrics if report.comparison is not None else ():
        _add_trend(suite, trend, fails=report.fail_on is not None)
    return suite.text()


def junit_failure(command: str, checkpoint: str, message: str) -> str:
    """The suite of a checkpoint that could not be read at all."""
    suite = _Suite(command, checkpoint)
    suite.broken("readable", message, message)
    return suite.text()


def _add_trend(suite: _Suite, trend: MetricTrend, *, fails: bool) -> None:
    name, metric = f"baseline {trend.metric.name}", trend.metric
    words = f"{trend.trend.value}: {metric.text(trend.before)} before, {metric.text(trend.now)} now"
    if trend.trend.is_bad and fails:
        suite.failed(name, words, metric.doc)
    else:
        suite.passed(name, words)


def _text(findings: Sequence[Finding]) -> str:
    blocks = []
    for finding in findings:
        location = "" if finding.operator_id is None else f", operator {finding.operator_id}"
        location += "" if finding.store_name in (None, "default") else f", {finding.store_name}"
        blocks.append(
            f"{finding.severity.word}, {finding.certainty.value}{location}: "
            f"{escape(finding.evidence)}\nnext: {escape(finding.next_step)}"
        )
    return "\n".join(blocks)


class _Suite:
    def __init__(self, command: str, checkpoint: str) -> None:
        self._name = f"{PREFIX}.{command}"
        self._suite = ET.Element("testsuite", name=escape(checkpoint) or "checkpoint")
        self._counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}

    def passed(self, name: str, text: str = "") -> None:
        case = self._case(name)
        if text:
            ET.SubElement(case, "system-out").text = escape_lines(text)

    def failed(self, name: str, message: str, text: str, kind: str = "failure") -> None:
        self._add(name, "failure", message, text, kind)

    def broken(self, name: str, message: str, text: str) -> None:
        self._add(name, "error", message, text, "unreadable")

    def _add(self, name: str, element: str, message: str, text: str, kind: str) -> None:
        case = self._case(name)
        self._counts[f"{element}s"] += 1
        ET.SubElement(case, element, message=escape(message), type=kind).text = escape_lines(text)

    def _case(self, name: str) -> ET.Element:
        self._counts["tests"] += 1
        attributes = {"name": escape(name), "classname": self._name, "time": "0"}
        return ET.SubElement(self._suite, "testcase", attributes)

    def text(self) -> str:
        for name, count in self._counts.items():
            self._suite.set(name, str(count))
        self._suite.set("time", "0")
        ET.indent(self._suite)
        return ET.tostring(self._suite, encoding="unicode") + "\n"
