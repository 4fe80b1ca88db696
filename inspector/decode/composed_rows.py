"""UnsafeRows put together from parts of others, all rows of a block at once.

RocksDB's keys are arranged for scans: a prefix of the columns apart from the rest, or a time in
front. Spark restores the row by a projection (``PrefixKeyScanStateEncoder.decodeKey``), and what
comes out is laid out as ``UnsafeRowWriter`` lays out every row: null bits, a slot for each field,
then the variable parts one after the other, each on a whole word. The rows made here are the same,
byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s, UInt64s
from inspector.exceptions import RowError
from inspector.sparktypes import AtomicType, DataType, DecimalType, storage_type

_WORD = 8
_BITS = 64
_RESERVED = 16
"""Bytes that a large decimal or an interval has, null or not, and whatever it needs."""
_FEW_WORDS = 8


@dataclass(frozen=True, eq=False)
class Column:
    """One field of every row.

    Attributes:
        slots: its 8 bytes; of a field of variable size, its size in bytes.
        offsets: of a field of variable size: where its bytes start.
        room: and how many it takes, whole words; 0 where it has none.
    """

    slots: UInt64s
    null: Bools
    offsets: Int64s | None = None
    room: Int64s | None = None

    def select(self, rows: Int64s) -> Column:
        """The field of some of the rows, in any order and number."""
        if self.offsets is None or self.room is None:
            return Column(self.slots[rows], self.null[rows])
        return Column(self.slots[rows], self.null[rows], self.offsets[rows], self.room[rows])


class Rows(NamedTuple):
    """Rows that were made: their bytes, and where each lies in them."""

    data: bytes
    offsets: Int64s
    lengths: Int64s


def constant(values: Int64s) -> Column:
    """A field of 8 bytes that is never null."""
    return Column(values.astype(np.uint64), np.zeros(len(values), np.bool_))


def columns_of(
    buffer: bytes, offsets: Int64s, lengths: Int64s, types: Sequence[DataType]
) -> list[Column]:
    """The fields of some rows.

    Args:
        buffer: what the rows lie in.
        offsets: where each starts.
        lengths: its bytes.
        types: of its fields.

    Raises:
        RowError: a row has no room for its fields, or a variable part lies outside of it; with the
            offset of the row in the buffer.
    """
    bits = null_bytes(len(types))
    least = bits + _WORD * len(types)
    _require((lengths >= least) & (lengths % _WORD == 0), offsets, "a row without room")
    words = _words(buffer)
    result = []
    for ordinal, data_type in enumerate(types):
        slots = words[offsets + (bits + _WORD * ordinal)]
        null_words = words[offsets + _WORD * (ordinal // _BITS)]
        null = (null_words >> np.uint64(ordinal % _BITS)) & np.uint64(1) != 0
        if storage_type(data_type).fixed_width is not None:
            result.append(Column(slots, null))
            continue
        starts = (slots >> np.uint64(32)).astype(np.int64)
        sizes = (slots & np.uint64(0xFFFFFFFF)).astype(np.int64)
        room = (sizes + _WORD - 1) // _WORD * _WORD
        room[starts == 0] = 0
        if _is_reserved(data_type):
            room[starts != 0] = _RESERVED
        inside = (starts >= least) & (room <= lengths - starts) & (sizes <= room)
        _require(inside | (room == 0), offsets, "a field outside of its row")
        result.append(Column(sizes.astype(np.uint64), null, offsets + starts, room))
    return result


def null_bytes(fields: int) -> int:
    """Bytes of the null bits of so many fields."""
    return (fields + _BITS - 1) // _BITS * _WORD


def compose_rows(buffer: bytes, columns: Sequence[Column], count: int) -> Rows:
    """Rows of these fields, in this order."""
    bits = null_bytes(len(columns)) // _WORD
    lengths = np.full(count, bits + len(columns), np.int64)
    for column in columns:
        if column.room is not None:
            lengths += column.room // _WORD
    starts = np.cumsum(lengths) - lengths
    out = np.zeros(int(lengths.sum()), np.uint64)
    source = _words(buffer)
    cursor = np.full(count, bits + len(columns), np.int64)
    for ordinal, column in enumerate(columns):
        if column.null.any():
            bit = column.null.astype(np.uint64) << np.uint64(ordinal % _BITS)
            out[starts + ordinal // _BITS] |= bit
        slots = column.slots
        if column.offsets is not None and column.room is not None:
            has = column.room > 0
            at = (cursor * _WORD).astype(np.uint64) << np.uint64(32)
            slots = np.where(has | ~column.null, at | column.slots, column.slots)
            _copy(source, column.offsets, column.room // _WORD, out, starts + cursor)
            cursor = cursor + column.room // _WORD
        out[starts + bits + ordinal] = slots
    return Rows(out.tobytes(), starts * _WORD, lengths * _WORD)


def _copy(source: UInt64s, offsets: Int64s, words: Int64s, out: UInt64s, targets: Int64s) -> None:
    """Copy so many words of each row."""
    total = int(words.sum())
    if not total:
        return
    most = int(words.max())
    if most <= _FEW_WORDS:
        # Fields of a few words: word by word through all rows.
        for at in range(most):
            rows: Any = slice(None) if at < int(words.min()) else np.flatnonzero(words > at)
            out[targets[rows] + at] = source[offsets[rows] + at * _WORD]
        return
    before = np.cumsum(words) - words
    within = np.arange(total, dtype=np.int64) - np.repeat(before, words)
    out[np.repeat(targets, words) + within] = source[np.repeat(offsets, words) + within * _WORD]


def _words(buffer: bytes) -> UInt64s:
    """The 8 bytes from every offset on as a number; of offsets that have so many."""
    room = max(len(buffer) - _WORD + 1, 0)
    result: npt.NDArray[np.uint64] = np.ndarray((room,), "<u8", buffer, strides=(1,))
    return result


def _is_reserved(data_type: DataType) -> bool:
    kind = storage_type(data_type)
    return isinstance(kind, DecimalType) or (
        isinstance(kind, AtomicType) and kind.kind == "interval"
    )


def _require(good: Bools, offsets: Int64s, fault: str) -> None:
    if not good.all():
        raise RowError(f"{fault} (offset in its block)", offset=int(offsets[int(np.argmin(good))]))
