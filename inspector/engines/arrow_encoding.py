"""Arrow types that ``mapInArrow`` does not support, encoded as types that it supports.

``timestamp(ms)`` of reports becomes ``timestamp(us)``, ``time64(ns)`` and null become text. A
struct without fields, which Parquet does not have, gets a field ``__dummy__``. Batches of any types
can be sent as rows of bytes, each an Arrow IPC stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from inspector.engines.engine import BatchFunction, Merge
from inspector.schemas import array_of, parts_of

# schema of rows that each hold any batch as an Arrow IPC stream
IPC_SCHEMA = pa.schema([("batch", pa.binary())])


def encode_columns(function: BatchFunction, schema: pa.Schema) -> BatchFunction:
    """Return the batch function with its results converted to types that Spark supports.

    ``schema`` is the schema of its results.
    """
    target = encode_schema(schema)
    if target.types == schema.types:
        return function
    return lambda batches: (encode(batch, target) for batch in function(batches))


def encode_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the batches that :func:`encode_columns` yields."""
    return pa.schema([pa.field(item.name, encode_type(item.type)) for item in schema])


def encode_type(kind: Any) -> Any:
    """Return the type that Spark supports and that values of ``kind`` are converted to."""
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
    """Return a batch with its columns converted to the types of a schema."""
    pairs = zip(batch.columns, schema, strict=True)
    columns = [_encode(column, field.type) for column, field in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _encode(values: Any, kind: Any) -> Any:
    """Return an array converted to the type ``kind``.

    ``kind`` is the result of :func:`encode_type` for the array's own type.
    """
    if values.type == kind:
        return values
    types = pa.types
    if types.is_struct(kind):
        if not values.type.num_fields:
            parts = [pa.nulls(len(values), pa.string())]
        else:
            # flatten() would mark a part null where its struct is null; the struct's nulls are kept
            # apart.
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
    """Return a list or map array of a new type with new items, and the old offsets and nulls."""
    # Buffers are used, because from_arrays gives the place of a null list to the list before it.
    valid, ends = values.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(values), [valid, ends], values.null_count, values.offset, [inner]
    )


def encode_as_ipc(function: BatchFunction) -> BatchFunction:
    """Return the batch function with its results as rows of :data:`IPC_SCHEMA`."""
    return lambda batches: to_ipc(function(batches))


def merge_in_part(function: BatchFunction, merge: Merge) -> BatchFunction:
    """Return a batch function that merges the results of ``function`` within each Spark task.

    It yields rows with the columns ``merge.keys`` and the merged rows with these keys as bytes.
    :func:`merge_at_last` merges them with those of other Spark tasks.
    """
    return lambda batches: to_keyed_ipc(merge.function(function(batches)), merge.keys)


def merge_at_last(merge: Merge) -> BatchFunction:
    """Return a batch function that merges results of :func:`merge_in_part` from all Spark tasks.

    It takes batches with the results as bytes in the column ``batch``, and yields rows of
    :data:`IPC_SCHEMA`.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the merged batches as rows of bytes."""
        columns: Iterable[Any] = (batch.column("batch").to_pylist() for batch in batches)
        rows = (row for column in columns for row in column)
        return to_ipc(merge.function(from_ipc(rows)))

    return run


def to_ipc(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield each batch as one row of bytes, which Spark need not understand."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")  # most columns of a fact are null
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
            stream.write_batch(batch)
        column = array_of([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([column], schema=IPC_SCHEMA)


def keys_and_ipc(schema: pa.Schema, keys: Sequence[str]) -> pa.Schema:
    """Return the schema of the batches that :func:`to_keyed_ipc` yields for batches of ``schema``.

    It has the columns ``keys`` with their types in ``schema``, and the binary column ``batch``.
    A row holds the rows of one batch that have the same keys, as an Arrow IPC stream.
    """
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
    """Yield the batches in rows of bytes by :func:`to_ipc`."""
    for row in rows:
        yield from pa.ipc.open_stream(row)
