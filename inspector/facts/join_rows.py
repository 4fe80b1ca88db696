"""Contradictions between the stores of a join's side, and its rows against a time in the join key.

``SymmetricHashJoinStateManager`` keeps both stores in step: a key has the indices 0 to count - 1.
Rows without a counter are never joined and never removed; a counter without rows keeps its key for
ever.

Join keys lose their metadata in the state schema. Only the rows show which time in the key carries
the watermark (:mod:`inspector.operators.join`): by their contents, and by when they were removed.
They never prove a leftover: a row that exists although the watermark has passed its time shows that
the key does not carry the watermark. Until then a copy of the event time looks the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from inspector.arrays import Int64s, chunks, concatenate, distinct
from inspector.decode.row_columns import Int64Path
from inspector.facts.fact import Fact, StoreSum, fact
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock
from inspector.operators.rule import ExpiryField
from inspector.sparktypes import StructType
from inspector.state.change import Change
from inspector.state.replay import NO_CLOCK, StateMap
from inspector.sums import Sums, first_non_zero, sum_by

if TYPE_CHECKING:
    from inspector.kernel.loader import Interner

WORD = 8  # bytes of a word of an UnsafeRow
ROWS_AT_ONCE = 1 << 16  # rows that are read from a map at once


@fact("join_check")
@dataclass(frozen=True)
class JoinCheck(StoreSum):
    """Contradictions between the two stores of one side of a join. Adds up; the zero is empty."""

    missing_rows: int = 0  # indices below a counter for which no row exists
    counters_without_rows: int = 0  # counters above zero whose key has no row
    dangling_rows: int = 0  # rows at or above their key's counter, or of keys without one
    rows: int = 0  # live rows of the side


@fact("matched")
@dataclass(frozen=True)
class MatchedRows(StoreSum):
    """Live rows of a join's side that have, or have not, found a partner. Adds up."""

    # Rows have the flag in state format 2 (SymmetricHashJoinStateManager, Spark 3.0 and later).

    matched: int = 0  # rows with a partner
    unmatched: int = 0  # rows without a partner


@fact("matched_puts")
@dataclass(frozen=True)
class MatchedPuts(MatchedRows):
    """All rows that were put, removed ones included, with or without a partner. Adds up."""


def compare_side(counters: StateMap, rows: StateMap, row_key: StructType) -> JoinCheck:
    """Return the contradictions between one side's counters and its rows.

    The clock of the map ``counters`` is the counted number; ``row_key`` is the key schema of
    ``rows``.
    """
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
    """Return the contradictions between a side's index and its rows in state format 4.

    The index (``tsWithKey``) and the rows must have the same keys.
    """
    # These are tsWithKey and keyWithTsToValues, both with the place of each value.
    keys = kernel().Interner()
    entries = np.flatnonzero(index.live[: len(index)])
    _intern(keys, index, entries)
    all_ids = np.flatnonzero(rows.live[: len(rows)])
    old_count = len(keys)
    _intern(keys, rows, all_ids)
    common = len(all_ids) - (len(keys) - old_count)
    return JoinCheck(
        missing_rows=len(entries) - common, dangling_rows=len(all_ids) - common, rows=len(all_ids)
    )


def _intern(keys: Interner, state: StateMap, ids: Int64s) -> None:
    """Number the keys of some ids of a map."""
    for chunk in chunks(ids, ROWS_AT_ONCE):
        data, ends = state.join_keys(chunk)
        keys.intern(data, ends[:-1], np.diff(ends), np.empty(len(chunk), np.int64))


def number_rows(keys: Interner, words: Int64s) -> Int64s:
    """Return the numbers of rows of one size; ``words`` has one row in each line.

    Rows that are new to ``keys`` get the next numbers.
    """
    count, length = len(words), words.shape[1] * WORD
    numbers, positions = np.empty(count, np.int64), np.arange(count, dtype=np.int64)
    keys.intern(words.tobytes(), positions * length, np.full(count, length, np.int64), numbers)
    return numbers


