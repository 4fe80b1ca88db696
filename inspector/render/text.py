"""Reports for people: tables without boxes, so that grep works, and Markdown.

Keys and values are anybody's input: control characters are escaped before a terminal sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inspector.exceptions import where
from inspector.findings.finding import Finding
from inspector.model import NO_FAULT, Problem
from inspector.plain_text import escape
from inspector.quantities import bytes_text, capitalise, short_count_text
from inspector.render.cells import NUMBERS, cell_text, summary_name, summary_text
from inspector.render.display import Display
from inspector.render.first_screen import Line, copy_command, first_screen
from inspector.render.report_data import ReportData, Step
from inspector.render.tabular import Table

_NO_LIMITS = Display()  # display without a width, for output that is not a terminal


def render_text(report: ReportData, display: Display = _NO_LIMITS) -> Iterator[str]:
    """Yield the report as lines for a terminal or a pipe."""
    from inspector.render.fitting import drawn_table  # noqa: PLC0415 - rich: for drawn tables alone

    yield from _first_screen(report, display)
    yield from _summary(report.summary, display)
    if report.judged:
        yield from _findings(report, display)
    for table in report.visible_tables:
        yield "\n"
        yield from drawn_table(table, display)
    faults, notes = _part(report.problems)
    if faults:
        yield "\n"
        number = short_count_text(len(faults), "problem")
        yield from display.text(f"{number}: unreadable or inconsistent files", "warning")
    for problem in faults:
        yield from display.text(problem_line(problem), prefix=f"{problem.slug}  ")
    for note in (*notes, *report.notes, *report.footnotes):
        yield "\n"
        yield from display.text(note)
    yield from _steps(report.steps, display)


def _first_screen(report: ReportData, display: Display) -> Iterator[str]:
    """Yield the lines of the first screen."""
    lines = list(first_screen(report))
    level = "" if report.verdict is None else report.verdict.level.value
    styles = {"verdict": level, "to_do": "heading"}
    for line in lines:
        if line.kind == "copy":
            yield from display.command(line.text)
        elif line.code and len(line.text) > (display.width or len(line.text)):
            yield from display.text(line.text.removesuffix(line.code).rstrip())
            yield from display.command(line.code)
        else:
            yield from display.text(line.text, styles.get(line.kind, ""))
    yield "\n" if lines else ""


def _steps(steps: Sequence[Step], display: Display) -> Iterator[str]:
    """Yield the numbered next steps; nothing without steps."""
    if steps:
        yield "\n"
        yield from display.text("next steps", "heading")
    for number, step in enumerate(steps, 1):
        yield from display.text(step.text, prefix=f"{number}. ")
        if step.command:
            yield from display.command(step.command, prefix="   ")


def render_markdown(report: ReportData, display: Display = _NO_LIMITS) -> Iterator[str]:
    """Yield the report as Markdown."""
    yield f"# {report.command} {markdown_text(report.checkpoint)}\n\n"
    for line in first_screen(report):
        yield f"{_markdown_line(line)}\n\n"
    for name, value in report.summary.items():
        text = summary_text(name, value, report.summary)
        yield f"- {summary_name(name, value)}: {markdown_text(text)}\n"
    for finding in report.findings:
        yield f"\n**{markdown_text(_finding_head(finding))}** {markdown_text(finding.evidence)}. "
        next_step, command = copy_command(finding.next_step, report.checkpoint)
        code = _code(command) if command else ""
        yield f"Next: {markdown_text(next_step)} {code}".rstrip() + ("\n" if code else ".\n")
    for table in report.visible_tables:
        yield from markdown_table(table, wide=display.wide)
    faults, notes = _part(report.problems)
    if faults:
        yield "\n## Problems\n\n"
    for problem in faults:
        yield f"- {markdown_text(problem_line(problem))}\n"
    for note in (*notes, *report.notes, *report.footnotes):
        yield f"\n{markdown_text(note)}\n"
    if report.steps:
        yield "\n## Next steps\n\n"
    for position, step in enumerate(report.steps, 1):
        code = f" {_code(step.command)}" if step.command else ""
        yield f"{position}. {markdown_text(step.text)}{code}\n"


def _part(problems: Sequence[Problem]) -> tuple[list[Problem], list[str]]:
    """Return the problems that are faults, each cause once, and the others as notes."""
    faults = list({p.cause: p for p in reversed(problems) if p.slug not in NO_FAULT}.values())
    faults.reverse()
    notes = [problem.message for problem in problems if problem.slug in NO_FAULT]
    return faults, [f"{capitalise(note)}." for note in notes]


def message_lines(problems: Iterable[Problem], *, quiet: bool) -> Iterator[str]:
    """Yield problems as lines for stderr.

    A problem that is no fault is a note, which is left out if ``quiet``.
    """
    for problem in problems:
        if problem.slug not in NO_FAULT:
            yield f"problem: {problem_line(problem)}"
        elif not quiet:
            yield f"note: {problem_line(problem)}"


def problem_line(problem: Problem) -> str:
    """Return a problem as one line: path and byte offset, then the message."""
    return escape(where(problem.path, problem.offset) + problem.message)


def _summary(summary: Mapping[str, Any], display: Display) -> Iterator[str]:
    """Yield the summary, a line for each value."""
    width = max((len(summary_name(*item)) for item in summary.items()), default=0)
    narrow = display.width is not None and 2 * width > display.width
    for name, value in summary.items():
        label, text = summary_name(name, value), summary_text(name, value, summary)
        if not narrow:
            yield from display.text(text, prefix=f"{label:<{width}}  ")
        elif len(label) + 2 + len(text) <= (display.width or 0):
            yield from display.text(f"{label}  {text}")
        else:
            yield from display.text(label)
            yield from display.text(text, prefix="    ")


def _findings(report: ReportData, display: Display) -> Iterator[str]:
    """Yield the findings as lines for a terminal: heading, evidence, size, next step.

    If there are no findings, the heading is followed by ``(none)``.
    """
    yield "\n"
    yield from display.text("findings", "heading")
    if not report.findings:
        yield "(none)\n"
    for finding in report.findings:
        yield from display.text(_finding_head(finding), finding.severity.word)
        yield from display.text(finding.evidence, prefix="    ")
        if finding.bytes is not None:
            size = f"{bytes_text(finding.bytes)} of key and value bytes (exact)"
            yield from display.text(size, prefix="    ")
        next_step, command = copy_command(finding.next_step, report.checkpoint)
        yield from display.text(next_step, prefix="    next: ")
        if command:
            yield from display.command(command, prefix="    ")


def _finding_head(finding: Finding) -> str:
    """Return the heading of a finding: id, severity, certainty, operator and title."""
    location = "" if finding.operator_id is None else f" · operator {finding.operator_id}"
    if finding.store_name not in (None, "default"):
        location += f" {escape(finding.store_name)}"
    kind, severity = finding.kind, finding.severity.word
    return f"{kind.id} {severity} · {finding.certainty.value}{location} · {kind.title}"


def markdown_table(table: Table, *, wide: bool) -> Iterator[str]:
    """Yield a table as Markdown under a heading.

    Without ``wide``, columns that are not for people are left out.
    """
    columns = [c for c in table.columns if wide or not c.wide]
    yield f"\n## {markdown_text(table.title)}\n\n"
    number = 0
    for number, row in enumerate(table.rows, start=1):
        if number == 1:
            yield "| " + " | ".join(markdown_text(column.head) for column in columns) + " |\n"
            yield "|" + "|".join("---:" if c.unit in NUMBERS else "---" for c in columns) + "|\n"
        cells = (markdown_text(cell_text(column, row.get(column.name))) for column in columns)
        yield "| " + " | ".join(cells) + " |\n"
    if not number:
        yield f"({markdown_text(table.empty)})\n"


def _markdown_line(line: Line) -> str:
    """Return a line of the first screen as Markdown: the verdict is bold, a command is code."""
    if line.kind == "copy":
        return _code(line.text)
    text = markdown_text(line.text.removesuffix(line.code))
    if line.code:
        return f"{text}{_code(line.code)}"
    return f"**{text}**" if line.kind == "verdict" else text


def _code(command: str) -> str:
    """Return a command line as code in Markdown."""
    # A fence longer than any run of backticks in the command, and room between them.
    fence = "`" * (1 + max(map(len, re.findall("`+", command)), default=0))
    room = " " if "`" in command else ""
    return f"{fence}{room}{escape(command)}{room}{fence}"


def markdown_text(text: str) -> str:
    """Return a text with the marks of Markdown and control characters escaped."""
    for mark in "\\`*_<>|[]":
        text = text.replace(mark, f"\\{mark}")
    return escape(text)
