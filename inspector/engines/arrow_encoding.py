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

# schema with the one column ``batch``; each row holds a whole batch, of any schema, as an Arrow IPC
# stream
IPC_SCHEMA = pa.schema([("batch", pa.binary())])


def encode_columns(function: BatchFunction, schema: pa.Schema) -> BatchFunction:
    """Return ``function`` with its results converted to Arrow types that Spark supports.

    ``schema`` is the schema of the results of ``function``. If it needs no conversion, ``function``
    is returned itself.
    """
    target = encode_schema(schema)
    if target.types == schema.types:
        return function
    return lambda batches: (encode(batch, target) for batch in function(batches))


def encode_schema(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` with each type replaced by the result of :func:`encode_type`.

    The batches of :func:`encode_columns` have this schema. Names stay; all columns may be null.
    """
    return pa.schema([pa.field(item.name, encode_type(item.type)) for item in schema])


def encode_type(kind: Any) -> Any:
    """Return the Arrow type to which values of type ``kind`` are converted for Spark.

    A timestamp gets microseconds and keeps its time zone. A time and null become text. A struct
    without fields gets the field ``__dummy__``. Types inside lists, maps and structs are converted
    too. Any other type is returned unchanged.
    """
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
    """Return ``batch`` with its columns converted, in order, to the types of ``schema``.

    ``schema`` is the result of :func:`encode_schema` for the schema of the batch.
    """
    pairs = zip(batch.columns, schema, strict=True)
    columns = [_encode(column, field.type) for column, field in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _encode(values: Any, kind: Any) -> Any:
    """Return the Arrow array ``values`` converted to the type ``kind``.

    ``kind`` is the result of :func:`encode_type` for the array's own type. An array that has this
    type already is returned itself.
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
    """Return an array of the type ``kind`` with the items ``inner``.

    ``values`` is the old list or map array. The new array has its offsets and its nulls.
    """
    # Buffers are used, because from_arrays adds the items of a null list to the list before it.
    valid, ends = values.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(values), [valid, ends], values.null_count, values.offset, [inner]
    )


def encode_as_ipc(function: BatchFunction) -> BatchFunction:
    """Return ``function`` with each result batch encoded as one row of :data:`IPC_SCHEMA`."""
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
        """Decode the batches in the column ``batch``, merge them, and yield rows of bytes."""
        columns: Iterable[Any] = (batch.column("batch").to_pylist() for batch in batches)
        rows = (row for column in columns for row in column)
        return to_ipc(merge.function(from_ipc(rows)))

    return run


def to_ipc(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a batch of one row of :data:`IPC_SCHEMA` for each batch.

    The row holds the whole batch as a compressed Arrow IPC stream. For Spark it is only bytes, so
    the batch may have any types.
    """
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
    """Yield the rows of each batch, grouped by the columns ``keys``, as bytes with their keys.

    Each group of rows with the same keys becomes a batch of one row: the keys, by which Spark can
    repartition rows, and the column ``batch`` of :func:`to_ipc` with the rows of the group.
    """
    for batch in batches:
        schema = keys_and_ipc(batch.schema, keys)
        for _, part in parts_of(batch, keys):
            (row,) = to_ipc([part])
            columns = [*(part.column(name).slice(0, 1) for name in keys), *row.columns]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def from_ipc(rows: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Decode ``rows``, each an Arrow IPC stream as of :func:`to_ipc`, and yield their batches."""
    for row in rows:
        yield from pa.ipc.open_stream(row)
