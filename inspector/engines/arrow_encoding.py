"""Arrow types that ``mapInArrow`` does not support, encoded as types that it does.

``timestamp(ms)`` of reports becomes ``timestamp(us)``; ``time64(ns)`` text (Spark has a type for it
from 4.1 on); ``null`` text (a file of Spark's cannot hold ``void``); ``struct<>`` a struct of one
null, ``__dummy__`` (Parquet has none without fields). Any batches can be rows of Arrow IPC streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from inspector.engines.engine import BatchFunction, Merge
from inspector.schemas import parts_of

IPC_SCHEMA = pa.schema([("batch", pa.binary())])  # any batches, each a row: an Arrow IPC stream


def encode_columns(function: BatchFunction, schema: pa.Schema) -> BatchFunction:
    """The function with its results in types that Spark supports."""
    target = encode_schema(schema)
    if target.types == schema.types:
        return function
    return lambda batches: (encode(batch, target) for batch in function(batches))


def encode_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of what :func:`encode_columns` yields."""
    return pa.schema([pa.field(item.name, encode_type(item.type)) for item in schema])


def encode_type(kind: Any) -> Any:
    """The type as which values of another are encoded."""
    types = pa.types
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_time(kind) or types.is_null(kind):
        return pa.string()
    if types.is_list(kind):
        return pa.list_(encode_type(kind.value_type))
    if types.is_map(kind):
        return pa.map_(encode_type(kind.key_type), encode_type(kind.item_type))
    if types.is_struct(kind):
        fields = [(item.name, encode_type(item.type)) for item in kind]
        return pa.struct(fields or [("__dummy__", pa.string())])
    return kind


def encode(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with its columns in their encoded types."""
    pairs = zip(batch.columns, schema, strict=True)
    columns = [_encode(column, field.type) for column, field in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _encode(values: Any, kind: Any) -> Any:
    if values.type == kind:
        return values
    types = pa.types
    if types.is_struct(kind):
        if not values.type.num_fields:
            parts = [pa.nulls(len(values), pa.string())]
        else:
            # flatten() would mark a part null where its struct is: that is kept apart.
            parts = [_encode(values.field(i), field.type) for i, field in enumerate(kind)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if types.is_map(kind):
        entries = [_encode(values.keys, kind.key_type), _encode(values.items, kind.item_type)]
        inner = pa.StructArray.from_arrays(entries, fields=[kind.key_field, kind.item_field])
        return _with_places(values, kind, inner)
    if types.is_list(kind):
        return _with_places(values, kind, _encode(values.values, kind.value_type))
    return values.cast(kind)


def _with_places(values: Any, kind: Any, inner: Any) -> Any:
    # By their buffers: from_arrays gives the place of a null list to the list before it.
    valid, ends = values.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(values), [valid, ends], values.null_count, values.offset, [inner]
    )


def encode_as_ipc(function: BatchFunction) -> BatchFunction:
    """The function with its results as :data:`IPC_SCHEMA`."""
    return lambda batches: to_ipc(function(batches))


def merge_in_part(function: BatchFunction, merge: Merge) -> BatchFunction:
    """The function with the results of one call made fewer, by the keys of a merge, as bytes."""
    return lambda batches: to_keyed_ipc(merge.function(function(batches)), merge.keys)


def merge_at_last(merge: Merge) -> BatchFunction:
    """Makes fewer of what :func:`merge_in_part` left, as bytes."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns: Iterable[Any] = (batch.column("batch").to_pylist() for batch in batches)
        rows = (row for column in columns for row in column)
        return to_ipc(merge.function(from_ipc(rows)))

    return run


def to_ipc(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as rows of bytes, one each: nothing that Spark has to understand."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")  # most columns of a fact are null
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
            stream.write_batch(batch)
        column = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([column], schema=IPC_SCHEMA)


def keys_and_ipc(schema: pa.Schema, keys: Sequence[str]) -> pa.Schema:
    """The schema of :func:`to_keyed_ipc` for batches of some schema."""
    return pa.schema([*(schema.field(name) for name in keys), *IPC_SCHEMA])


def to_keyed_ipc(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield :func:`to_ipc` with key columns first, by which Spark can group rows."""
    for batch in batches:
        schema = keys_and_ipc(batch.schema, keys)
        for _, part in parts_of(batch, keys):
            (row,) = to_ipc([part])
            columns = [*(part.column(name).slice(0, 1) for name in keys), *row.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def from_ipc(rows: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """The batches out of the bytes of :func:`to_ipc`."""
    for row in rows:
        yield from pa.ipc.open_stream(row)
