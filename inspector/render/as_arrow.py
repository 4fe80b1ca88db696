"""Rows of reports as Arrow, for files of data."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.decode.arrow_types import arrow_type
from inspector.render.report_data import ReportData
from inspector.render.tabular import Column, Unit

# Arrow type of each unit of columns; text for the others
_TYPES: dict[Unit, pa.DataType] = {
    **dict.fromkeys((Unit.COUNT, Unit.BYTES, Unit.ID, Unit.DURATION_MS), pa.int64()),
    **dict.fromkeys((Unit.PER_HOUR, Unit.BYTES_PER_HOUR, Unit.SHARE, Unit.RATIO), pa.float64()),
    Unit.TIME_MS: pa.timestamp("ms", "UTC"),
    Unit.FLAG: pa.bool_(),
}


def arrow_table(report: ReportData, name: str | None = None, *, structs: bool = True) -> pa.Table:
    """Return one table of a report as Arrow, by its name; by default the command's own.

    A column has the type of its unit, and ``x_ms`` becomes the timestamp ``x``. With ``structs``,
    keys and values of the state have their types if all rows have one schema; otherwise they are
    JSON texts, as other nested values are. The metadata has ``command`` and ``checkpoint``. Raises
    KeyError for an unknown name.
    """
    table = report.primary if name is None else {t.name: t for t in report.tables}[name]
    rows = list(table.rows)
    arrays = []
    typed_columns = columns_of(table.columns)
    for column, (_, kind) in zip(table.columns, typed_columns, strict=True):
        is_typed = structs and column.unit is Unit.VALUE
        typed = _state_values(report, column.name, rows) if is_typed else None
        arrays.append(_array(column, rows, kind) if typed is None else typed)
    metadata = {"checkpoint": report.checkpoint, "command": report.command}
    return pa.Table.from_arrays(arrays, [name for name, _ in typed_columns], metadata=metadata)


def _state_values(report: ReportData, name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the keys or values (``name``) of rows as an Arrow array of their Spark type.

    None if the stores have several types or no schema, or if a value is redacted or does not fit.
    """
    stores: set[Any] = {(row.get("operator_id"), row.get("store_name")) for row in rows}
    schemas = [report.schemas.get(store) for store in stores]
    row_types = [schema.key if name == "key" else schema.value for schema in schemas if schema]
    try:
        kinds = {arrow_type(data_type) for data_type in row_types}
        if len(row_types) < len(stores) or len(kinds) != 1:
            return None
        (kind,) = kinds
        return pa.array([_convert(row.get(name), kind) for row in rows], kind)
    except (KeyError, TypeError, ValueError, ArithmeticError, pa.ArrowException):
        return None


def _convert(value: Any, kind: Any) -> Any:
    """Return a JSON value as Arrow takes it for a type.

    Raises KeyError, TypeError, ValueError or ArithmeticError if it does not fit.
    """
    is_ = pa.types
    if value is None:
        return None
    if is_.is_struct(kind):
        return {member.name: _convert(value[member.name], member.type) for member in kind}
    if is_.is_map(kind):
        listed = isinstance(value, list)
        pairs = [(pair["key"], pair["value"]) for pair in value] if listed else value.items()
        return [(_convert(k, kind.key_type), _convert(v, kind.item_type)) for k, v in pairs]
    if is_.is_list(kind):
        return [_convert(member, kind.value_type) for member in value]
    if is_.is_timestamp(kind) or is_.is_date32(kind):
        unit: Any = "D" if is_.is_date32(kind) else kind.unit
        return int(np.datetime64(value.removesuffix("Z"), unit).astype(np.int64))
    if is_.is_binary(kind):
        return base64.b64decode(value, validate=True)
    return _WORDS.get(kind.id, lambda word: word)(value)


_WORDS: dict[int, Callable[[Any], Any]] = {
    pa.lib.Type_DECIMAL128: Decimal,
    pa.lib.Type_FLOAT: float,
    pa.lib.Type_DOUBLE: float,
    pa.lib.Type_INT64: int,
    pa.lib.Type_INT32: int,
}
"""Arrow type -> function from a JSON value to the Python value that Arrow takes for the type.

JSON has decimals and non-finite floats as texts, and the keys of maps, too.
"""


def columns_of(columns: Iterable[Column]) -> list[tuple[str, pa.DataType]]:
    """Return the name and Arrow type of each column.

    ``x_ms`` becomes the timestamp ``x``; nested values become JSON texts.
    """
    names = [c.name.removesuffix("_ms") if c.unit is Unit.TIME_MS else c.name for c in columns]
    return [(name, _TYPES.get(c.unit, pa.string())) for name, c in zip(names, columns, strict=True)]


def record_batch_of(
    schema: pa.Schema, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]
) -> pa.RecordBatch:
    """Return rows as a batch; fields of the schema after these columns are null."""
    listed = list(rows)
    arrays = [_array(column, listed, schema.field(i).type) for i, column in enumerate(columns)]
    null_arrays = [pa.nulls(len(listed), field.type) for field in list(schema)[len(arrays) :]]
    return pa.RecordBatch.from_arrays([*arrays, *null_arrays], schema=schema)


def _array(column: Column, rows: Sequence[Mapping[str, Any]], kind: pa.DataType) -> Any:
    """Return one column of rows as an Arrow array; in a text column, other values become JSON."""
    values = [row.get(column.name) for row in rows]
    if pa.types.is_string(kind):
        text = partial(json.dumps, ensure_ascii=False, allow_nan=False)
        values = [v if v is None or isinstance(v, str) else text(v) for v in values]
    return pa.array(values, kind)
