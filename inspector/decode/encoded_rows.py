"""Keys and values as RocksDB stores them, decoded to the UnsafeRows that Spark's operators put.

::

    key    [2 bytes: column family] arranged key          value   encoded row
    list   4 bytes: size, encoded row, [','], 4 bytes: size, encoded row ...
    row    1 byte: version 0, UnsafeRow

    arranged key (``RocksDBKeyStateEncoder``)
      row              encoded row
      prefix           4 bytes: size, encoded row of the leading columns, encoded row of the rest
      range            the same, the leading columns as bytes whose order is that of their values
      timestamp_first  8 bytes: time, encoded row      timestamp_last  encoded row, 8 bytes: time

Column families and sizes are little-endian (``Platform.putShort`` and ``putInt`` on the machines
that Spark runs on), times big-endian. Column families exist only in stores of operators that need
them (4.0 on).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s
from inspector.decode._cells import numbers_at
from inspector.decode.composed_rows import Column, Rows, columns_of, compose_rows, constant
from inspector.exceptions import DecodeError, NoSchemaError, RecordError
from inspector.light_dataclasses import dataclass
from inspector.sparktypes import BINARY, AtomicType, DataType, StructType, storage_type
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding

FAMILY_BYTES = 2  # bytes of a column family's number before a key
NO_FAMILY = -1  # number that stands for a column family that does not exist
_SIZE_BYTES = 4  # bytes of a size
_TIME_BYTES = 8  # bytes of a time
_SIGN = np.uint64(1 << 63)  # sign bit, which is flipped in a stored time
_NEGATIVE, _NULL = 0, 2
"""First bytes of a column that is scanned by: of a negative number, and of null. 1 is any other
number.
"""


class Spans(NamedTuple):
    """Positions of byte strings in a buffer."""

    offsets: Int64s  # where each starts
    lengths: Int64s  # bytes of each

    def select(self, rows: npt.NDArray[np.bool_] | Int64s) -> Spans:
        """Return the spans at these rows."""
        return Spans(self.offsets[rows], self.lengths[rows])

    def shrink(self, size: int, *, suffix_size: int = 0) -> Spans:
        """Return each span without its first ``size`` and last ``suffix_size`` bytes."""
        return Spans(self.offsets + size, self.lengths - (size + suffix_size))


def of_family(buffer: bytes, keys: Spans, family: int) -> Bools:
    """Return a mask of the keys that begin with a family's id (:data:`NO_FAMILY`: none).

    RecordError: a key is too short.
    """
    _require(keys.lengths >= FAMILY_BYTES, keys, "a key without a column family")
    if family == NO_FAMILY:
        return np.zeros(len(keys.offsets), np.bool_)
    result: Bools = numbers_at(buffer, "<u2", keys.offsets) == family
    return result


def range_of_family(family: int) -> tuple[bytes, bytes]:
    """Return the bounds of a column family's keys: inclusive lower, exclusive upper bytes."""
    if family == NO_FAMILY:
        return b"", b""
    first = family.to_bytes(FAMILY_BYTES, "little")
    return first, (int.from_bytes(first, "big") + 1).to_bytes(FAMILY_BYTES, "big")


def plain_rows(buffer: bytes, encoded: Spans) -> Spans:
    """Return the UnsafeRows within encoded rows. RecordError: their version is not 0."""
    _require(encoded.lengths >= 1, encoded, "a row without a version of its encoding")
    versions = numbers_at(buffer, "u1", encoded.offsets)
    _require(versions == 0, encoded, "a row of an unknown encoding")
    return encoded.shrink(1)


