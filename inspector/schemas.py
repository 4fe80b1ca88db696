"""The Arrow schemas of tasks and of rows, and the constructors of their batches.

``mapInArrow`` matches columns by position and swaps them silently, so no batch is built column by
column anywhere else, except for facts, whose schema their declarations give
(:mod:`inspector.facts.registry`). Only types that both ``mapInArrow`` and a Python ``DataSource``
accept are used: int32, int64, binary, string, bool, and lists and structs of them; nothing
unsigned, dictionary-encoded or of large offsets.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.model import Problem

_Columns = list[tuple[str, pa.DataType]]  # names and types of columns


def _columns(kind: pa.DataType, *names: str) -> _Columns:
    """Return columns of one type with these names."""
    return [(name, kind) for name in names]


STORE_COLUMNS: _Columns = [
    ("operator_id", pa.int32()),
    ("store_name", pa.string()),
    ("partition_id", pa.int32()),
    ("version", pa.int64()),
]
"""Which store and version a row is about."""

_PROBLEM = [*_columns(pa.string(), "slug", "message", "path"), ("offset", pa.int64())]
"""What every batch has for its rows of kind ``problem``."""

PROBLEM = tuple(name for name, _ in (*STORE_COLUMNS, *_PROBLEM))
"""The columns that are given in such a row."""

_task: _Columns = [("task_id", pa.int64()), ("spec", pa.string())]  # columns of :data:`TASKS`
# one row for each task; ``spec`` is :class:`.discovery.tasks.Task` as JSON
TASKS = pa.schema(_task)

_start = [*_columns(pa.string(), "kind"), *STORE_COLUMNS]  # first columns of rows
# columns of :data:`ROWS`
_rows = [
    *(*_start, *_columns(pa.binary(), "key", "value")),
    *(*_columns(pa.int64(), "expires_at_ms", "last_put_batch"), *_PROBLEM),
]
ROWS = pa.schema(_rows)
"""Live rows (kind ``row``) of one version as the UnsafeRow bytes that Spark holds, and problems.

``expires_at_ms`` is the first clock (epoch ms) at which the store's rule removes the row; null if
no rule is known or the row has no such time. ``last_put_batch`` is null if a snapshot has the row.
"""

# columns of :data:`CHANGES`
_changes = [
    *(*_start, ("event", pa.string()), *_columns(pa.int64(), "record", "old_value_bytes")),
    *(*_columns(pa.binary(), "key", "value", "old_value"), *_PROBLEM),
]
CHANGES = pa.schema(_changes)
"""Records of deltas (kind ``change``), with what they did (``inspector.state.events``), their
ordinal in the file at ``path`` and the size of the value they replaced, and that value if it was
asked for; and problems."""

# columns of :data:`DIFF`
_diff = [
    *(*_start, ("change", pa.string())),
    *_columns(pa.int64(), "rows", "key_bytes", "old_value_bytes", "value_bytes"),
    *(*_columns(pa.binary(), "key", "old_value", "value"), *_PROBLEM),
]
DIFF = pa.schema(_diff)
"""Rows in which two versions differ (kind ``row``), problems, and how many rows of each ``change``
there are and their bytes (kind ``count``), whether or not they are listed."""


def record_batch(schema: pa.Schema, columns: Mapping[str, Any], rows: int) -> pa.RecordBatch:
    """Return a batch of ``schema`` from columns by name; absent columns are null.

    Raises KeyError for a column that the schema does not have.
    """
    unknown = set(columns) - set(schema.names)
    if unknown:
        raise KeyError(f"columns {sorted(unknown)} are not in the schema")
    arrays = []
    for column in schema:
        values = columns.get(column.name)
        if values is None:
            arrays.append(pa.nulls(rows, column.type))
        elif isinstance(values, pa.Array):
            arrays.append(values.cast(column.type))
        else:
            arrays.append(array_of(values, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def batch_of(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return a batch of ``schema`` from one mapping per row; absent names are null."""
    columns = {name: [row.get(name) for row in rows] for name in {n for row in rows for n in row}}
    return record_batch(schema, columns, len(rows))


def problem_batch(schema: pa.Schema, problems: Iterable[Problem]) -> pa.RecordBatch:
    """Return problems as a batch of rows of kind ``problem``.

    The schema must have the columns :data:`PROBLEM`.
    """
    return batch_of(schema, [{"kind": "problem"} | problem.to_row() for problem in problems])


