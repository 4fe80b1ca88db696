"""Rows of any schema: generated, decoded, and converted from Arrow back to values."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from inspector.decode.row_columns import DecodedRows, RowDecoder
from inspector.sparktypes import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
    atomic,
)
from inspector.sparktypes.ddl import parse_ddl
from tests.decode.spans import spans_of

INT64 = pa.int64()


def decode(schema: StructType | str, rows: Sequence[bytes], before: bytes = b"") -> DecodedRows:
    """Decode rows of one buffer that begins with some other bytes."""
    if isinstance(schema, str):
        schema = parse_ddl(schema)
    decoded = RowDecoder(schema).decode(*spans_of(rows, before))
    decoded.array.validate(full=True)
    assert decoded.array.type == RowDecoder(schema).arrow_type
    return decoded


def stored(array: Any, times: Any = INT64, no_fields: tuple[None, ...] = ()) -> list[Any]:
    """Return the values of an Arrow array in the form that ``tests.encode`` accepts.

    Args:
        array: An array of any type.
        times: Arrow type of times of day. Other temporal types are integers.
        no_fields: Value of a struct without fields.
    """
    types, kind = pa.types, array.type
    values: list[Any]
    if types.is_struct(kind):
        fields = [stored(array.field(i), times, no_fields) for i in range(kind.num_fields)]
        values = list(zip(*fields, strict=True)) if fields else [no_fields] * len(array)
    elif types.is_map(kind):
        keys, items = stored(array.keys, times, no_fields), stored(array.items, times, no_fields)
        values = lists(array, list(zip(keys, items, strict=True)))
    elif types.is_list(kind):
        values = lists(array, stored(array.values, times, no_fields))
    elif types.is_date(kind):
        values = array.cast(pa.int32()).to_pylist()
    elif types.is_time(kind):
        values = array.cast(times).to_pylist()
    elif types.is_temporal(kind):
        values = array.cast(INT64).to_pylist()
    else:
        values = array.to_pylist()
    valid = array.is_valid().to_pylist()
    return [value if there else None for value, there in zip(values, valid, strict=True)]


def lists(array: Any, values: list[Any]) -> list[list[Any]]:
    """Return the lists of a list or map array, from the values of all its lists."""
    return [values[a:b] for a, b in pairwise(array.offsets.to_pylist())]


MICROS = st.integers(-(1 << 63), (1 << 63) - 1)
WIDE_DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1).map(
    lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -10))
)
atoms: list[tuple[DataType, st.SearchStrategy[Any]]] = [
    (atomic("boolean"), st.booleans()),
    (atomic("byte"), st.integers(-128, 127)),
    (atomic("short"), st.integers(-(1 << 15), (1 << 15) - 1)),
    (atomic("integer"), st.integers(-(1 << 31), (1 << 31) - 1)),
    (atomic("long"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("float"), st.floats(width=32, allow_nan=False)),
    (atomic("double"), st.floats(allow_nan=False)),
    (atomic("date"), st.integers(-(1 << 31), (1 << 31) - 1)),
    (atomic("timestamp"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("timestamp_ntz"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("time(6)"), st.integers(0, 86_399_999_999_999)),
    (atomic("interval year to month"), st.integers(-(1 << 31), (1 << 31) - 1)),
    (atomic("interval day to second"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("interval"), st.tuples(*[st.integers(-(1 << 31), (1 << 31) - 1)] * 3)),
    (atomic("timestamp_ntz(9)"), st.tuples(MICROS, st.integers(0, 999))),
    (atomic("timestamp_ltz(9)"), st.tuples(MICROS, st.integers(0, 999))),
    (atomic("binary"), st.binary(max_size=20)),
    (atomic("geometry(SRID:0)"), st.binary(max_size=20)),
    (atomic("variant"), st.tuples(st.binary(max_size=9), st.binary(max_size=9))),
    (StringType(), st.text(max_size=12)),
    (StringType(declared="char(3)"), st.text(max_size=3)),
    (DecimalType(10, 2), st.decimals(-10**7, 10**7, places=2)),
    (DecimalType(18, 0), st.integers(-(10**18) + 1, 10**18 - 1).map(Decimal)),
    (DecimalType(38, 10), WIDE_DECIMALS),
    (DecimalType(19, 0), st.integers(-300, 300).map(Decimal)),
    (atomic("void"), st.none()),
]  # fmt: skip
Typed = tuple[DataType, st.SearchStrategy[Any]]


def struct_of(fields: list[Typed]) -> Typed:
    types = tuple(StructField(f"f{i % 3}", data_type) for i, (data_type, _) in enumerate(fields))
    return StructType(types), st.tuples(*[values | st.none() for _, values in fields])


def array_of(element: Typed) -> Typed:
    return ArrayType(element[0]), st.lists(element[1] | st.none(), max_size=4)


def map_of(key: Typed, value: Typed) -> Typed:
    return MapType(key[0], value[0]), st.lists(st.tuples(key[1], value[1] | st.none()), max_size=3)


typed: st.SearchStrategy[Typed] = st.recursive(
    st.sampled_from(atoms),
    lambda inner: (
        st.lists(inner, max_size=3).map(struct_of)
        | inner.map(array_of)
        | st.builds(map_of, st.sampled_from(atoms[:-1]), inner)
    ),
    max_leaves=5,
)
schemas = st.lists(typed, min_size=1, max_size=5).map(struct_of)


def slot(offset: int, size: int) -> bytes:
    return struct.pack("<Q", offset << 32 | size)


def one_field(value: bytes, remainder: bytes = b"") -> bytes:
    return bytes(8) + value + remainder
