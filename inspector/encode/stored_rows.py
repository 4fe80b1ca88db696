"""Writers of UnsafeRows as keys and values of RocksDB; ``decode.encoded_rows`` reads them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from inspector.arrays import concatenate
from inspector.decode.composed_rows import Column, columns_of, compose_rows
from inspector.decode.encoded_rows import FAMILY_BYTES
from inspector.encode.records import Record, row_checksum_of
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import dataclass
from inspector.sparktypes import LONG, StructType
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding

Entry = tuple[bytes, bytes | Sequence[bytes] | None]
"""A key and its value, as UnsafeRows. Several values are a list; None removes the key."""

_ROW_VERSION = b"\x00"  # byte before an UnsafeRow
_MARK_BYTES, _LONG_BYTES = 1, 8  # Bytes of the mark and of the number in an ordered column.
_ROOM = 16  # bytes of one column of an ordered key: its sign mark, its number and padding
_AT_ONCE = 4096  # entries that are encoded at once
# sign bit of a time, which is flipped so that times sort like their bytes
_SIGN = np.uint64(1 << 63)
_TIMED = (KeyEncoding.TIMESTAMP_FIRST, KeyEncoding.TIMESTAMP_LAST)


@dataclass(frozen=True)
class StoredRows:
    """Encoding of the rows of one store in RocksDB."""

    encoder: KeyEncoder  # how its keys are arranged
    schema: StructType | None = None  # schema of the keys; needed if they are rearranged
    family: int | None = None  # number of its column family; None if it has none
    delimiter: bytes = b""  # bytes between two values of a list
    # True if a checksum and the size precede each value, and a checksum the key of a removal
    # (``KeyValueChecksumEncoder``, 4.2 on)
    row_checksum: bool = False

    def records(self, entries: Iterable[Entry]) -> Iterator[Record]:
        """Yield the records of a changelog. DecodeError: such keys cannot be written."""
        left = iter(entries)
        while part := list(islice(left, _AT_ONCE)):
            for key, (_, value) in zip(self._keys([key for key, _ in part]), part, strict=True):
                if value is None:
                    yield (row_checksum_of(key, b"") + key if self.row_checksum else key), None
                elif isinstance(value, bytes):
                    yield key, self._value(key, _ROW_VERSION + value)
                else:
                    rows = (_with_size(_ROW_VERSION + row) for row in value)
                    yield key, self.delimiter.join(self._value(key, row) for row in rows)

    def _value(self, key: bytes, value: bytes) -> bytes:
        """Return a value with checksum and size before it, if rows have checksums."""
        return row_checksum_of(key, value) + _with_size(value) if self.row_checksum else value

    def _keys(self, rows: Sequence[bytes]) -> list[bytes]:
        """Return keys, given as UnsafeRows, as RocksDB stores them."""
        head = b"" if self.family is None else self.family.to_bytes(FAMILY_BYTES, "little")
        if self.encoder.kind is KeyEncoding.ROW:
            return [head + _ROW_VERSION + row for row in rows]
        if self.encoder.kind in _TIMED:
            times, remainder = self._times(rows)
            if self.encoder.kind is KeyEncoding.TIMESTAMP_LAST:
                pairs = zip(times, remainder, strict=True)
                return [head + _ROW_VERSION + row + time for time, row in pairs]
            pairs = zip(times, remainder, strict=True)
            return [head + time + _ROW_VERSION + row for time, row in pairs]
        scanned, remainder = self._parts(rows)
        return [
            head + _with_size(_ROW_VERSION + first) + (_ROW_VERSION + suffix if suffix else b"")
            for first, suffix in zip(scanned, remainder, strict=True)
        ]

    def _times(self, rows: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return the last column of each key, a time, as 8 bytes, and the row without it.

        DecodeError: the keys have no such column.
        """
        buffer, columns = self._columns(rows)
        if not columns or columns[-1].null.any():
            raise DecodeError("keys without a time are not written")
        times = (columns[-1].slots ^ _SIGN).astype(">u8").tobytes()
        parts = [times[n : n + _LONG_BYTES] for n in range(0, len(times), _LONG_BYTES)]
        return parts, split(buffer, columns[:-1], len(rows))

    def _columns(self, rows: Sequence[bytes]) -> tuple[bytes, list[Column]]:
        """Return the keys, joined, and their columns by the schema."""
        types = [field.data_type for field in self.schema.fields] if self.schema else []
        buffer, offsets, lengths = concatenate(rows)
        return buffer, columns_of(buffer, offsets, lengths, types)

    def _parts(self, rows: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return two lists of rows: of the columns that keys are scanned by, and of the others.

        DecodeError: keys of that encoding cannot be written.
        """
        types = [field.data_type for field in self.schema.fields] if self.schema else []
        buffer, columns = self._columns(rows)
        if self.encoder.kind is KeyEncoding.PREFIX:
            first = tuple(range(self.encoder.prefix_columns))
            scanned = split(buffer, [columns[ordinal] for ordinal in first], len(rows))
        elif self.encoder.kind is KeyEncoding.RANGE and all(
            types[ordinal] == LONG for ordinal in self.encoder.ordinals
        ):
            first = self.encoder.ordinals
            scanned = _in_order([columns[ordinal] for ordinal in first], len(rows))
        else:
            raise DecodeError(f"keys that are arranged by {self.encoder.name!r} are not written")
        remainder = [column for ordinal, column in enumerate(columns) if ordinal not in first]
        return scanned, split(buffer, remainder, len(rows)) if remainder else [b""] * len(rows)


def split(buffer: bytes, columns: Sequence[Column], count: int) -> list[bytes]:
    """Return rows with these columns, each as bytes; ``buffer`` has the variable parts."""
    rows = compose_rows(buffer, columns, count)
    ends = (rows.offsets + rows.lengths).tolist()
    return [rows.data[start:end] for start, end in zip(rows.offsets.tolist(), ends, strict=True)]


def _in_order(columns: Sequence[Column], count: int) -> list[bytes]:
    """Return UnsafeRows with one binary field for each column of numbers.

    A field has a sign byte (0 if negative, else 1) and the number big-endian, so that rows sort
    like their numbers. DecodeError: a number is null, whose mark (2) is not written.
    """
    if any(column.null.any() for column in columns):
        raise DecodeError("keys with a null among the columns that order them are not written")
    parts, fields = [], []
    for ordinal, column in enumerate(columns):
        part = np.zeros((count, _ROOM), np.uint8)
        part[:, 0] = column.slots.view(np.int64) >= 0
        numbers = column.slots.astype(">u8").view(np.uint8).reshape(count, _LONG_BYTES)
        part[:, _MARK_BYTES : _MARK_BYTES + _LONG_BYTES] = numbers
        parts.append(part.tobytes())
        offsets = np.arange(count, dtype=np.int64) * _ROOM + ordinal * count * _ROOM
        sizes = np.full(count, _MARK_BYTES + _LONG_BYTES, np.uint64)
        fields.append(Column(sizes, column.null, offsets, np.full(count, _ROOM, np.int64)))
    return split(b"".join(parts), fields, count)


def _with_size(part: bytes) -> bytes:
    """Return bytes with their 4-byte size before them."""
    return struct.pack("<i", len(part)) + part