def task_batch(spec: str, number: int = 0) -> pa.RecordBatch:
    """Return a batch of one task, which is given as JSON."""
    return batch_of(TASKS, [{"task_id": number, "spec": spec}])


def specs_in(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Yield the JSON of each task in batches of :data:`TASKS`."""
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield str(spec)


def compute() -> Any:
    """Return the module ``pyarrow.compute``, which is slow to import and seldom needed."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as the docstring says

    return pc


# type codes of Python arrays for Arrow types
_CODES: Mapping[Any, str] = {pa.int32(): "i", pa.int64(): "q"}

# Arrow type for values of a Python type
_KINDS: Mapping[type, Any] = {int: pa.int64(), str: pa.string(), bytes: pa.binary()}


def array_of(values: Any, kind: Any) -> Any:
    """Return a list or numpy array as an Arrow array; unlike ``pa.array``, without pandas."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and kind == pa.int64():
        return int64_array(values)
    try:
        return _from_list(list(values), kind)
    except (AttributeError, TypeError, OverflowError):
        return pa.array(values, kind)  # the words of its error are better


def int64_array(numbers: Any, valid: Any = None) -> Any:
    """Return whole numbers of numpy as an Arrow array of 64-bit numbers.

    It shares the memory of ``numbers`` if these are contiguous and of 64 bits. ``valid`` has one
    boolean for each number, False for null; None means that no number is null. Unlike ``pa.array``
    this does not load pandas.
    """
    bits = None if valid is None or valid.all() else _bits(valid)
    data: Any = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [bits, pa.py_buffer(data)])


def repeat_value(value: Any, rows: int) -> Any:
    """Return an Arrow array with the same value in each of ``rows`` rows.

    ``value`` is a number, text or bytes. Unlike ``pa.scalar`` this does not load pandas.
    """
    kind = next(kind for python, kind in _KINDS.items() if isinstance(value, python))
    return pa.repeat(array_of([value], kind)[0], rows)


def parts_of(
    batch: pa.RecordBatch, keys: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """Yield the rows of a batch grouped by some columns: the values of these, and their rows."""
    values = list(zip(*(batch.column(name).to_pylist() for name in keys), strict=True))
    for value in dict.fromkeys(values):
        if values.count(value) == len(values):
            yield value, batch
        else:
            rows = [row for row, own_value in enumerate(values) if own_value == value]
            yield value, batch.take(array_of(rows, pa.int64()))


def _from_list(values: list[Any], kind: Any) -> Any:
    """Return a list as an Arrow array, made from buffers.

    Raises AttributeError, TypeError or OverflowError for values of another type.
    """
    if kind in _CODES:
        code = _CODES[kind]
        try:
            numbers, valid = array(code, values), None
        except TypeError:
            numbers = array(code, [0 if value is None else value for value in values])
            valid = validity(values)
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(numbers)])
    valid = validity(values)
    if pa.types.is_boolean(kind):
        bits = _bits(np.array([value is True for value in values], np.bool_))
        return pa.Array.from_buffers(kind, len(values), [valid, bits])
    parts: list[Any] = [() if value is None else value for value in values]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        convert = str.encode if pa.types.is_string(kind) else memoryview
        parts = [b"" if part is None else convert(part) for part in values]
    ends = array("i", accumulate(map(len, parts), initial=0))
    if pa.types.is_list(kind):
        child = _from_list([item for part in parts for item in part], kind.value_type)
        buffers = [valid, pa.py_buffer(ends)]
        return pa.Array.from_buffers(kind, len(values), buffers, children=[child])
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def validity(values: Sequence[Any]) -> Any:
    """Return Arrow's bitmap of the values that are not None; None if all are there."""
    present = np.array([value is not None for value in values], np.bool_)
    return None if present.all() else _bits(present)


def _bits(flags: Any) -> Any:
    """Return booleans as a buffer of bits."""
    return pa.py_buffer(np.packbits(flags, bitorder="little").tobytes())


def numbers_of(column: Any, kind: Any = np.int64) -> npt.NDArray[Any]:
    """Return the numbers of an Arrow column without nulls, without a copy and without pandas."""
    return np.frombuffer(column.buffers()[1] or b"", kind)[column.offset :][: len(column)]


def spans_of(column: Any) -> tuple[Any, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the buffer of a binary column, and the offset and the length of each value in it."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    starts = ends.astype(np.int64)
    return column.buffers()[2] or b"", starts[:-1], np.diff(starts)
