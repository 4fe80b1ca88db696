"""View of a report in a notebook: verdict, findings, and the head of its own table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from inspector.findings.finding import Finding
from inspector.quantities import count_text
from inspector.render.cells import NUMBERS, cell_text
from inspector.render.first_screen import first_screen
from inspector.render.page.document import environment, growth_of
from inspector.render.report_data import ReportData
from inspector.render.tabular import StreamedRows, Table

HEAD_ROWS = 10  # rows of the table that a notebook shows
_MOST_FINDINGS = 5  # findings that a notebook shows
_MOST_CHARS = 120  # characters of a text that a notebook shows


def html_head(report: ReportData) -> str:
    """Return a report as a short piece of HTML without scripts.

    Only the first rows are read; the others can still be read later.
    """
    table = next(iter(report.visible_tables), report.primary)
    head, total = _head(table)
    columns = [column for column in table.columns if not column.wide]
    findings = report.findings[:_MOST_FINDINGS]
    batch = report.summary.get("batch_id")
    template = environment().get_template("notebook.html.j2")
    return template.render(
        command=report.command,
        checkpoint=_cut(report.checkpoint),
        where="" if batch is None else f"batch {batch}",
        lines=_lines(report),
        charts=list(growth_of(report.charts)),
        findings=[_finding(finding) for finding in findings],
        more_findings=len(report.findings) - len(findings),
        title=_cut(table.title),
        columns=[(_cut(c.head), "right" if c.unit in NUMBERS else "left") for c in columns],
        rows=[[_cut(cell_text(c, row.get(c.name))) for c in columns] for row in head],
        footer=_footer(report, table, len(head), total),
    )


def _head(table: Table) -> tuple[Sequence[Mapping[str, Any]], int | None]:
    """Return the first rows of a table, and the number of all rows, or None if it is unknown."""
    rows = table.rows
    if not isinstance(rows, StreamedRows):
        listed = list(rows)
        return listed[:HEAD_ROWS], len(listed)
    if rows.gone:
        return [], None
    head = rows.head(HEAD_ROWS + 1)
    is_whole = rows.count is None and len(head) <= HEAD_ROWS
    return head[:HEAD_ROWS], len(head) if is_whole else rows.count


def _footer(report: ReportData, table: Table, row_count: int, total: int | None) -> str:
    """Return the sentences below the table: rows that are not shown, other tables, problems.

    ``row_count`` rows are shown of ``total``; None if that is unknown.
    """
    parts = []
    if not row_count and total is None:
        parts.append("The rows have already been read and are not kept. Call the analysis again.")
    elif total is None:
        parts.append(f"The first {row_count} rows. Use to_arrow() or to_pandas() for all.")
    elif not total:
        parts.append(f"No rows: {_cut(table.empty)}.")
    elif total > row_count:
        parts.append(f"The first {row_count} of {total:,} rows; to_pandas() has all.")
    names = [other_table.name for other_table in report.tables if other_table is not table]
    if names:
        parts.append(f"Other tables: {', '.join(names)}.")
    if report.problems:
        number = count_text(len(report.problems), "problem")
        incomplete_text = "" if report.complete else ": not all could be read"
        parts.append(f"{number}{incomplete_text}; to_dict()['problems'] lists them.")
    return " ".join(parts)


def _lines(report: ReportData) -> list[str]:
    """Return the lines of the first screen, with calls of Python in place of commands."""
    lines = [
        _cut(f"For details: {python_call(line.code)}" if line.code else line.text, 8 * _MOST_CHARS)
        for line in first_screen(report)
    ]
    if report.judged and not report.findings and report.verdict is None:
        lines.append("No findings.")
    return lines


# options of a command line -> fields of ``api.Options``
_OPTIONS = {"operator": "operator_id", "partition": "partition_id", "store": "store_name"}


def python_call(code: str) -> str:
    """Return the call of :mod:`inspector.api` that does what a command line does."""
    _, command, path, *words = shlex.split(code)
    flags = (word.removeprefix("--").replace("-", "_") for word in words[::2])
    values = {_OPTIONS.get(f, f): value for f, value in zip(flags, words[1::2], strict=True)}
    own = {"by": values.pop("by")} if "by" in values else {}
    quoted = {name: repr(v) if name == "store_name" else v for name, v in values.items()}
    options = ", ".join(f"{name}={value}" for name, value in quoted.items())
    arguments = [repr(path), *([f"api.Options({options})"] if options else [])]
    arguments += [f"{name}={value!r}" for name, value in own.items()]
    return f"api.{command}({', '.join(arguments)})"


def _finding(finding: Finding) -> dict[str, str]:
    """Return heading and evidence of a finding for the template."""
    kind = finding.kind
    head = f"{kind.id} {finding.severity.word}, {finding.certainty.value}: {kind.title}."
    return {"head": _cut(head), "evidence": _cut(finding.evidence, 4 * _MOST_CHARS)}


def _cut(text: str, max_chars: int = _MOST_CHARS) -> str:
    """Return a text, cut after ``max_chars`` characters."""
    return text if len(text) <= max_chars else text[:max_chars] + "…"
