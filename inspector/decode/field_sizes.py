"""Bytes of UnsafeRows by field: null bits, words, variable parts and padding.

::

    row   null bits, 8 bytes for every 64 fields | a word of 8 bytes a field | variable parts
    word  the value itself, or le32 size and le32 offset of the variable part, which is padded
          with zeros to whole words
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s
from inspector.decode._cells import bitset_bytes, bytes_to_reserve, numbers_at
from inspector.light_dataclasses import dataclass
from inspector.sparktypes import SLOT_BYTES, DataType, StructType, storage_type, unique_names
from inspector.sums import Sums, sum_by


@dataclass(frozen=True)
class FieldBytes(Sums):
    """Bytes of one field in some rows. Adds up."""

    nulls: int = 0  # rows in which the field is null
    word_bytes: int = 0  # bytes of its words
    variable_bytes: int = 0  # bytes of its variable parts, nested rows and arrays included
    padding_bytes: int = 0  # zeros after the variable parts, and bytes reserved for nulls

    @property
    def bytes(self) -> int:
        """All its bytes, without the null bits, which belong to no single field."""
        return self.word_bytes + self.variable_bytes + self.padding_bytes


def _add(
    fields: tuple[FieldBytes, ...], more_fields: tuple[FieldBytes, ...]
) -> tuple[FieldBytes, ...]:
    """Return the sums by field; no fields is the zero."""
    if not fields or not more_fields:
        return fields or more_fields  # of the zero
    return tuple(a + b for a, b in zip(fields, more_fields, strict=True))


@dataclass(frozen=True)
class RowBytes(Sums):
    """Bytes of some rows of one schema. Adds up; the zero has no fields."""

    rows: int = 0  # rows that were measured
    null_bit_bytes: int = 0  # bytes of their null bits
    fields: tuple[FieldBytes, ...] = sum_by(_add, ())  # bytes of each field, by ordinal
    # bytes of rows too short for the schema, and bytes that no field accounts for
    other_bytes: int = 0
    # bytes of the fields in structs, in the order of :func:`walk_nested_fields`; the variable parts
    # of the top-level fields include them
    nested: tuple[FieldBytes, ...] = sum_by(_add, ())

    @classmethod
    def empty(cls, schema: StructType) -> RowBytes:
        """Return the zero for a schema: no rows, and all its fields."""
        nested = sum(1 for _ in walk_nested_fields(schema))
        return cls(0, 0, (FieldBytes(),) * len(schema.fields), 0, (FieldBytes(),) * nested)


class NestedField(NamedTuple):
    """A field within a struct."""

    ordinal: int  # ordinal of its top-level field
    name: str  # dotted path, such as ``groupState.pages``
    within: str  # dotted path of its struct
    data_type: DataType  # its type


def walk_nested_fields(schema: StructType) -> Iterator[NestedField]:
    """Yield the fields of structs in a schema, each followed by the fields within it.

    Top-level fields are not yielded. Structs within arrays or maps are not entered.
    """
    for i, (name, field) in enumerate(zip(unique_names(schema.fields), schema.fields, strict=True)):
        yield from _below(i, name, field.data_type)


def _below(ordinal: int, parent: str, data_type: DataType) -> Iterator[NestedField]:
    """Yield the fields below one field whose path is ``parent``."""
    kind = storage_type(data_type)
    if isinstance(kind, StructType):
        for item, field in zip(unique_names(kind.fields), kind.fields, strict=True):
            yield NestedField(ordinal, f"{parent}.{item}", parent, field.data_type)
            yield from _below(ordinal, f"{parent}.{item}", field.data_type)


# receiver of the bytes of a field in each row: its ordinal, and an array
TakeSizes = Callable[[int, Int64s], None]


def measure_rows(
    schema: StructType,
    buffer: Any,
    offsets: Int64s,
    lengths: Int64s,
    take_sizes: TakeSizes | None = None,
) -> RowBytes:
    """Return the bytes of each field in rows of a buffer.

    Together with the bits for nulls and the bytes of no field they add up to ``lengths``.
    ``take_sizes`` gets the ordinal of each top-level field of variable width, and its bytes in each
    row; they are 0 in rows that are too short for the schema.
    """
    data = np.frombuffer(buffer, np.uint8)
    fields, nested = _Fields(data, take_sizes), _Fields(data)
    bits = bitset_bytes(len(schema.fields))
    measured = fields.measure(schema, offsets, lengths, nested)
    unaccounted = int(lengths.sum()) - sum(item.bytes for item in fields.found) - bits * measured
    field_sizes = tuple(fields.found), unaccounted, tuple(nested.found)
    return RowBytes(len(lengths), bits * measured, *field_sizes)


class _Fields:
    """Measures of the fields of rows, in the order in which they were measured."""

    def __init__(self, data: npt.NDArray[np.uint8], take_sizes: TakeSizes | None = None) -> None:
        self._data, self._take_sizes = data, take_sizes
        self.found: list[FieldBytes] = []

    def measure(self, schema: StructType, offsets: Int64s, lengths: Int64s, nested: _Fields) -> int:
        """Measure every field, those in structs by ``nested``, and count the rows that fit."""
        bits = bitset_bytes(len(schema.fields))
        fixed = bits + SLOT_BYTES * len(schema.fields)
        fits = lengths >= fixed
        starts, sizes = offsets[fits], lengths[fits]
        for ordinal, field in enumerate(schema.fields):
            null = (self._data[starts + ordinal // 8] >> (ordinal % 8)) & 1 == 1
            slot = starts + bits + SLOT_BYTES * ordinal
            kind = storage_type(field.data_type)
            field_bytes, padded_size = _field(self._data, slot, null, sizes - fixed, kind)
            self.found.append(field_bytes)
            if self._take_sizes is not None and padded_size is not None:
                row_sizes = np.zeros(len(lengths), np.int64)
                row_sizes[fits] = SLOT_BYTES + padded_size
                self._take_sizes(ordinal, row_sizes)
            if isinstance(kind, StructType):
                where, size = _int32(self._data, slot + 4), _int32(self._data, slot)
                # A nested row that leaves its own is another check's finding.
                inside = ~null & (where >= fixed) & (where + size <= sizes)
                nested.measure(kind, (starts + where)[inside], size[inside], nested)
        return len(starts)


def _int32(data: npt.NDArray[np.uint8], offsets: Int64s) -> Int64s:
    """Return 4-byte numbers at offsets."""
    return numbers_at(data, "<u4", offsets).astype(np.int64)


def _field(
    data: npt.NDArray[np.uint8], slot: Int64s, null: Bools, room: Int64s, kind: DataType
) -> tuple[FieldBytes, Int64s | None]:
    """Return the bytes of a field, and those of its padded variable part in each row.

    ``slot`` is its word, ``room`` each row's variable part. The second is None for a field of a
    fixed width, and without rows.
    """
    words = SLOT_BYTES * len(slot)
    if kind.slot_width is not None or not len(slot):
        return FieldBytes(int(null.sum()), words), None
    size = _int32(data, slot)
    # A size that the row has no room for is another check's finding; here it must not count.
    size = np.where(null | (size > room), 0, size)
    padded_size = -(-size // SLOT_BYTES) * SLOT_BYTES
    if reserved := bytes_to_reserve(kind):
        padded_size = np.minimum(np.maximum(padded_size, reserved), room)
    variable, padding = int(size.sum()), int((padded_size - size).sum())
    return FieldBytes(int(null.sum()), words, variable, padding), padded_size
