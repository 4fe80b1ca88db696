"""Rows and changes of one store with their types, made where the files are read.

``key`` and ``value`` are structs with the types of :mod:`inspector.decode.arrow_types`; where the
state schema is not known they are the UnsafeRow bytes. What cannot be read is a row too: its column
``problem`` says what, as JSON, and all that is about a key is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from inspector.checkpoint.logfile import DOUBTFUL
from inspector.codec import Message
from inspector.decode.row_columns import RowDecoder
from inspector.discovery.tasks import Task
from inspector.light_dataclasses import dataclass
from inspector.model import Problem, ProblemMode
from inspector.passes.problem_mode import problem_batches, with_problems
from inspector.passes.record_effects import ChangesTask, changes_of
from inspector.passes.tracked import schemas
from inspector.passes.worker import rows_of
from inspector.schemas import (
    STORE_COLUMNS,
    compute,
    int64_array,
    repeat_value,
    spans_of,
    specs_in,
)
from inspector.sparktypes import StructType

_Columns = list[tuple[str, pa.DataType]]  # names and types of columns
# column of the operator's name, which follows its number
_NAME: _Columns = [("operator_name", pa.string())]
# columns that name the store, the version and the batch of a row
_STORE = [*STORE_COLUMNS[:1], *_NAME, *STORE_COLUMNS[1:], ("batch_id", pa.int64())]
# columns that only changes have
_EVENT: _Columns = [
    ("event", pa.string()),
    ("same_value", pa.bool_()),
    ("record", pa.int64()),
    ("old_value_bytes", pa.int64()),
]
# columns of the bytes of key and value
_SIZES: _Columns = [("key_bytes", pa.int64()), ("value_bytes", pa.int64())]
# columns that only rows have
_LIFE: _Columns = [
    ("row_bytes", pa.int64()),
    ("expires_at", pa.timestamp("us", "UTC")),
    ("last_put_batch", pa.int64()),
]
_KNOWN = ("insert", "update", "same_value")
"""Events that show if the value written equals the previous one."""
_MAX_MS = ((1 << 63) - 1) // 1000  # ms of the latest time in microseconds
T = TypeVar("T")  # type of the task that is read
Look: TypeAlias = "Callable[[T, Callable[[T], Iterator[pa.RecordBatch]]], Iterator[pa.RecordBatch]]"
"""Function that reads a task by calling ``read`` on it, again if the listing has changed meanwhile.
"""


def once(task: T, read: Callable[[T], Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a task, read once without any check (a :class:`Look`)."""
    return read(task)


@dataclass(frozen=True)
class TypedTask(Message):
    """The rows, or the changes, of one store of one partition."""

    task: Task  # the partition, with this one store
    operator_name: str  # name of the operator, for a column
    changes: bool = False  # every change, else the rows of the task's version
    first_version: int = 0  # changes of older versions are left out
    raw: bool = False  # with the UnsafeRow bytes beside the decoded key and value
    mode: ProblemMode = ProblemMode.PERMISSIVE  # handling of files that cannot be read
    listed: tuple[Problem, ...] = ()  # problems that the listing shows; emitted with the task's own
    # names of the columns (key, value, old_value) that are null, because nobody asks for them
    undecoded: tuple[str, ...] = ()


def schema_of_rows(request: TypedTask) -> pa.Schema:
    """Return the schema of :func:`run_typed_rows` for a request.

    DecodeError: a type is not known.
    """
    (store,) = request.task.stores
    key, value = (_Side(schema).type for schema in schemas(store))
    rows: _Columns = [("key", key), ("value", value)]
    if request.changes:
        rows.append(("old_value", value))
    raw = [(f"{name}_row", pa.binary()) for name, _ in rows] if request.raw else []
    life = () if request.changes else _LIFE
    columns = [*_STORE, *(_EVENT if request.changes else ()), *_SIZES, *life, *rows, *raw]
    return with_problems(columns, request.mode)


def run_typed_rows(
    batches: Iterable[pa.RecordBatch], look: Look[Task] = once
) -> Iterator[pa.RecordBatch]:
    """Yield the rows or changes of some tasks, with keys and values decoded to their types.

    ``batches`` hold tasks of the form :class:`TypedTask`, all of one store; ``look`` reads the raw
    rows. The batches have the schema of :func:`schema_of_rows`. Raises InspectorError if something
    cannot be read and the mode is ``failfast``.
    """
    for spec in specs_in(batches):
        yield from _Typed(TypedTask.from_json(spec), look).read()


class _Side:
    """Decoder of the keys, or of the values, of one store.

    Attributes:
        type: Arrow type of the decoded rows; binary if the schema is not known.
        misfits: rows so far that did not fit the schema and became null.
    """

    def __init__(self, schema: StructType | None) -> None:
        self._decoder = None if schema is None else RowDecoder(schema)
        self.type = pa.binary() if self._decoder is None else self._decoder.arrow_type
        self.misfits = 0

    def decode(self, rows: Any) -> Any:
        """Return binary rows as an array of the side's type.

        Null stays null. A row that does not fit the schema becomes null and counts in ``misfits``.
        """
        if self._decoder is None:
            return rows
        entry = rows.is_valid().to_numpy(zero_copy_only=False)
        data, starts, lengths = spans_of(rows)
        decoded = self._decoder.decode(memoryview(data), starts[entry], lengths[entry])
        self.misfits += len(decoded.misfits)
        if entry.all():
            return decoded.array
        return decoded.array.take(int64_array(np.cumsum(entry) - 1, entry))


