"""Values encoded in types that Spark supports. All other values are unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.arrow_types import arrow_type
from inspector.engines.arrow_encoding import (
    IPC_SCHEMA,
    encode,
    encode_columns,
    encode_schema,
    encode_type,
    from_ipc,
    to_ipc,
)
from inspector.facts.registry import facts_schema
from inspector.sparktypes import DataType, StructType
from tests.attributes import attributes
from tests.decode.arrow_values import atoms, decode, schemas, stored, typed
from tests.encode import row

DAY_NS = 24 * 3600 * 10**9


def arrays(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of arrays of a type, with nulls at every level and unused bytes."""
    return st.integers(0, 2**32 - 1).map(lambda seed: _random(np.random.default_rng(seed), kind, 9))


def _random(dice: Any, kind: Any, size: int) -> Any:
    valid = pa.array(dice.random(size) < 0.7)
    mask = dice.random(size) < 0.3
    types = pa.types
    if types.is_struct(kind):
        parts = [_random(dice, item.type, size) for item in kind]
        bits = valid.buffers()[1]
        return pa.StructArray.from_buffers(kind, size, [bits], children=parts)
    if types.is_list(kind) or types.is_map(kind):
        # Null lists have elements too, which no reader may use.
        ends = np.cumsum([0, *dice.integers(0, 4, size)]).astype(np.int32)
        make, inner = _random, getattr(kind, "value_type", None)
        if types.is_map(kind):
            make, inner = _entries, pa.struct([kind.key_field, kind.item_field])
        child = make(dice, inner, int(ends[-1]))
        buffers = [valid.buffers()[1], pa.py_buffer(ends.tobytes())]
        return pa.Array.from_buffers(kind, size, buffers, children=[child])
    if types.is_null(kind):
        return pa.nulls(size)
    if types.is_time(kind):
        return pa.array(dice.integers(0, DAY_NS, size), pa.int64(), mask=mask).cast(kind)
    numbers = pa.array(dice.integers(0, 9, size), pa.int64(), mask=mask)
    if types.is_date(kind):
        return numbers.cast(pa.int32()).cast(kind)
    if types.is_binary(kind):
        return numbers.cast(pa.string()).cast(kind)
    return numbers.cast(kind)


def _entries(dice: Any, kind: Any, size: int) -> Any:
    """Return entries of a map. Neither entries nor keys are null."""
    keys = pa.array([str(i) for i in range(size)]).cast(kind[0].type)
    return pa.StructArray.from_arrays([keys, _random(dice, kind[1].type, size)], fields=list(kind))


def values_of(array: Any) -> list[Any]:
    """Return the values of an array as encoded: times are texts, an empty struct has one field."""
    return stored(array, times=pa.string(), no_fields=(None,))


def assert_encoded(array: Any) -> None:
    """Check the encoded values of an array."""
    target = encode_type(array.type)
    (got,) = encode(pa.RecordBatch.from_arrays([array], ["c"]), pa.schema([("c", target)])).columns
    got.validate(full=True)
    assert got.type == target
    assert values_of(got) == values_of(array)


EVERY = pa.struct(
    [
        ("time", pa.time64("ns")),
        ("void", pa.null()),
        ("empty", pa.struct([])),
        ("list", pa.list_(pa.struct([("time", pa.time64("ns")), ("void", pa.null())]))),
        ("map", pa.map_(pa.string(), pa.list_(pa.struct([])))),
        ("deep", pa.map_(pa.string(), pa.map_(pa.string(), pa.list_(pa.time64("ns"))))),
        ("as it is", pa.list_(pa.struct([("at", pa.timestamp("us", "UTC")), ("n", pa.int16())]))),
    ]
)


@given(arrays(EVERY), st.integers(0, 9), st.integers(0, 9))
def test_slices_with_nulls_at_every_level(array: Any, start: int, size: int) -> None:
    array.validate(full=True)
    assert_encoded(array.slice(start, size))
    for i in range(EVERY.num_fields):
        assert_encoded(array.field(i).slice(start, size))


@given(st.data())
def test_every_decoded_array_can_be_encoded(data: st.DataObject) -> None:
    schema, values = data.draw(schemas)
    assert isinstance(schema, StructType)
    rows = [row(schema, value) for value in data.draw(st.lists(values, max_size=4))]
    array = decode(schema, rows).array
    assert_encoded(array)
    assert_encoded(array.slice(1))


@given(typed | st.sampled_from(atoms))
def test_encoded_types_are_supported_by_spark(drawn: tuple[DataType, Any]) -> None:
    pytest.importorskip("pyspark.sql", exc_type=ImportError)
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = pa.schema([pa.field("c", encode_type(arrow_type(drawn[0])))])
    of_spark = from_arrow_schema(schema, prefer_timestamp_ntz=True).simpleString()
    assert not re.search(r"void|null|\btime\(", of_spark)


def test_time_is_encoded_as_text() -> None:
    nanos = pa.array([45_296_123_456_789, 0, None, DAY_NS - 1]).cast(pa.time64("ns"))
    target: Any = pa.schema({"t": pa.string()})
    batch = encode(pa.RecordBatch.from_arrays([nanos], ["t"]), target)
    times = ["12:34:56.123456789", "00:00:00.000000000", None, "23:59:59.999999999"]
    assert batch.column("t").to_pylist() == times


def test_batches_round_trip_through_ipc_bytes() -> None:
    late = pa.array([None, 2**62], pa.int64()).cast(pa.timestamp("us", "UTC"))  # after year 9999
    batches = [
        pa.RecordBatch.from_arrays([pa.array([1, 2]), late], ["n", "t"]),
        pa.RecordBatch.from_arrays([pa.array([], pa.string())], ["s"]),
    ]
    rows = list(to_ipc(batches))
    assert attributes(rows, "schema", "num_rows") == [(IPC_SCHEMA, 1)] * 2
    assert list(from_ipc(row.column(0)[0].as_py() for row in rows)) == batches
    assert list(from_ipc([])) == []


def test_function_is_wrapped_only_for_unsupported_types() -> None:
    def yields(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    assert encode_columns(yields, facts_schema()) is yields
    assert encode_schema(facts_schema()) == facts_schema()
    schema, target = _pair(pa.null()), _pair(pa.string())
    assert encode_schema(schema) == target
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.nulls(2)], schema=schema)
    (result,) = encode_columns(yields, schema)([batch])
    assert result.schema == target
    assert result.to_pylist() == [{"n": 1, "v": None}, {"n": 2, "v": None}]


def _pair(kind: Any) -> pa.Schema:
    return pa.schema([pa.field("n", pa.int64()), pa.field("v", kind)])
