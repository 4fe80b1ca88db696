"""Arrow types for the values of Spark types.

Nothing is lost: where Arrow has no type as wide as Spark's, the parts come as a struct. Bytes of a
string that are not UTF-8 become U+FFFD, repeated names of a struct are numbered (``unique_names``),
and a user-defined type is that of its ``sqlType``.

A date or timestamp may lie outside of what Python's ``datetime`` holds: Spark knows years up to
294247. The Arrow value is right even where ``to_pylist`` raises ``OverflowError``.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from inspector import sparktypes as types
from inspector.exceptions import DecodeError
from inspector.model import LIMITS

MICROS_UTC = pa.timestamp("us", tz="UTC")  # Arrow type of timestamps
MICROS = pa.timestamp("us")  # Arrow type of timestamps without a time zone

# Arrow type by kind of the atomic type
_ATOMIC: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": MICROS_UTC,
    "timestamp_ntz": MICROS,
    "timestamp_nanos": pa.struct([("micros", MICROS_UTC), ("nanos", pa.int16())]),
    "timestamp_ntz_nanos": pa.struct([("micros", MICROS), ("nanos", pa.int16())]),
    "time": pa.time64("ns"),
    "void": pa.null(),
    "interval": pa.struct(
        [("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())]
    ),
    "year_month": pa.int32(),
    "day_time": pa.duration("us"),
    "variant": pa.struct([("value", pa.binary()), ("metadata", pa.binary())]),
    "geometry": pa.binary(),
    "geography": pa.binary(),
}


def arrow_type(data_type: types.DataType, depth: int = LIMITS.nesting) -> pa.DataType:
    """Return the Arrow type of a Spark type.

    DecodeError: its layout is not known, or it is nested more than ``depth`` levels deep.
    """
    if depth < 0:
        raise DecodeError("types are nested too deeply")
    data_type = types.storage_type(data_type)
    if isinstance(data_type, types.StructType):
        names = types.unique_names(data_type.fields)
        parts = [arrow_type(field.data_type, depth - 1) for field in data_type.fields]
        return pa.struct(list(zip(names, parts, strict=True)))
    if isinstance(data_type, types.ArrayType):
        return pa.list_(arrow_type(data_type.element, depth - 1))
    if isinstance(data_type, types.MapType):
        key = arrow_type(data_type.key, depth - 1)
        return pa.map_(key, arrow_type(data_type.value, depth - 1))
    if isinstance(data_type, types.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, types.StringType):
        return pa.string()
    if isinstance(data_type, types.AtomicType) and data_type.kind in _ATOMIC:
        return _ATOMIC[data_type.kind]
    raise DecodeError(f"type {types.type_name(data_type)[:80]!r} is unknown")
