"""Avro records as Spark's ``AvroStateEncoder`` writes them, of the values of ``encode.row``."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from inspector.sparktypes import (
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
)
from tests import encode
from tests.decode.arrow_values import Typed, atoms
from tests.decode.sst.tables import varint

_INTEGERS = ("byte", "short", "integer", "date", "long", "timestamp", "timestamp_ntz")
KINDS = (*_INTEGERS, "boolean", "float", "double", "binary", "void")


def number(value: int) -> bytes:
    """Return a zigzag varint."""
    return varint(value << 1 ^ value >> 63)


def record(schema: StructType, values: Sequence[Any]) -> bytes:
    """Return one row as Avro."""
    return b"".join(
        _union(field.data_type, value) for field, value in zip(schema.fields, values, strict=True)
    )


def _union(data_type: DataType, value: Any) -> bytes:
    if isinstance(data_type, AtomicType) and data_type.kind == "void":
        return b""
    return number(0) if value is None else number(1) + _value(data_type, value)


def _element(data_type: DataType, value: Any) -> bytes:
    nested = isinstance(data_type, StructType | ArrayType | MapType)
    return _union(data_type, value) if nested else _value(data_type, value)


@singledispatch
def _value(data_type: DataType, value: Any) -> bytes:
    assert isinstance(data_type, AtomicType)
    return _ATOMS.get(data_type.kind, number)(value)


@_value.register
def _(data_type: StructType, value: Any) -> bytes:
    return record(data_type, value)


@_value.register
def _(data_type: ArrayType, value: Any) -> bytes:
    return _blocks([_element(data_type.element, item) for item in value])


@_value.register
def _(data_type: MapType, value: Any) -> bytes:
    return _blocks([_value(data_type.key, k) + _element(data_type.value, v) for k, v in value])


@_value.register
def _(_type: StringType, value: Any) -> bytes:
    return _sized(value.encode())


@_value.register
def _(data_type: DecimalType, value: Any) -> bytes:
    size = ((10**data_type.precision - 1).bit_length() + 8) // 8
    return encode.unscaled(data_type, value).to_bytes(size, "big", signed=True)


def _sized(data: bytes) -> bytes:
    return number(len(data)) + bytes(data)


def _nothing(_value: None) -> bytes:
    return b""


_ATOMS: Mapping[str, Callable[[Any], bytes]] = {
    "boolean": struct.Struct("?").pack,
    "float": struct.Struct("<f").pack,
    "double": struct.Struct("<d").pack,
    "binary": _sized,
    "void": _nothing,
}
"""Encoders of atomic types, except integers."""


def _blocks(values: list[bytes]) -> bytes:
    return (number(len(values)) + b"".join(values) if values else b"") + number(0)


def _struct(fields: list[Typed]) -> Typed:
    types = tuple(StructField(f"f{i}", data_type) for i, (data_type, _) in enumerate(fields))
    return StructType(types), st.tuples(*[values | st.none() for _, values in fields])


def _array(element: Typed) -> Typed:
    return ArrayType(element[0]), st.lists(_nullable(element), max_size=4)


def _map(value: Typed) -> Typed:
    entries = st.lists(st.tuples(st.text(max_size=4), _nullable(value)), max_size=3)
    return MapType(StringType(), value[0]), entries


def _nullable(element: Typed) -> st.SearchStrategy[Any]:
    nested = isinstance(element[0], StructType | ArrayType | MapType)
    return element[1] | st.none() if nested else element[1]


def _is_written(data_type: DataType) -> bool:
    return not isinstance(data_type, AtomicType) or data_type.kind in KINDS


_typed: st.SearchStrategy[Typed] = st.recursive(
    st.sampled_from([atom for atom in atoms if _is_written(atom[0])]),
    lambda inner: st.lists(inner, max_size=3).map(_struct) | inner.map(_array) | inner.map(_map),
    max_leaves=5,
)
schemas = st.lists(_typed, min_size=1, max_size=5).map(_struct)
"""Schemas that Spark can store as Avro, each with the strategy of its values."""


def wider(schema: StructType) -> StructType:
    """Return the schema with one more field at the front."""
    return replace(schema, fields=(StructField("new", StringType()), *schema.fields))
