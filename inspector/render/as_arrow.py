"""Rows of reports as Arrow, for files of data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector.render.report_data import ReportData
from inspector.render.tabular import Column, Unit

_TYPES: dict[Unit, pa.DataType] = {
    Unit.COUNT: pa.int64(),
    Unit.BYTES: pa.int64(),
    Unit.ID: pa.int64(),
    Unit.PER_HOUR: pa.float64(),
    Unit.BYTES_PER_HOUR: pa.float64(),
    Unit.SHARE: pa.float64(),
    Unit.RATIO: pa.float64(),
    Unit.DURATION_MS: pa.int64(),
    Unit.TIME_MS: pa.timestamp("ms", "UTC"),
    Unit.FLAG: pa.bool_(),
}


def arrow_table(report: ReportData, name: str | None = None) -> pa.Table:
    """One table of a report.

    Args:
        report: whose rows are read.
        name: of the table; the command's own if it is None.

    Returns:
        Its rows with a type for each unit; nested values are JSON texts, ``x_ms`` is the timestamp
        ``x``. The schema's metadata names ``command`` and ``checkpoint``.

    Raises:
        KeyError: the report has no such table.
    """
    table = report.primary if name is None else {t.name: t for t in report.tables}[name]
    schema = pa.schema(columns_of(table.columns))
    batch = record_batch_of(schema, table.columns, table.rows)
    metadata = {"checkpoint": report.checkpoint, "command": report.command}
    return pa.Table.from_batches([batch.replace_schema_metadata(metadata)])


def columns_of(columns: Iterable[Column]) -> list[tuple[str, pa.DataType]]:
    """A type for each unit: nested values as JSON; ``x_ms`` is the timestamp ``x``."""
    return [(_name(column), _TYPES.get(column.unit, pa.string())) for column in columns]


def record_batch_of(
    schema: pa.Schema, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]
) -> pa.RecordBatch:
    """Rows as a batch of a schema that begins with these columns; the others are null."""
    listed = list(rows)
    arrays = [
        pa.array(_cells(column, listed, schema.field(i).type), schema.field(i).type)
        for i, column in enumerate(columns)
    ]
    more = [pa.nulls(len(listed), field.type) for field in list(schema)[len(arrays) :]]
    return pa.RecordBatch.from_arrays([*arrays, *more], schema=schema)


def _name(column: Column) -> str:
    return column.name.removesuffix("_ms") if column.unit is Unit.TIME_MS else column.name


def _cells(column: Column, rows: Sequence[Mapping[str, Any]], kind: pa.DataType) -> list[Any]:
    values = [row.get(column.name) for row in rows]
    return list(map(_word, values)) if pa.types.is_string(kind) else values


def _word(value: Any) -> str | None:
    """A value as text: all but text as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
