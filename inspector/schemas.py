"""Every Arrow schema that crosses the pipeline, and the only constructor of their batches.

``mapInArrow`` matches columns by position and swaps them silently, so no batch is built anywhere
else. Only types that both ``mapInArrow`` and a Python ``DataSource`` accept are used: int32, int64,
binary, string, bool and lists of them; nothing unsigned, dictionary-encoded or of large offsets.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_Columns = list[tuple[str, pa.DataType]]

_STORE: _Columns = [
    ("operator_id", pa.int32()),
    ("store_name", pa.string()),
    ("partition_id", pa.int32()),
    ("version", pa.int64()),
]

_PROBLEM: _Columns = [
    ("slug", pa.string()),
    ("message", pa.string()),
    ("path", pa.string()),
    ("offset", pa.int64()),
]
"""What every batch has for its rows of kind ``problem``."""

PROBLEM = tuple(name for name, _ in (*_STORE, *_PROBLEM))
"""The columns that are given in such a row."""

_task: _Columns = [("task_id", pa.int64()), ("spec", pa.string())]
TASKS = pa.schema(_task)
"""One row per task; ``spec`` is a :class:`inspector.discovery.tasks.Task` as JSON."""

COUNTS = (
    "stores",
    "rebased",
    "rows",
    "key_bytes",
    "value_bytes",
    "puts",
    "inserts",
    "updates",
    "same_value_puts",
    "same_value_put_bytes",
    "removals",
    "absent_removals",
    "new_rows",
    "changed_rows",
    "same_value_rows",
    "removed_rows",
    "shared_rows",
    "shared_keys",
    "shared_key_bytes",
    "shared_value_bytes",
    "previous_row_bytes",
    "delta_bytes",
    "snapshot_bytes",
    "raw_bytes",
)
"""Names of the additive counts of :class:`inspector.facts.versions.VersionFacts`."""

HISTOGRAMS = ("key_sizes", "value_sizes", "row_sizes")

PREFIX_COUNTS = (
    "prefixes",
    "prefix_bytes",
    "new_prefixes",
    "new_prefix_bytes",
    "gone_prefixes",
)
"""Names of the additive counts of :class:`inspector.facts.heap_prefixes.PrefixFacts`."""

FIELD_LISTS = ("nulls", "word_bytes", "variable_bytes", "padding_bytes")
"""Names and order of the additive counts of :class:`inspector.decode.field_sizes.FieldBytes`."""

HABITS = (
    "armed_by_data",
    "unarmed_by_data",
    "changed_by_data",
    "untouched_by_data",
    "timeout_kept",
    "timeout_rearmed",
    "timeout_removed",
    "armed_keys",
)
"""Names of the additive counts of :class:`inspector.facts.timer_runs.TimerCalls`."""

_numbers: _Columns = [(name, pa.int64()) for name in COUNTS]
_lists: _Columns = [(name, pa.list_(pa.int64())) for name in HISTOGRAMS]

_facts: _Columns = [
    ("kind", pa.string()),
    *_STORE,
    *_numbers,
    *_lists,
    *_PROBLEM,
    ("key", pa.binary()),
    ("leftover_class", pa.string()),
    ("certainty", pa.string()),
    ("timeout_kind", pa.string()),
    ("expired_version", pa.int64()),
    ("clock_ms", pa.int64()),
    ("threshold_ms", pa.int64()),
    ("last_put_version", pa.int64()),
    ("fired", pa.int64()),
    ("first_expired_version", pa.int64()),
    ("state_change", pa.string()),
    ("reason", pa.string()),
    ("needs", pa.string()),
    ("kind_version", pa.int64()),
    ("either", pa.bool_()),
    ("window_version", pa.int64()),
    ("first_known", pa.int64()),
    ("oldest_ms", pa.int64()),
    ("newest_ms", pa.int64()),
    *((name, pa.int64()) for name in HABITS),
    ("bad_keys", pa.int64()),
    ("untouched_keys", pa.int64()),
    ("changed_keys", pa.int64()),
    ("empty_keys", pa.int64()),
    *((name, pa.int64()) for name in PREFIX_COUNTS),
    ("set_sizes", pa.list_(pa.int64())),
    ("top_by", pa.string()),
    ("amount", pa.int64()),
    ("matched_rows", pa.int64()),
    ("unmatched_rows", pa.int64()),
    ("side", pa.string()),
    ("null_bit_bytes", pa.int64()),
    ("other_bytes", pa.int64()),
    *((name, pa.list_(pa.int64())) for name in FIELD_LISTS),
]
FACTS = pa.schema(_facts)
"""What a task tells, one row per fact. ``kind`` says which columns are given:

* ``version``: the counts and histograms of one store at one version.
* ``leftover``: one expired key that is still there; ``key_bytes``, ``puts`` ... are its. Where its
  timer may follow either clock, ``timeout_kind`` is the one it was judged by, ``kind_version`` the
  version whose batch has to have used it, ``either`` whether it is a leftover by the other too, and
  ``needs`` what else has to hold (:mod:`inspector.merge.resolution`).
* ``leftovers``: how many and how large those of one class are (``rows``, ``key_bytes``,
  ``value_bytes``; ``expired_version`` of the oldest, the longest run of ``fired``, keys by what
  became of their state), whether or not they are listed.
