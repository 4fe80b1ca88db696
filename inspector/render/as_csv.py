"""CSV of the command's own table: RFC 4180, a header, nested values as JSON.

Control characters are escaped as in tables for people: a CSV too is read in a terminal.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from inspector.plain_text import escape
from inspector.render.as_json import dumps
from inspector.render.plain import plain_names, plain_row
from inspector.render.report_data import ReportData


def render_csv(report: ReportData) -> Iterator[str]:
    """The rows, header first. Null and the empty text are both an empty field, as CSV has it."""
    table = report.primary
    yield csv_line(plain_names(table))
    for row in table.rows:
        yield csv_line(list(plain_row(table, row).values()))


def csv_line(values: Sequence[Any]) -> str:
    """A line of plain values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(_cell, values))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return dumps(value)
    return escape(value) if isinstance(value, str) else value
