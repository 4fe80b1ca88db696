"""Where the bytes of UnsafeRows are: null bits, words, variable parts and padding, field by field.

::

    row   null bits, 8 bytes for every 64 fields | a word of 8 bytes a field | variable parts
    word  the value itself, or le32 size and le32 offset of the variable part, which is padded
          with zeros to whole words
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.sparktypes import SLOT_BYTES, DataType, DecimalType, StructType, storage_type

Int64s = npt.NDArray[np.int64]

_RESERVED = 16
"""Bytes that wide decimals and calendar intervals keep even when they are null
(``UnsafeRowWriter.write(Decimal)``, ``write(CalendarInterval)``)."""


@dataclass(frozen=True)
class FieldBytes:
    """What one top-level field takes in some rows. Adds.

    Attributes:
        nulls: rows in which it is null. word_bytes: its words.
        variable_bytes: its variable parts, nested rows and arrays with all that is in them.
        padding_bytes: zeros behind them, and what is reserved for nulls.
    """

    nulls: int = 0
    word_bytes: int = 0
    variable_bytes: int = 0
    padding_bytes: int = 0

    def __add__(self, other: FieldBytes) -> FieldBytes:
        return FieldBytes(
            self.nulls + other.nulls,
            self.word_bytes + other.word_bytes,
            self.variable_bytes + other.variable_bytes,
            self.padding_bytes + other.padding_bytes,
        )

    @property
    def bytes(self) -> int:
        """All of it, without the null bits, which no field has for itself."""
        return self.word_bytes + self.variable_bytes + self.padding_bytes


@dataclass(frozen=True)
class RowBytes:
    """What some rows of one schema take. Adds; the zero has no fields.

    Attributes:
        rows: that were measured. null_bit_bytes: of their bit sets. fields: by ordinal.
        other_bytes: of rows too short for the schema, and what no field accounts for.
    """

    rows: int = 0
    null_bit_bytes: int = 0
    fields: tuple[FieldBytes, ...] = ()
    other_bytes: int = 0

    def __add__(self, other: RowBytes) -> RowBytes:
        return RowBytes(
            self.rows + other.rows,
            self.null_bit_bytes + other.null_bit_bytes,
            self._fields_with(other),
            self.other_bytes + other.other_bytes,
        )

    def _fields_with(self, other: RowBytes) -> tuple[FieldBytes, ...]:
        if not self.fields or not other.fields:
            return self.fields or other.fields  # of the zero
        return tuple(a + b for a, b in zip(self.fields, other.fields, strict=True))

    @classmethod
    def none(cls, schema: StructType) -> RowBytes:
        """The zero of a schema."""
        return cls(0, 0, (FieldBytes(),) * len(schema.fields))


def measure_rows(schema: StructType, buffer: Any, offsets: Int64s, lengths: Int64s) -> RowBytes:
    """Measure rows; ``bytes`` of everything add up to the rows' lengths.

    Args:
        schema: of the rows.
        buffer: what they lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
    """
    bits = (len(schema.fields) + 63) // 64 * 8
    fixed = bits + SLOT_BYTES * len(schema.fields)
    data = np.frombuffer(buffer, np.uint8)
    fits = lengths >= fixed
    starts, sizes = offsets[fits], lengths[fits]
    fields = []
    for ordinal, field in enumerate(schema.fields):
        null = (data[starts + ordinal // 8] >> (ordinal % 8)) & 1 == 1
        slot = starts + bits + SLOT_BYTES * ordinal
        fields.append(_field(data, slot, null, sizes - fixed, storage_type(field.data_type)))
    told = sum(one.bytes for one in fields) + bits * len(starts)
    other = int(lengths.sum()) - told
    return RowBytes(len(lengths), bits * len(starts), tuple(fields), other)


def _field(
    data: npt.NDArray[np.uint8],
    slot: Int64s,
    null: npt.NDArray[np.bool_],
    room: Int64s,
    kind: DataType,
) -> FieldBytes:
    words = SLOT_BYTES * len(slot)
    if kind.fixed_width is not None or not len(slot):
        return FieldBytes(int(null.sum()), words)
    size = np.zeros(len(slot), np.int64)
    for i in range(4):
        size |= data[slot + i].astype(np.int64) << (8 * i)
    # A size that the row has no room for is another check's finding; here it must not count.
    size = np.where(null | (size > room), 0, size)
    taken = -(-size // SLOT_BYTES) * SLOT_BYTES
    if isinstance(kind, DecimalType) or getattr(kind, "kind", "") == "interval":
        taken = np.minimum(np.maximum(taken, _RESERVED), room)
    return FieldBytes(int(null.sum()), words, int(size.sum()), int((taken - size).sum()))
