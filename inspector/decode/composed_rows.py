"""UnsafeRows composed from parts of other rows, all rows of a block at once.

RocksDB's keys are arranged for scans: a prefix of the columns apart from the rest, or a time in
front. The rows made here equal, byte for byte, those that Spark restores by a projection
(``PrefixKeyScanStateEncoder.decodeKey``), laid out as by ``UnsafeRowWriter``: null bits, a slot for
each field, then the variable parts one after the other, each in whole words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from inspector.arrays import Bools, Int64s, UInt64s
from inspector.decode._cells import WORD, bitset_bytes, bytes_to_reserve, numbers_at
from inspector.exceptions import RowError
from inspector.light_dataclasses import dataclass
from inspector.sparktypes import DataType, storage_type

_BITS = 64  # null bits in a word


@dataclass(frozen=True, eq=False)
class Column:
    """One field of all rows."""

    slots: UInt64s  # its 8 bytes; for a field of variable size, its size in bytes
    null: Bools  # True if it is null
    offsets: Int64s | None = None  # where its bytes start, for a field of variable size; else None
    # bytes of whole words that it takes, 0 without a value; None for a field of fixed size
    room: Int64s | None = None

    def select(self, rows: Int64s) -> Column:
        """Return the field of the rows at these indexes, in any order and number."""
        if self.offsets is None or self.room is None:
            return Column(self.slots[rows], self.null[rows])
        return Column(self.slots[rows], self.null[rows], self.offsets[rows], self.room[rows])


class Rows(NamedTuple):
    """Rows that were made."""

    data: bytes  # bytes of all rows
    offsets: Int64s  # where each row starts
    lengths: Int64s  # bytes of each row


def constant(values: Int64s) -> Column:
    """Return a field of 8 bytes with these values, never null."""
    return Column(values.astype(np.uint64), np.zeros(len(values), np.bool_))


def columns_of(
    buffer: bytes, offsets: Int64s, lengths: Int64s, types: Sequence[DataType]
) -> list[Column]:
    """Return the fields, of these types, of rows in a buffer. RowError: a row does not fit."""
    bits = bitset_bytes(len(types))
    min_bytes = bits + WORD * len(types)
    _require((lengths >= min_bytes) & (lengths % WORD == 0), offsets, "a row without room")
    result = []
    for ordinal, data_type in enumerate(types):
        slots = numbers_at(buffer, "<u8", offsets + (bits + WORD * ordinal))
        null_words = numbers_at(buffer, "<u8", offsets + WORD * (ordinal // _BITS))
        null = (null_words >> np.uint64(ordinal % _BITS)) & np.uint64(1) != 0
        if storage_type(data_type).slot_width is not None:
            result.append(Column(slots, null))
            continue
        starts = (slots >> np.uint64(32)).astype(np.int64)
        sizes = (slots & np.uint64(0xFFFFFFFF)).astype(np.int64)
        room = (sizes + WORD - 1) // WORD * WORD
        room[starts == 0] = 0
        if reserved := bytes_to_reserve(data_type):
            room[starts != 0] = reserved
        inside = (starts >= min_bytes) & (room <= lengths - starts) & (sizes <= room)
        _require(inside | (room == 0), offsets, "a field outside of its row")
        result.append(Column(sizes.astype(np.uint64), null, offsets + starts, room))
    return result


def compose_rows(buffer: bytes, columns: Sequence[Column], count: int) -> Rows:
    """Return ``count`` rows with these fields in this order; ``buffer`` has the variable parts."""
    bits = bitset_bytes(len(columns)) // WORD
    lengths = np.full(count, bits + len(columns), np.int64)
    for room in (column.room for column in columns if column.room is not None):
        lengths += room // WORD
    starts = np.cumsum(lengths) - lengths
    output = np.zeros(int(lengths.sum()), np.uint64)
    cursor = np.full(count, bits + len(columns), np.int64)
    for ordinal, column in enumerate(columns):
        if column.null.any():
            bit = column.null.astype(np.uint64) << np.uint64(ordinal % _BITS)
            output[starts + ordinal // _BITS] |= bit
        slots = column.slots
        if column.offsets is not None and column.room is not None:
            has = column.room > 0
            pointers = (cursor * WORD).astype(np.uint64) << np.uint64(32)
            slots = np.where(has | ~column.null, pointers | column.slots, column.slots)
            _copy(buffer, column.offsets, column.room // WORD, output, starts + cursor)
            cursor = cursor + column.room // WORD
        output[starts + bits + ordinal] = slots
    return Rows(output.tobytes(), starts * WORD, lengths * WORD)


def _copy(buffer: bytes, offsets: Int64s, words: Int64s, output: UInt64s, targets: Int64s) -> None:
    """Copy words from offsets of a buffer to positions in the output."""
    total = int(words.sum())
    if not total:
        return
    max_words = int(words.max())
    if max_words <= 8:  # fields of a few words: word by word through all rows
        for position in range(max_words):
            rows: Any = (
                slice(None) if position < int(words.min()) else np.flatnonzero(words > position)
            )
            output[targets[rows] + position] = numbers_at(
                buffer, "<u8", offsets[rows] + position * WORD
            )
        return
    starts = np.cumsum(words) - words
    word_index = np.arange(total, dtype=np.int64) - np.repeat(starts, words)
    word_offsets = np.repeat(offsets, words) + word_index * WORD
    output[np.repeat(targets, words) + word_index] = numbers_at(buffer, "<u8", word_offsets)


def _require(good: Bools, offsets: Int64s, fault: str) -> None:
    """Raise RowError, with the offset of the first row that is not good, unless all are."""
    if not good.all():
        raise RowError(f"{fault} (offset in its block)", offset=int(offsets[int(np.argmin(good))]))