@dataclass(frozen=True)
class KeyDecoder:
    """Decoder of the keys of one store."""

    schema: StructType | None  # schema of the keys as operators put them; None if not known
    encoder: KeyEncoder  # how they are arranged

    @property
    def in_place(self) -> bool:
        """True if each key is stored in one piece and need not be put together."""
        return self.encoder.kind is KeyEncoding.ROW

    def columns(self, buffer: bytes, keys: Spans) -> list[Column]:
        """Return the fields of the keys, in the order of the schema.

        RecordError: a key is arranged in another way. RowError: a part does not fit the schema.
        DecodeError: schema or encoder is not known.
        """
        kind, types = self.encoder.kind, self._types()
        if kind is KeyEncoding.ROW:
            return columns_of(buffer, *plain_rows(buffer, keys), types)
        if kind is KeyEncoding.PREFIX:
            first = self.encoder.prefix_columns
            prefix, remainder = _split(buffer, keys)
            columns = columns_of(buffer, *plain_rows(buffer, prefix), types[:first])
            if first < len(types):
                columns += columns_of(buffer, *plain_rows(buffer, remainder), types[first:])
            return columns
        if kind is KeyEncoding.RANGE:
            return self._range_columns(buffer, keys, types)
        return self._time_columns(buffer, keys, types)

    def _types(self) -> list[DataType]:
        """Return the types of the key's columns. DecodeError: schema or encoder is not known."""
        if self.encoder.kind is KeyEncoding.UNKNOWN:
            raise DecodeError(f"keys are arranged by the unknown encoder {self.encoder.name!r}")
        if self.schema is None:
            raise NoSchemaError("keys cannot be put together: the state schema is missing")
        types = [column.data_type for column in self.schema.fields]
        needed = max(self.encoder.prefix_columns - 1, *self.encoder.ordinals, -1)
        if self.encoder.kind in (KeyEncoding.TIMESTAMP_FIRST, KeyEncoding.TIMESTAMP_LAST):
            needed = 0
        if needed >= len(types):
            message = f"the encoder of the keys names column {needed}, the schema has {len(types)}"
            raise DecodeError(message)
        return types

    def _range_columns(self, buffer: bytes, keys: Spans, types: Sequence[DataType]) -> list[Column]:
        """Return the fields of keys whose leading columns are ordered bytes."""
        ordinals = self.encoder.ordinals
        prefix, remainder = _split(buffer, keys)
        ordered = columns_of(buffer, *plain_rows(buffer, prefix), [BINARY] * len(ordinals))
        columns = {
            ordinal: _number(buffer, column, types[ordinal], prefix)
            for ordinal, column in zip(ordinals, ordered, strict=True)
        }
        unordered = {
            position: types[position] for position in range(len(types)) if position not in columns
        }
        if unordered:
            rows = plain_rows(buffer, remainder)
            values = columns_of(buffer, *rows, [*unordered.values()])
            columns |= dict(zip(unordered, values, strict=True))
        return [columns[ordinal] for ordinal in range(len(types))]

    def _time_columns(self, buffer: bytes, keys: Spans, types: Sequence[DataType]) -> list[Column]:
        """Return the fields of keys with a time before or after the row; it is the last field."""
        _require(keys.lengths >= _TIME_BYTES, keys, "a key without its time")
        if self.encoder.kind is KeyEncoding.TIMESTAMP_FIRST:
            offsets, rows = keys.offsets, keys.shrink(_TIME_BYTES)
        else:
            offsets, rows = (
                keys.offsets + keys.lengths - _TIME_BYTES,
                keys.shrink(0, suffix_size=_TIME_BYTES),
            )
        times = numbers_at(buffer, ">u8", offsets).astype(np.uint64) ^ _SIGN
        columns = columns_of(buffer, *plain_rows(buffer, rows), types[:-1])
        return [*columns, constant(times.view(np.int64))]

    def rows(self, buffer: bytes, keys: Spans) -> Rows:
        """Return the keys as UnsafeRows. DecodeError as :meth:`columns`."""
        return compose_rows(buffer, self.columns(buffer, keys), len(keys.offsets))


