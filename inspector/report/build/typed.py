"""Rows and changes of one store as typed Arrow batches, for Parquet and Arrow IPC.

``key`` and ``value`` are structs with the types of :mod:`inspector.decode.arrow_types`; where the
state schema is not known they are the UnsafeRow bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.decode.rows import RowDecoder
from inspector.model import Problem
from inspector.pipeline.collect import problem_of
from inspector.pipeline.discovery import Checkpoint
from inspector.report.build.common import operator_names
from inspector.report.build.words import Place
from inspector.sparktypes import StructType, widen_timeout

_STORE: list[tuple[str, pa.DataType]] = [
    ("operator_id", pa.int32()),
    ("operator_name", pa.string()),
    ("store_name", pa.string()),
    ("partition_id", pa.int32()),
    ("version", pa.int64()),
    ("batch_id", pa.int64()),
]
_EVENT: list[tuple[str, pa.DataType]] = [
    ("event", pa.string()),
    ("same_value", pa.bool_()),
    ("record", pa.int64()),
    ("old_value_bytes", pa.int64()),
]
_SIZES: list[tuple[str, pa.DataType]] = [("key_bytes", pa.int64()), ("value_bytes", pa.int64())]
_RAW: list[tuple[str, pa.DataType]] = [("key_row", pa.binary()), ("value_row", pa.binary())]

_KNOWN = ("insert", "update", "same_value")
"""Events of which it is known whether they wrote the value that was there."""


@dataclass(frozen=True)
class TypedTable:
    """A store's rows, or its changes, with their types.

    Attributes:
        name: ``operator-0.default``.
        schema: of the batches.
        batches: read once, while they are written.
        problems: grows while the batches are read.
    """

    name: str
    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    problems: list[Problem] = field(default_factory=list)


def typed_table(
    checkpoint: Checkpoint,
    place: Place,
    batches: Iterable[pa.RecordBatch],
    *,
    changes: bool = False,
    raw: bool = False,
) -> TypedTable:
    """One store of a checkpoint.

    Args:
        checkpoint: what is read.
        place: the store.
        batches: of schema :data:`inspector.schemas.ROWS`, or of ``CHANGES``.
        changes: which of the two.
        raw: with the UnsafeRow bytes beside the decoded key and value.
    """
    operator_id, store = place
    operator = next(o for o in checkpoint.operators if o.operator_id == operator_id)
    schema = operator.schemas.get(store)
    sides = (
        _Side(None if schema is None else schema.key),
        _Side(None if schema is None else widen_timeout(schema.value)),
    )
    columns = [
        *_STORE,
        *(_EVENT if changes else ()),
        *_SIZES,
        ("key", sides[0].type),
        ("value", sides[1].type),
        *(_RAW if raw else ()),
    ]
    typed = pa.schema(columns)
    problems: list[Problem] = []
    name = operator_names(checkpoint)[operator_id]
    read = _Typed(typed, name, sides, problems).read(batches)
    return TypedTable(f"operator-{operator_id}.{store}", typed, read, problems)


class _Side:
    """Keys, or values, of one store."""

    def __init__(self, schema: StructType | None) -> None:
        self._decoder = None if schema is None else RowDecoder(schema)
        self.type = pa.binary() if self._decoder is None else self._decoder.arrow_type
        self.misfits = 0

    def decode(self, rows: Any) -> Any:
        """Binary rows as the side's type; null stays null, a misfit becomes it."""
        if self._decoder is None:
            return rows
        there = rows.is_valid().to_numpy(zero_copy_only=False)
        _, offsets, data = rows.buffers()
        ends = np.frombuffer(offsets, np.int32)[rows.offset : rows.offset + len(rows) + 1]
        starts, lengths = ends[:-1].astype(np.int64), np.diff(ends).astype(np.int64)
        decoded = self._decoder.decode(memoryview(data or b""), starts[there], lengths[there])
        self.misfits += len(decoded.misfits)
        if there.all():
            return decoded.array
        return decoded.array.take(pa.array(np.cumsum(there) - 1, mask=~there))


@dataclass
class _Typed:
    schema: pa.Schema
    operator_name: str
    sides: tuple[_Side, _Side]
    problems: list[Problem]

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.column("kind")[0].as_py() == "problem":
                self.problems.extend(map(problem_of, batch.to_pylist()))
            else:
                yield self._batch(batch)
        misfits = sum(side.misfits for side in self.sides)
        if misfits:
            message = f"{misfits} keys or values do not fit the schema and are null, see verify"
            self.problems.append(Problem("bad-row", message))

    def _batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow.compute as pc  # noqa: PLC0415 - slow to import, and few commands need it

        keys: Any = batch.column("key")
        values: Any = batch.column("value")
        given = {name: batch.column(name) for name in batch.schema.names}
        made = {
            "operator_name": pa.repeat(pa.scalar(self.operator_name), batch.num_rows),
            "batch_id": pc.subtract(batch.column("version"), 1),
            "key_bytes": pc.binary_length(keys),
            "value_bytes": pc.binary_length(values),
            "key": self.sides[0].decode(keys),
            "value": self.sides[1].decode(values),
            "key_row": keys,
            "value_row": values,
        }
        if "event" in given:
            known = pc.is_in(given["event"], pa.array(_KNOWN))
            same = pc.equal(given["event"], pa.scalar("same_value"))
            made["same_value"] = pc.if_else(known, same, pa.scalar(None, pa.bool_()))
        columns = given | made
        arrays = [
            columns[f.name] if f.name in ("key", "value") else columns[f.name].cast(f.type)
            for f in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
