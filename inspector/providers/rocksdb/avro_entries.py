"""Entries whose rows are Avro, rewritten as entries with UnsafeRows.

A row is a byte, version 0, the 2 bytes of its schema id, little-endian, and the Avro record. The
prefix of a key lacks the id, and so does the range of a key, whose record has a mark and the bytes
of each ordered column. The rest is as in :mod:`inspector.decode.encoded_rows`
(``AvroStateEncoder``, Spark 4.0 to 4.3). Each entry is rewritten with the UnsafeRows that Spark
makes of its records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from inspector.decode.avro import AvroRows, range_fields
from inspector.decode.encoded_rows import Spans, pieces_of, sizes_at
from inspector.decode.unsafe_rows import write_row
from inspector.exceptions import DecodeError, RecordError
from inspector.light_dataclasses import dataclass, field
from inspector.sparktypes import BINARY, StructField, StructType
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding

_VERSION = b"\0"  # first byte of a row
_ID_BYTES = 2  # bytes of a schema id
_SIZE_BYTES = 4  # bytes of a size before a part of a key or a value


class Parts(NamedTuple):
    """Keys and values in a buffer of their own; values of removals have a negative length."""

    buffer: bytes  # the bytes
    keys: Spans  # where each key is
    values: Spans  # where each value is


@dataclass(frozen=True)
class AvroEntries:
    """Rewrites the entries of one store with UnsafeRows."""

    key: StructType  # schema of its keys, as they are stored
    value: StructType  # schema of its values
    encoder: KeyEncoder  # how keys are arranged
    # schemas of values, by their number
    written_values: Mapping[int, StructType] = field(default_factory=dict)
    delimiter_bytes: int | None = None  # bytes between merged rows; None if a value has one row
    checksum_bytes: int = 0  # bytes of a checksum before each value and merged row; 0 without one

    def with_unsafe_rows(self, buffer: bytes, keys: Spans, values: Spans) -> Parts:
        """Return the entries with UnsafeRows; ``keys`` must be without column family.

        Values of removals have a length below 0. RecordError: a row cannot be read; it has the
        offset in the buffer.
        """
        output = bytearray()
        spans = np.zeros((4, len(keys.offsets)), np.int64)
        for index, (key_at, key_size, value_at, value_size) in enumerate(
            zip(*(part.tolist() for part in (*keys, *values)), strict=True)
        ):
            key = self._put_row(self._key, buffer, key_at, key_size)
            spans[0, index], spans[1, index] = len(output), len(key)
            output += key
            spans[2, index], spans[3, index] = len(output), value_size
            if value_size >= 0:
                value = self._put_row(self._value_of, buffer, value_at, value_size)
                spans[3, index] = len(value)
                output += value
        return Parts(bytes(output), Spans(spans[0], spans[1]), Spans(spans[2], spans[3]))

    @staticmethod
    def _put_row(read: Callable[[bytes], bytes], buffer: bytes, start: int, size: int) -> bytes:
        """Return a span of the buffer converted by ``read``. RecordError: with the offset."""
        try:
            return read(buffer[start : start + size])
        except DecodeError as error:
            raise RecordError(f"{error.message} (offset in its block)", offset=start) from None

    # -- keys --------------------------------------------------------------------------------

    def _key(self, data: bytes) -> bytes:
        """Return a key with UnsafeRows, arranged as before."""
        first_columns, remaining_columns = self._parts_of_key
        if self.encoder.kind is KeyEncoding.ROW:
            return _VERSION + first_columns.unsafe_row(_record(data, has_id=True))
        size = int.from_bytes(data[:_SIZE_BYTES], "little")
        if len(data) < _SIZE_BYTES or size > len(data) - _SIZE_BYTES:
            raise RecordError("a part longer than what it lies in")
        prefix = _record(data[_SIZE_BYTES : _SIZE_BYTES + size], has_id=False)
        first = _VERSION + self._first(first_columns, prefix)
        remainder = data[_SIZE_BYTES + size :]
        suffix = b""
        if remaining_columns.schema.fields:
            suffix = _VERSION + remaining_columns.unsafe_row(_record(remainder, has_id=True))
        return len(first).to_bytes(_SIZE_BYTES, "little") + first + suffix

    def _first(self, columns: AvroRows, record: bytes) -> bytes:
        """Return the first columns of a key as an UnsafeRow; ordered columns stay bytes."""
        if self.encoder.kind is KeyEncoding.PREFIX:
            return columns.unsafe_row(record)
        parts = columns.values(record)
        marks, numbers = parts[::2], parts[1::2]
        if any(mark is None or number is None for mark, number in zip(marks, numbers, strict=True)):
            raise RecordError("a column without a mark")
        ordered = [mark + number for mark, number in zip(marks, numbers, strict=True)]
        binaries = StructType((StructField("", BINARY),) * len(ordered))
        return write_row(binaries, ordered)

    @cached_property
    def _parts_of_key(self) -> tuple[AvroRows, AvroRows]:
        """Readers of the first columns of a key, and of the remaining ones.

        DecodeError: the encoder of the keys does not fit their schema, or is not known.
        """
        columns, ordinals = self.key.fields, self.encoder.ordinals
        if max(ordinals, default=-1) >= len(columns):
            raise DecodeError(
                f"the encoder of the keys names column {max(ordinals)}, the schema has "
                f"{len(columns)}"
            )
        if self.encoder.kind is KeyEncoding.RANGE:
            first = range_fields(StructType(tuple(columns[ordinal] for ordinal in ordinals)))
            remaining_columns = tuple(
                column for ordinal, column in enumerate(columns) if ordinal not in ordinals
            )
            return AvroRows(first), AvroRows(StructType(remaining_columns))
        if self.encoder.kind not in (KeyEncoding.ROW, KeyEncoding.PREFIX):
            raise DecodeError(f"keys of Avro are arranged by {self.encoder.name!r}")
        count = self.encoder.prefix_columns or len(columns)
        return AvroRows(StructType(columns[:count])), AvroRows(StructType(columns[count:]))

    # -- values ------------------------------------------------------------------------------

    def _value_of(self, data: bytes) -> bytes:
        """Return a value with UnsafeRows, with its delimiters if several rows were merged."""
        if self.delimiter_bytes is None:
            return self._row(data)
        spans = Spans(np.zeros(1, np.int64), np.array([len(data)], np.int64))
        parts = pieces_of(data, spans, self.delimiter_bytes, self.checksum_bytes)
        result = bytearray()
        for start, size in zip(*(part.tolist() for part in parts.pieces), strict=True):
            if result:
                result += bytes(self.delimiter_bytes)
            result += self._piece(data[start : start + size])
        return bytes(result)

    def _piece(self, data: bytes) -> bytes:
        """Return one merged row, with sizes (and an empty checksum) before it, as an UnsafeRow."""
        if not self.checksum_bytes:
            row = self._row(data)
            return len(row).to_bytes(_SIZE_BYTES, "little") + row
        size = int(sizes_at(data, Spans(np.zeros(1, np.int64), np.array([len(data)], np.int64)))[0])
        row = self._row(data[_SIZE_BYTES : _SIZE_BYTES + size])
        inner = len(row).to_bytes(_SIZE_BYTES, "little") + row
        return bytes(self.checksum_bytes) + len(inner).to_bytes(_SIZE_BYTES, "little") + inner

    def _row(self, data: bytes) -> bytes:
        """Return a row as an UnsafeRow. DecodeError: its schema id is not known."""
        record = _record(data, has_id=True)
        # In the machine's order, by Platform.putShort (RocksDBDataEncoder.encodeWithStateSchemaId).
        schema_id = int.from_bytes(data[1 : 1 + _ID_BYTES], "little")
        if schema_id not in self._of_id:
            ids = ", ".join(map(str, sorted(self._of_id))) or "none"
            raise DecodeError(f"got Avro by the schema {schema_id}, expected one of {ids}")
        return _VERSION + self._of_id[schema_id].unsafe_row(record)

    @cached_property
    def _of_id(self) -> Mapping[int, AvroRows]:
        """Readers of values by the number of their schema."""
        return {id_: AvroRows(self.value, schema) for id_, schema in self.written_values.items()}


def _record(data: bytes, *, has_id: bool) -> bytes:
    """Return the Avro record in a row. RecordError: another version, or too short."""
    head = 1 + has_id * _ID_BYTES
    if len(data) < head:
        raise RecordError("a row without a version of its encoding")
    if data[:1] != _VERSION:
        raise RecordError("a row of an unknown encoding")
    return data[head:]
