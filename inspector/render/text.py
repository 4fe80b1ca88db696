"""Reports for people: tables without boxes, so that grep works, and Markdown.

Keys and values are anybody's input: control characters are escaped before a terminal sees them.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.findings.finding import Finding
from inspector.model import Problem
from inspector.render.report import Column, Report, Table, Unit
from inspector.render.values import time_ms_text

_RIGHT = (Unit.COUNT, Unit.BYTES, Unit.ID)
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def render_text(report: Report) -> Iterator[str]:
    """The report as lines for a terminal."""
    yield from _summary(report.summary)
    if report.judged:
        yield from _findings(report.findings)
    for table in _shown_tables(report):
        yield "\n"
        yield from _table(table)
    yield from _problems(report.problems)
    for note in (*report.notes, *report.footnotes):
        yield f"\n{escape(note)}\n"


def render_markdown(report: Report) -> Iterator[str]:
    """The report as Markdown."""
    yield f"# {report.command} {_markdown(report.checkpoint)}\n\n"
    for name, value in report.summary.items():
        yield f"- {_title(name)}: {_markdown(_summary_value(name, value))}\n"
    for finding in report.findings:
        yield f"\n**{_markdown(_finding_head(finding))}** {_markdown(finding.evidence)}. "
        yield f"Next: {_markdown(finding.next_step)}.\n"
    for table in _shown_tables(report):
        yield from _markdown_table(table)
    if report.problems:
        yield "\n## Problems\n\n"
    for problem in report.problems:
        yield f"- {_markdown(problem_line(problem))}\n"
    for note in (*report.notes, *report.footnotes):
        yield f"\n{_markdown(note)}\n"


def _shown_tables(report: Report) -> Iterator[Table]:
    """The tables, but for one whose rows the list of findings or of problems shows in full."""
    return (table for table in report.tables if table.name not in ("findings", "problems"))


def bytes_text(count: int) -> str:
    """A size for people: ``1.4 MiB``; below a KiB all digits."""
    size, unit = float(count), 0
    while abs(size) >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def escape(text: str) -> str:
    """Text without control, format or surrogate characters: they are shown as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c == " " or unicodedata.category(c)[0] not in "CZ" else _escaped(c) for c in text
    )


def problem_line(problem: Problem) -> str:
    """A problem in the wording of every error: place, what was got, what was expected."""
    path = "" if problem.path is None else f"{problem.path}: "
    offset = "" if problem.offset is None else f"byte {problem.offset}: "
    return escape(f"{path}{offset}{problem.message}")


def _escaped(char: str) -> str:
    return repr(char)[1:-1]


def _summary(summary: Mapping[str, Any]) -> Iterator[str]:
    width = max((len(_title(name)) for name in summary), default=0)
    for name, value in summary.items():
        yield f"{_title(name):<{width}}  {escape(_summary_value(name, value))}\n"


def _title(name: str) -> str:
    return name.removesuffix("_ms").replace("_", " ")


def _summary_value(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if name.endswith("_ms"):
        return time_ms_text(value)
    if name.endswith("_bytes"):
        return f"{bytes_text(value)} ({value:,} bytes)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(table: Table) -> Iterator[str]:
    # rich is slow to import, and most runs never draw a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    yield f"{table.title}\n"
    drawn = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    columns = _shown(table)
    for column in columns:
        right = column.unit in _RIGHT
        head = _head(column).upper()
        drawn.add_column(head, justify="right" if right else "left", no_wrap=True)
    empty = True
    for row in table.rows:
        empty = False
        drawn.add_row(*(Text(_cell(column, row.get(column.name))) for column in columns))
    if empty:
        yield f"({table.empty})\n"
        return
    # The width is the table's own: nothing is cut, and nothing styled, wherever it is read.
    console = Console(
        width=1_000_000, color_system=None, highlight=False, markup=False, emoji=False
    )
    with console.capture() as capture:
        console.print(drawn)
    for line in capture.get().splitlines():
        yield line.rstrip() + "\n"


def _shown(table: Table) -> list[Column]:
    return [column for column in table.columns if column.name not in table.wide]


def _head(column: Column) -> str:
    """A column's name; a time is shown as text, so that its unit would be wrong."""
    return column.name.removesuffix("_ms") if column.unit is Unit.TIME_MS else column.name


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return "-"
    if column.unit is Unit.TIME_MS:
        return time_ms_text(value)
    if column.unit in (Unit.COUNT, Unit.BYTES):
        return f"{value:,}" if column.exact else f"~{value:,}"
    if isinstance(value, (dict, list)):
        return escape(json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(str(value))


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    yield "\nfindings\n" if findings else "\nfindings\n(none)\n"
    for finding in findings:
        yield f"{_finding_head(finding)}\n    {escape(finding.evidence)}\n"
        if finding.bytes is not None:
            yield f"    {bytes_text(finding.bytes)} of key and value bytes (exact)\n"
        yield f"    next: {escape(finding.next_step)}\n"


def _finding_head(finding: Finding) -> str:
    where = "" if finding.operator_id is None else f" · operator {finding.operator_id}"
    store = finding.store_name
    where += f" {escape(store)}" if store not in (None, "default") else ""
    kind = finding.kind
    return f"{kind.id} {kind.severity.word} · {finding.certainty.value}{where} · {kind.title}"


def _problems(problems: Sequence[Problem]) -> Iterator[str]:
    if problems:
        yield f"\nproblems ({len(problems)}): what follows could not be read as it should\n"
    for problem in problems:
        yield f"{problem.slug}  {problem_line(problem)}\n"


def _markdown_table(table: Table) -> Iterator[str]:
    columns = _shown(table)
    yield f"\n## {table.title}\n\n"
    empty = True
    for row in table.rows:
        if empty:
            yield "| " + " | ".join(map(_head, columns)) + " |\n"
            yield "|" + "|".join("---:" if c.unit in _RIGHT else "---" for c in columns) + "|\n"
            empty = False
        cells = (_markdown(_cell(column, row.get(column.name))) for column in columns)
        yield "| " + " | ".join(cells) + " |\n"
    if empty:
        yield f"({table.empty})\n"


def _markdown(text: str) -> str:
    for mark in "\\`*_<>|[]":
        text = text.replace(mark, f"\\{mark}")
    return escape(text)