* ``leftover_age``: how many of them expired at ``expired_version``, and their bytes
  (``value_bytes`` with the keys').
* ``timers``: the timers of a group state did not follow ``timeout_kind`` in the batch of this
  version, as this partition shows.
* ``calls``: under one clock of the timers (``timeout_kind``) the habits of the function, how many
  keys ever had a timer, and the live ones that never had (``rows`` and their bytes).
* ``window``: where the history of the store begins, and the range of its event times.
* ``age``: live rows whose last put is of ``last_put_version`` (0: before the window), and their
  bytes (``value_bytes`` with the keys').
* ``retention``: the oldest event time of a join's side at one version.
* ``prefixes``: of a session window's store at one version; ``set_sizes`` as the histograms are.
* ``rewrites``: ``set_sizes`` tells how many live keys were put in exactly so many of the newest
  versions in a row.
* ``top``: a live key that ranks high by ``top_by``, with the ``amount`` of it.
* ``join``: what is wrong between a join's counters and its rows, and how many rows speak for and
  against a time in the join key (:mod:`inspector.passes.join_times`), by ``slug``.
* ``matched``: live rows of a join's side that have found a partner, and that have not, where the
  rows have such a flag (state format 2).
* ``fields``: what the keys or the values (``side``) of the live ``rows`` take: ``null_bit_bytes``
  and ``other_bytes`` of all, and for each top-level field, by ordinal, its ``nulls`` (rows),
  ``word_bytes``, ``variable_bytes`` and ``padding_bytes``.
* ``problem``: what could not be read: ``slug message path offset``.
"""

_rows: _Columns = [
    ("kind", pa.string()),
    *_STORE,
    ("key", pa.binary()),
    ("value", pa.binary()),
    *_PROBLEM,
]
ROWS = pa.schema(_rows)
"""Live rows (kind ``row``) of one version as the UnsafeRow bytes that Spark holds, and problems."""

_changes: _Columns = [
    ("kind", pa.string()),
    *_STORE,
    ("event", pa.string()),
    ("record", pa.int64()),
    ("old_value_bytes", pa.int64()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("old_value", pa.binary()),
    *_PROBLEM,
]
CHANGES = pa.schema(_changes)
"""Records of deltas (kind ``change``), with what they did (``inspector.state.events``), their
ordinal in the file at ``path`` and the size of the value they replaced, and that value if it was
asked for; and problems."""

_diff: _Columns = [
    ("kind", pa.string()),
    *_STORE,
    ("change", pa.string()),
    ("rows", pa.int64()),
    ("key_bytes", pa.int64()),
    ("old_value_bytes", pa.int64()),
    ("value_bytes", pa.int64()),
    ("key", pa.binary()),
    ("old_value", pa.binary()),
    ("value", pa.binary()),
    *_PROBLEM,
]
DIFF = pa.schema(_diff)
"""Rows in which two versions differ (kind ``row``), problems, and how many rows of each ``change``
there are and their bytes (kind ``count``), whether or not they are listed."""


def record_batch(schema: pa.Schema, columns: Mapping[str, Any], rows: int) -> pa.RecordBatch:
    """A batch of ``schema`` from columns by name; columns not given are null.

    Raises:
        KeyError: if a column is not in the schema: a misspelt name must not become a null.
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
            arrays.append(_array(values, column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def batch_of(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """A batch of ``schema`` from one mapping per row; absent names are null."""
    names = {name for row in rows for name in row}
    return record_batch(
        schema, {name: [row.get(name) for row in rows] for name in names}, len(rows)
    )


def task_batch(spec: str, number: int = 0) -> pa.RecordBatch:
    """A batch of one task, given as JSON."""
    return batch_of(TASKS, [{"task_id": number, "spec": spec}])


_CODES: Mapping[Any, str] = {pa.int32(): "i", pa.int64(): "q"}


def _array(values: Any, kind: Any) -> Any:
    """The array of a list, made without ``pa.array``, which loads all of pandas if it is there."""
    if isinstance(values, np.ndarray):
        return pa.array(values, kind)
    try:
        return _listed(list(values), kind)
    except (AttributeError, TypeError, OverflowError):
        return pa.array(values, kind)  # the words of its error are better


def _listed(values: list[Any], kind: Any) -> Any:
    there = np.array([value is not None for value in values], np.bool_)
    valid = None if there.all() else _bits(there)
    if kind in _CODES:
        numbers = array(_CODES[kind], [0 if value is None else value for value in values])
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(numbers)])
    if pa.types.is_boolean(kind):
        bits = _bits(np.array([value is True for value in values], np.bool_))
        return pa.Array.from_buffers(kind, len(values), [valid, bits])
    parts: list[Any] = [() if value is None else value for value in values]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        text = pa.types.is_string(kind)
        parts = [
            b"" if part is None else part.encode() if text else memoryview(part) for part in values
        ]
    ends = array("i", accumulate(map(len, parts), initial=0))
    if pa.types.is_list(kind):
        child = _listed([each for part in parts for each in part], kind.value_type)
        buffers = [valid, pa.py_buffer(ends)]
        return pa.Array.from_buffers(kind, len(values), buffers, children=[child])
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def _bits(flags: Any) -> Any:
    return pa.py_buffer(np.packbits(flags, bitorder="little").tobytes())


def spans_of(column: Any) -> tuple[Any, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The values of a binary column as spans: the buffer that holds them, offsets and lengths."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    starts = ends.astype(np.int64)
    return column.buffers()[2] or b"", starts[:-1], np.diff(starts)
