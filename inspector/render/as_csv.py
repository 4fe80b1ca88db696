"""CSV of the command's own table: RFC 4180, a header, nested values as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from inspector.render.plain import plain_row
from inspector.render.report import Report, Unit


def render_csv(report: Report) -> Iterator[str]:
    """The rows, header first. Null and the empty text are both an empty field, as CSV has it."""
    table = report.primary
    names = [c.name for c in table.columns]
    for column in table.columns:
        if column.unit is Unit.TIME_MS:
            names.insert(names.index(column.name) + 1, column.name.removesuffix("_ms"))
    yield _line(names)
    for row in table.rows:
        yield _line([_cell(value) for value in plain_row(table, row).values()])


def _line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value