class Pieces(NamedTuple):
    """Pieces of lists, in the order of the lists."""

    owners: Int64s  # index of the list that each piece belongs to
    pieces: Spans  # where each is, without its size and what precedes the size


def pieces_of(buffer: bytes, lists: Spans, delimiter_bytes: int, prefix_size: int = 0) -> Pieces:
    """Return the pieces of merged values (``MultiValuedStateEncoder``), at least one of each value.

    ``delimiter_bytes`` are between two pieces: 1 (``,``), or 0 with version 2 of the merge operator
    (``spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion``). ``prefix_size`` are bytes
    before the size of each. RecordError: an impossible size.
    """
    starts, ends = lists.offsets.copy(), lists.offsets + lists.lengths
    live = np.arange(len(starts), dtype=np.int64)
    owners, offsets, lengths = [live[:0]], [live[:0]], [live[:0]]
    while len(live):
        spans = Spans(starts[live] + prefix_size, ends[live] - starts[live] - prefix_size)
        sizes = sizes_at(buffer, spans)
        owners.append(live)
        offsets.append(spans.offsets + _SIZE_BYTES)
        lengths.append(sizes)
        starts[live] += prefix_size + _SIZE_BYTES + sizes
        live = live[starts[live] < ends[live]]
        starts[live] += delimiter_bytes
    owner, pieces = np.concatenate(owners), Spans(np.concatenate(offsets), np.concatenate(lengths))
    order = np.argsort(owner, kind="stable")
    return Pieces(owner[order], pieces.select(order))


def sizes_at(buffer: bytes, spans: Spans) -> Int64s:
    """Return the 4-byte size at the start of each span. RecordError: it is too large."""
    _require(spans.lengths >= _SIZE_BYTES, spans, "a part without a size")
    result: Int64s = numbers_at(buffer, "<u4", spans.offsets).astype(np.int64)
    _require(result <= spans.lengths - _SIZE_BYTES, spans, "a part longer than what it lies in")
    return result


def _split(buffer: bytes, keys: Spans) -> tuple[Spans, Spans]:
    """Return the part of each key that has a size before it, and the rest."""
    sizes = sizes_at(buffer, keys)
    prefix = Spans(keys.offsets + _SIZE_BYTES, sizes)
    return prefix, Spans(prefix.offsets + sizes, keys.lengths - _SIZE_BYTES - sizes)


def _number(buffer: bytes, column: Column, data_type: DataType, keys: Spans) -> Column:
    """Return a column of fixed width from the bytes that order it. RecordError: no number."""
    # A mark, then the number big-endian (encodePrefixKeyForRangeScan); of a negative floating-point
    # number every bit is flipped.
    kind = storage_type(data_type)
    width = kind.slot_width
    offsets, room = column.offsets, column.room
    if width is None or offsets is None or room is None:
        raise DecodeError("the encoder of the keys orders by a column of variable size")
    _require(column.slots.astype(np.int64) >= 1, keys, "a column without a mark")
    marks = numbers_at(buffer, "u1", offsets)
    null = marks == _NULL
    sizes = column.slots.astype(np.int64)
    _require(null | (sizes == 1 + width), keys, "a column of another size than its type")
    _require(marks <= _NULL, keys, "a column with an unknown mark")
    values = np.zeros(len(offsets), np.uint64)
    present = np.flatnonzero(~null)
    values[present] = numbers_at(buffer, f">u{width}", offsets[present] + 1)
    if isinstance(kind, AtomicType) and kind.kind in ("float", "double"):
        values[marks == _NEGATIVE] ^= np.uint64((1 << 8 * width) - 1)
    return Column(values, null)


def _require(good: Bools, spans: Spans, fault: str) -> None:
    """Raise RecordError, with the offset of the first span that is not good, unless all are."""
    if not good.all():
        offset = int(spans.offsets[int(np.argmin(good))])
        raise RecordError(f"{fault} (offset in its block)", offset=offset)
