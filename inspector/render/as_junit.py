"""JUnit XML, as CI servers show it: a suite for each checkpoint, a case for each rule and gate.

A rule fails where the exit code does: for findings at or above ``--fail-on`` and, with a baseline,
for those that are new or worse. What could not be read is an error of the case ``readable``. Keys
never stand in findings; names and paths may hold what XML cannot, so controls are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from inspector.findings.finding import Finding
from inspector.findings.metrics import Metric, Passed
from inspector.findings.rule import all_kinds
from inspector.plain_text import escape, escape_lines
from inspector.render.report_data import ReportData
from inspector.render.text import problem_line

PREFIX = "inspector"  # begin of the names of suites
MOST_PROBLEMS = 20  # problems that are listed; their number is always reported
_UNREADABLE = "unreadable"  # kind of failure that becomes an error of the suite


def render_junit(report: ReportData) -> Iterator[str]:
    """Yield the JUnit document of one report."""
    yield from junit_document([junit_suite(report)])


def junit_document(suites: Sequence[str]) -> Iterator[str]:
    """Yield a JUnit document of suites, which are given as XML texts, with their counts."""
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
    """Return the JUnit suite of one checkpoint as XML.

    It has a case for reading, one for each gate, and one for each metric that was compared with a
    baseline. If the report judges, each rule has a case, too.
    """
    suite = _Suite(report.command, report.checkpoint)
    problems = [problem_line(problem) for problem in report.problems]
    text = "\n".join(problems[:MOST_PROBLEMS])
    further = len(problems) - MOST_PROBLEMS
    text += f"\nand {further:,} more" if further > 0 else ""
    kind = "" if report.complete else _UNREADABLE
    suite.add("readable", text, kind, "part of the checkpoint could not be read")
    failing = {id(finding) for finding in report.failing}
    for rule in (report.rules or all_kinds()) if report.judged else ():
        findings = [finding for finding in report.findings if finding.kind.id == rule.id]
        name, bad = f"{rule.id} {rule.title}", [f for f in findings if id(f) in failing]
        reason = (bad[0].severity.word, bad[0].evidence) if bad else ()
        suite.add(name, _text(findings), *reason)
    for gate in report.gates:
        is_bad = gate.passed is Passed.EXCEEDED
        _add_number(suite, f"gate {gate.metric.name}", gate.metric, gate.sentence, is_bad=is_bad)
    for trend in report.comparison.metrics if report.comparison is not None else ():
        metric = trend.metric
        old_value, now = metric.text(trend.before), metric.text(trend.now)
        words = f"{trend.trend.value}: {old_value} before, {now} now"
        is_bad = trend.trend.is_bad and report.fail_on is not None
        _add_number(suite, f"baseline {metric.name}", metric, words, is_bad=is_bad)
    return suite.text()


def junit_failure(command: str, checkpoint: str, message: str) -> str:
    """Return the suite, as XML, of a checkpoint that could not be read at all."""
    suite = _Suite(command, checkpoint)
    suite.add("readable", message, _UNREADABLE, message)
    return suite.text()


def _add_number(suite: _Suite, name: str, metric: Metric, words: str, *, is_bad: bool) -> None:
    """Add a case about a metric: a failure if ``is_bad``; ``words`` say its value."""
    if is_bad:
        suite.add(name, metric.doc, "failure", words)
    else:
        suite.add(name, words)


def _text(findings: Sequence[Finding]) -> str:
    """Return the findings of a rule as text, two lines each."""
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
    """A JUnit suite under construction, for one checkpoint."""

    def __init__(self, command: str, checkpoint: str) -> None:
        """Begin the suite of a checkpoint; names are escaped."""
        self._name = f"{PREFIX}.{command}"
        self._suite = ET.Element("testsuite", name=escape(checkpoint) or "checkpoint")

    def add(self, name: str, text: str, kind: str = "", message: str = "") -> None:
        """Add a case.

        It passes if ``kind`` is empty; otherwise it is a failure of this kind, or an error, with
        ``message`` as the reason.
        """
        attributes = {"name": escape(name), "classname": self._name, "time": "0"}
        case = ET.SubElement(self._suite, "testcase", attributes)
        if kind:
            element = "error" if kind == _UNREADABLE else "failure"
            reason = ET.SubElement(case, element, message=escape(message), type=kind)
            reason.text = escape_lines(text)
        elif text:
            ET.SubElement(case, "system-out").text = escape_lines(text)

    def text(self) -> str:
        """Return the suite as XML, with its counts."""
        suite = self._suite
        for name, element in (("tests", "."), ("failures", "failure"), ("errors", "error")):
            suite.set(name, str(len(suite.findall(f"testcase/{element}"))))
        suite.set("skipped", "0")
        suite.set("time", "0")
        ET.indent(suite)
        return ET.tostring(suite, encoding="unicode") + "\n"