class _Typed:
    """Typed rows or changes of one task."""

    def __init__(self, request: TypedTask, look: Look[Task]) -> None:
        (self.store,) = request.task.stores
        self.request, self.look, self.schema = request, look, schema_of_rows(request)
        key, value = schemas(self.store)
        self._key, self._value, self._old = _Side(key), _Side(value), _Side(value)

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield typed batches, problems in the form of the mode, and the misfits last."""
        yield from self._problems(self.request.listed)
        for batch in self._raw_batches():
            if batch.column("kind")[0].as_py() == "problem":
                yield from self._problems(map(Problem.from_row, batch.to_pylist()))
            else:
                yield self._batch(batch)
        misfits = self._key.misfits + self._value.misfits
        if misfits:
            store_id = self.request.task.store_id(self.store)
            folder = self.store.files[0].path.rpartition("/")[0]
            message = (
                f"keys or values that do not match the schema and are shown as null: {misfits}; "
                f"inspector verify lists them"
            )
            yield from self._problems([Problem("bad-row", message, folder, store=store_id)])

    def _raw_batches(self) -> Iterator[pa.RecordBatch]:
        """Return the batches with undecoded keys and values; none for live rows of version 0."""
        task = self.request.task
        if not self.request.changes and not task.version:
            return iter(())
        return self.look(task, self._changes if self.request.changes else rows_of)

    def _changes(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the raw changes of a task from the first requested version on, with old values."""
        first = self.request.first_version
        return changes_of(ChangesTask(task, first_version=first, old_values=True))

    def _problems(self, problems: Iterable[Problem]) -> Iterator[pa.RecordBatch]:
        """Yield problems as rows of the table, in the form of the mode."""
        return problem_batches(self.schema, self.request.mode, problems)

    def _batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a raw batch with decoded keys and values, in the schema of the request."""
        pc = compute()
        columns: dict[str, Any] = {name: batch.column(name) for name in batch.schema.names}
        keys, values, rows = columns["key"], columns["value"], batch.num_rows
        columns |= {
            "operator_name": repeat_value(self.request.operator_name, rows),
            "batch_id": pc.subtract(columns["version"], 1),
            "key_bytes": pc.binary_length(keys),
            "value_bytes": pc.binary_length(values),
            "key": self._decode("key", self._key, keys),
            "value": self._decode("value", self._value, values),
            "key_row": keys,
            "value_row": values,
            "problem": pa.nulls(rows, pa.string()),
        }
        if not self.request.changes:
            columns["row_bytes"] = pc.add(columns["key_bytes"], columns["value_bytes"])
            # A timer that never fires may be later than the latest timestamp.
            clocks = pc.max_element_wise(
                pc.min_element_wise(columns["expires_at_ms"], _MAX_MS, skip_nulls=False),
                -_MAX_MS,
                skip_nulls=False,
            )
            columns["expires_at"] = pc.multiply(clocks, 1000).cast(pa.timestamp("us", "UTC"))
        else:
            is_known = pc.is_in(columns["event"], pa.array(_KNOWN))
            is_same = pc.equal(columns["event"], pa.scalar("same_value"))
            columns["same_value"] = pc.if_else(is_known, is_same, pa.scalar(None, pa.bool_()))
            columns["old_value_row"] = columns["old_value"]
            # The value was reported when it was put: a misfit is not reported again.
            columns["old_value"] = self._decode("old_value", self._old, columns["old_value"])
        arrays = [
            columns[f.name] if columns[f.name].type == f.type else columns[f.name].cast(f.type)
            for f in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _decode(self, name: str, side: _Side, rows: Any) -> Any:
        """Return a column of binary rows decoded, or nulls if the request leaves it undecoded."""
        if name in self.request.undecoded:
            nulls: Any = pa.nulls
            return nulls(len(rows), side.type)
        return side.decode(rows)


# --- rows of a query that runs -------------------------------------------------------------------
# They are given away while they are read, and cannot be taken back. So a store is read again where
# what looks like damage comes before its first row. Where files went behind that, or the version as
# a whole, nothing is damaged, and nothing whole can be given either: that ends the reading.


def look_again(
    task: T,  # what is read
    read: Callable[[T], Iterator[pa.RecordBatch]],  # emits batches with the column ``kind``
    *,
    # the same by a new listing, which confirms that files are still there whose paths are given;
    # raises OutpacedError where they are not
    again: Callable[[T, Sequence[str]], T],
    looks: int,  # number of new listings at most
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a task; if files vanish before any row, list and read it again.

    ``looks`` is the largest number of new listings. A listing that shows nothing new is the last
    one: the task is read once more, without further looks. After the first batch, or without looks
    left, ``again`` must confirm that the files still exist. Raises OutpacedError as ``again`` does.
    """
    has_yielded = False
    for batch in read(task):
        # Problems, of which a second look may not confirm some.
        is_problem = batch.column("kind")[0].as_py() == "problem"
        doubtful = is_problem and not DOUBTFUL.isdisjoint(batch.column("slug").to_pylist())
        if doubtful and (has_yielded or not looks):
            again(task, [path for path in batch.column("path").to_pylist() if path is not None])
        elif doubtful:
            newer = again(task, ())
            left = looks - 1 if newer != task else 0
            yield from look_again(newer, read, again=again, looks=left)
            return
        has_yielded = True
        yield batch
