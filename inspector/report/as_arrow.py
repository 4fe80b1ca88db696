"""The command's own table as Arrow, for files of data."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from inspector.report.model import Column, Report, Unit

_TYPES: dict[Unit, pa.DataType] = {
    Unit.COUNT: pa.int64(),
    Unit.BYTES: pa.int64(),
    Unit.ID: pa.int64(),
    Unit.TIME_MS: pa.timestamp("ms", "UTC"),
}


def arrow_table(report: Report) -> pa.Table:
    """The rows with a type for each unit; nested values as JSON, times as timestamps."""
    table = report.primary
    rows = list(table.rows)
    columns = [[_cell(row.get(column.name)) for row in rows] for column in table.columns]
    fields = [
        pa.field(column.name, _type(column, cells))
        for column, cells in zip(table.columns, columns, strict=True)
    ]
    schema = pa.schema(fields, {"checkpoint": report.checkpoint, "command": report.command})
    arrays = [pa.array(cells, f.type) for f, cells in zip(fields, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _type(column: Column, cells: list[Any]) -> pa.DataType:
    if column.unit in _TYPES:
        return _TYPES[column.unit]
    return pa.bool_() if any(isinstance(cell, bool) for cell in cells) else pa.string()


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value
