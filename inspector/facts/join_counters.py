"""A join's counters held against its rows: for each join key, the indices 0 to count - 1.

``SymmetricHashJoinStateManager`` keeps both in step. Rows that no counter knows are never joined
and never removed; a counter without rows keeps its key for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from inspector.arrays import Int64s, chunks, distinct
from inspector.facts.fact import StoreSum, fact
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.sparktypes import StructType
from inspector.state.replay import StateMap

if TYPE_CHECKING:
    from inspector.kernel.loader import Interner

WORD = 8
ROWS_AT_ONCE = 1 << 16


@fact("join_check")
@dataclass(frozen=True)
class JoinCheck(StoreSum):
    """What is wrong between the two stores of one side of a join. Adds; the zero is empty."""

    missing_rows: int = 0  # indices below a counter that no row has
    counters_without_rows: int = 0  # counters above zero of keys without any row
    dangling_rows: int = 0  # rows at or above their key's counter, or of keys without one
    rows: int = 0


@fact("matched")
@dataclass(frozen=True)
class MatchedRows(StoreSum):
    """Live rows of a join's side by whether they have found a partner. Adds; the zero is empty."""

    # Rows have the flag in state format 2 (SymmetricHashJoinStateManager, Spark 3.0 and later).

    # matched, unmatched: rows that have, and that have not
    matched: int = 0
    unmatched: int = 0


@fact("matched_puts")
@dataclass(frozen=True)
class MatchedPuts(MatchedRows):
    """The same of all that was put, which shows partners of rows that are gone too. Adds."""


def compare_side(counters: StateMap, rows: StateMap, row_key: StructType) -> JoinCheck:
    """Hold one side's counters, whose clock is the number, against its rows."""
    keys = kernel().Interner()
    ids = np.flatnonzero(counters.live[: len(counters)])
    _intern(keys, counters, ids)
    counts = np.maximum(counters.clock[ids], 0)
    have = np.zeros(len(ids), np.int64)
    dangling = 0
    all_ids = np.flatnonzero(rows.live[: len(rows)])
    for chunk, words, indices in without_index(rows, all_ids, row_key):
        if words is None:  # they belong to no join key
            dangling += len(chunk)
            continue
        owners = number_rows(keys, words)
        is_known = owners < len(ids)
        good = is_known.copy()
        good[is_known] = (indices[is_known] >= 0) & (indices[is_known] < counts[owners[is_known]])
        np.add.at(have, owners[good], 1)
        dangling += int((~good).sum())
    return JoinCheck(
        missing_rows=int((counts - have).sum()),
        counters_without_rows=int(((counts > 0) & (have == 0)).sum()),
        dangling_rows=dangling,
        rows=len(all_ids),
    )


def compare_index(index: StateMap, rows: StateMap) -> JoinCheck:
    """Hold the index of a side in state format 4 against its rows: each has an entry of its key."""
    # These are tsWithKey and keyWithTsToValues, both with the place of each value.
    keys = kernel().Interner()
    entries = np.flatnonzero(index.live[: len(index)])
    _intern(keys, index, entries)
    all_ids = np.flatnonzero(rows.live[: len(rows)])
    before = len(keys)
    _intern(keys, rows, all_ids)
    common = len(all_ids) - (len(keys) - before)
    return JoinCheck(
        missing_rows=len(entries) - common, dangling_rows=len(all_ids) - common, rows=len(all_ids)
    )


def _intern(keys: Interner, state: StateMap, ids: Int64s) -> None:
    for chunk in chunks(ids, ROWS_AT_ONCE):
        data, ends = state.joined_keys(chunk)
        keys.intern(data, ends[:-1], np.diff(ends), np.empty(len(chunk), np.int64))


def number_rows(keys: Interner, words: Int64s) -> Int64s:
    """The numbers of rows of one size, a row in each line."""
    count, length = len(words), words.shape[1] * WORD
    numbers, at = np.empty(count, np.int64), np.arange(count, dtype=np.int64)
    keys.intern(words.tobytes(), at * length, np.full(count, length, np.int64), numbers)
    return numbers


def least_size(schema: StructType) -> int:
    """Bytes of the null bits and slots of a row."""
    fields = len(schema.fields)
    return ((fields + 63) // 64 + fields) * WORD


def without_index(
    state: StateMap, ids: Int64s, schema: StructType
) -> Iterator[tuple[Int64s, Int64s | None, Int64s]]:
    """Key rows less their last field, as Spark writes them without it; and that field.

    Yields ids of keys of one size, the words of each in a line, and the fields; no words where they
    are no rows of the schema.
    """
    # By size, so that most chunks are of one; of keys that no version put the map knows none.
    order = ids[np.argsort(state.key_size[ids], kind="stable")]
    cuts = np.flatnonzero(np.diff(state.key_size[order])) + 1
    for chunk in (part for group in np.split(order, cuts) for part in chunks(group, ROWS_AT_ONCE)):
        data, ends = state.joined_keys(chunk)
        sizes = np.diff(ends)
        for size in distinct(sizes).tolist():
            alike = chunk[sizes == size]
            if not schema.fields or size % WORD or size < least_size(schema):
                yield alike, None, alike
                continue
            raw = data if len(alike) == len(chunk) else state.joined_keys(alike)[0]
            words = np.frombuffer(raw, "<i8").reshape(len(alike), size // WORD)
            yield alike, *cut_index(words, schema)


def cut_index(words: Int64s, schema: StructType) -> tuple[Int64s, Int64s]:
    """Rows without their last field, a row in each line; and that field."""
    fields = len(schema.fields)
    old_bits, new_bits = (fields + 63) // 64, (fields - 1 + 63) // 64
    slots = words[:, old_bits : old_bits + fields - 1].copy()
    shift = np.int64((old_bits - new_bits + 1) * WORD) << np.int64(32)
    for ordinal, column in enumerate(schema.fields[:-1]):
        if column.data_type.fixed_width is None:
            # A slot without an offset is a null; one with it moves with its bytes.
            moved = slots[:, ordinal] >> 32 != 0
            slots[moved, ordinal] -= shift
    indices = words[:, old_bits + fields - 1]
    tail = words[:, old_bits + fields :]
    return np.hstack([words[:, :new_bits], slots, tail]), indices