def min_size(schema: StructType) -> int:
    """Return the bytes that null bits and slots of a row of the schema take, its least size."""
    fields = len(schema.fields)
    return ((fields + 63) // 64 + fields) * WORD


def without_index(
    state: StateMap, ids: Int64s, schema: StructType
) -> Iterator[tuple[Int64s, Int64s | None, Int64s]]:
    """Yield keys without their last field, in chunks of keys of one size.

    Each item has ids, the words of each key as Spark writes it without the field (a key in each
    line), and the values of the field. The words are None if these keys are no rows of the schema.
    """
    # Sorted by size, so that most chunks have one size. The map has no record of a key that no
    # version put.
    order = ids[np.argsort(state.key_size[ids], kind="stable")]
    cuts = np.flatnonzero(np.diff(state.key_size[order])) + 1
    for chunk in (part for group in np.split(order, cuts) for part in chunks(group, ROWS_AT_ONCE)):
        data, ends = state.join_keys(chunk)
        sizes = np.diff(ends)
        for size in distinct(sizes).tolist():
            alike = chunk[sizes == size]
            if not schema.fields or size % WORD or size < min_size(schema):
                yield alike, None, alike
                continue
            raw = data if len(alike) == len(chunk) else state.join_keys(alike)[0]
            words = np.frombuffer(raw, "<i8").reshape(len(alike), size // WORD)
            yield alike, *cut_index(words, schema)


def cut_index(words: Int64s, schema: StructType) -> tuple[Int64s, Int64s]:
    """Return rows in the layout without their last field, and that field's values.

    ``words`` has one row in each line; ``schema`` includes the last field.
    """
    fields = len(schema.fields)
    old_bits, new_bits = (fields + 63) // 64, (fields - 1 + 63) // 64
    slots = words[:, old_bits : old_bits + fields - 1].copy()
    shift = np.int64((old_bits - new_bits + 1) * WORD) << np.int64(32)
    for ordinal, column in enumerate(schema.fields[:-1]):
        if column.data_type.slot_width is None:
            # A slot without an offset is a null; one with it moves with its bytes.
            moved = slots[:, ordinal] >> 32 != 0
            slots[moved, ordinal] -= shift
    indices = words[:, old_bits + fields - 1]
    tail = words[:, old_bits + fields :]
    return np.hstack([words[:, :new_bits], slots, tail]), indices


@fact("key_time_votes")
@dataclass(frozen=True)
class KeyTimeVotes(Sums, Fact):
    """Rows of a join's side whose event time equals one time in the key, or not. Adds up."""

    # ordinals of that time's field, from the key row inwards
    path: tuple[int, ...] = sum_by(first_non_zero, ())
    same: int = 0  # rows whose event time equals it
    # rows whose event time differs from it; a row that lacks both times is in neither count
    other: int = 0
    covered: int = 0  # rows that should be gone if that time carried the watermark

    def merge_key(self, _version: int) -> tuple[int, ...]:
        """Return the field's path: facts about one field of the key add up."""
        return self.path

    @classmethod
    def observe(
        cls, rows: StateMap, schema: StructType, field: ExpiryField, watermark_ms: int
    ) -> KeyTimeVotes:
        """Count the live rows of ``keyWithIndexToValue``; the map's clock is their event time.

        ``schema`` is the schema of the keys, ``field`` the time in them. ``watermark_ms`` is the
        watermark of the batch that made the version; 0 if it has none or its log entry is gone.
        """
        path = Int64Path(schema, field.path)
        all_ids = np.flatnonzero(rows.live[: len(rows)])
        equal_rows = other_rows = covered = 0
        for chunk in chunks(all_ids, ROWS_AT_ONCE):
            result, valid = path.read(*concatenate(rows.keys(chunk)))
            values = np.where(valid, result, NO_CLOCK)
            if watermark_ms:
                covered += int((valid & (result <= watermark_ms * field.per_ms)).sum())
            if rows.tracking.clock is not None:
                equal = values == rows.clock[chunk]
                equal_rows += int((equal & valid).sum())
                other_rows += int((~equal).sum())
        return cls(field.path, equal_rows, other_rows, covered)


@fact("rows_timed_by_key")
@dataclass(frozen=True)
class RowsTimedByKey(StoreSum):
    """Live rows of a join's side whose event time equals a time in the join key. Adds up."""

    rows: int = 0  # rows of the time that most rows agree with, by partition


@fact("rows_timed_in_range")
@dataclass(frozen=True)
class RowsTimedInRange(Fact):
    """Live rows of a key range whose event time equals each time in the join key.

    All ranges together decide which time has most rows.
    """

    # number of rows for each time of the key, in the order of the fields
    rows: tuple[int, ...] = ()


@fact("removed_rows")
@dataclass(frozen=True)
class RemovedRows(StoreSum):
    """Rows of a join's side, or timers, that were removed, by whether they were due. Adds up."""

    on_time: int = 0  # removed by the first batch whose watermark had passed them
    # rows removed at another time, or without a time; none if the watermark is on the join key,
    # because every batch then removes the rows that its own watermark has passed
    off_time: int = 0
    early: int = 0  # of these, rows whose time had not come yet

    @classmethod
    def observe(
        cls,
        change: Change,  # of the version; of one that a snapshot gave nothing is known
        state: StateMap,  # the map after it
        event_time: ExpiryField,  # the clock that the map follows
        batch: BatchClock | None,  # of the version; without its clock nothing is counted
        # the batch before it; without one no row is known to have been covered sooner
        previous: BatchClock | None,
    ) -> RemovedRows:
        """Count the rows that one version removed; none if its batch's clock is not known."""
        now_ms, previous_ms = (
            None if clock is None else event_time.clock.time_ms(clock)
            for clock in (batch, previous)
        )
        if change.rebased or now_ms is None:
            return cls()
        touched = state.list_touched_keys()
        times = touched.was_clock[touched.was_live & ~touched.now_live]
        good = (times != NO_CLOCK) & (times <= now_ms * event_time.per_ms)
        early = times > now_ms * event_time.per_ms
        if previous_ms:
            good &= times > previous_ms * event_time.per_ms
        return cls(int(good.sum()), int((~good).sum()), int(early.sum()))
