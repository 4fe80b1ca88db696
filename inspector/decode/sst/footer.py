"""The last 53 bytes of a table file: how its blocks are summed, and where to begin.

Layout (``FooterBuilder::Build``), integers little endian::

    1   checksum type
    40  format_version 2 to 5: handle of the metaindex, handle of the index (varints), padding
        format_version 6 and 7: 3e 00 7a 00 | checksum of the footer | base of the context checksums
                                | size of the metaindex, which lies right before | zeros
    4   format_version
    8   magic number

A handle is an offset and a size without the trailer of the block, both varints.

Checksums are over a block and the byte that names its compression, of 32 bits
(``ComputeBuiltinChecksumWithLastByte``): 1 CRC32C, masked; 2 XXH32; 3 the lower half of XXH64; 4
that of XXH3-64 of the block, XOR the last byte times a constant. From format_version 6 on a number
is added that depends on the place of the block in the file (``ChecksumModifierForContext``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Protocol

import xxhash

from inspector.exceptions import DecodeError, FrameError, RecordError, TruncatedError
from inspector.light_dataclasses import dataclass


class Source(Protocol):
    """A file of known size that is read in pieces."""

    @property
    def size(self) -> int:
        """Its bytes."""

    def read(self, offset: int, length: int, /) -> bytes:
        """The bytes at an offset; fewer than asked for where the file ends before (OSError)."""


def read_exactly(source: Source, offset: int, length: int, noun: str) -> bytes:
    """All bytes at an offset (``noun`` for messages); TruncatedError if the file ends before."""
    if offset < 0 or length < 0 or source.size < offset or source.size - offset < length:
        message = f"{noun} of {length} bytes, the file has {source.size}"
        raise TruncatedError(message, offset=max(offset, 0))
    data = source.read(offset, length)
    if len(data) < length:  # it has become shorter since it was listed
        raise TruncatedError(f"{noun}: got {len(data)} bytes, expected {length}", offset=offset)
    return data


_MOST_BITS = 64
_HIGH = 0x80


class Varints:
    """Reads varints, and bytes of a given length between them.

    ``place`` is the index in ``data`` of the next byte; ``offset`` in the file, of ``data[0]``.
    """

    __slots__ = ("_data", "_offset", "place")

    def __init__(self, data: bytes, offset: int, start: int = 0) -> None:
        self._data, self._offset, self.place = data, offset, start

    def next(self, noun: str) -> int:
        """The next varint, of at most 64 bits (RecordError: it does not end, or has more bits)."""
        data, start = self._data, self.place
        value = bits = 0
        for position in range(start, min(len(data), start + 10)):
            value |= (data[position] & ~_HIGH) << bits
            bits += 7
            if data[position] < _HIGH:
                self.place = position + 1
                if value >> _MOST_BITS:
                    break
                return value
        raise RecordError(f"{noun}: no integer of 64 bits", offset=self._offset + start)

    def bytes(self, length: int, noun: str) -> bytes:
        """The next bytes (RecordError: fewer are left)."""
        start = self.place
        if len(self._data) - start < length:
            message = f"{noun} of {length} bytes where {len(self._data) - start} are left"
            raise RecordError(message, offset=self._offset + start)
        self.place += length
        return self._data[start : start + length]

    @property
    def remaining(self) -> int:
        """Number of bytes that are left."""
        return len(self._data) - self.place


SIZE = 53  # bytes of the footer, of every format version
TRAILER = 5  # bytes behind each block: its compression and its checksum

_MAGIC = 0x88E241B785F4CFF7
_OTHER_TABLES = {
    0xDB4775248B80FB57: "a table of LevelDB or of format_version 0",
    0x8242229663BF9564: "a plain table of RocksDB",
    0x4F3418EB7A8F13B8: "a plain table of RocksDB",
    0x926789D0C5F17873: "a cuckoo table of RocksDB",
}
_FORMATS = range(2, 8)
_CONTEXT_FROM = 6
_EXTENDED_MAGIC = b"\x3e\x00\x7a\x00"
_TAIL = struct.Struct("<IQ")
_EXTENDED = struct.Struct("<4sIII16sQ")


@dataclass(frozen=True)
class Handle:
    """Position of a block: its offset, and its size without the trailer."""

    offset: int
    size: int

    def check(self) -> None:
        """Raise RecordError if no file is so large."""
        if max(self.offset, self.size) > _MOST:
            raise RecordError(f"a block of {self.size} bytes at byte {self.offset}")


_MOST = 1 << 61  # bytes: a sum of an offset and a size fits an int64


@dataclass(frozen=True)
class Footer:
    """Footer of a table file."""

    format_version: int  # 2 to 7
    checksum_type: int  # of every block; one of :data:`~inspector.decode.sst.footer.CHECKSUMS`
    base: int  # of the context checksums, 0 where there are none
    metaindex: Handle
    index: Handle | None  # where it lies; None where the metaindex tells it


def read_footer(source: Source) -> Footer:
    """The footer of a file (TruncatedError, RecordError; DecodeError: a table that is not read)."""
    if source.size < SIZE:
        raise TruncatedError(f"got {source.size} bytes, a footer has {SIZE}", offset=0)
    start = source.size - SIZE
    data = read_exactly(source, start, SIZE, "footer")
    version, magic = _TAIL.unpack_from(data, SIZE - _TAIL.size)
    if magic != _MAGIC:
        if magic in _OTHER_TABLES:
            message = f"{_OTHER_TABLES[magic]}, expected a block-based one"
            raise DecodeError(message, offset=start + SIZE - 8)
        message = f"the file ends in {magic:#018x}, a table in {_MAGIC:#018x}"
        raise RecordError(message, offset=start + SIZE - 8)
    if version not in _FORMATS:
        message = f"a table of format_version {version}, expected {_FORMATS[0]} to {_FORMATS[-1]}"
        raise DecodeError(message, offset=start + SIZE - _TAIL.size)
    if data[0] not in CHECKSUMS:
        raise RecordError(f"checksums of unknown type {data[0]}", offset=start)
    if version >= _CONTEXT_FROM:
        return _read_extended_form(data, version, start)
    handles = Varints(data[: SIZE - _TAIL.size], start, 1)
    metaindex, index = read_handle(handles), read_handle(handles)
    return Footer(version, data[0], 0, metaindex, index)


def _read_extended_form(data: bytes, version: int, start: int) -> Footer:
    magic, stored, base, size, _, reserved = _EXTENDED.unpack_from(data, 1)
    if magic != _EXTENDED_MAGIC or reserved or not base:
        raise RecordError(f"no footer of format_version {version}", offset=start + 1)
    if data[0] != NO_CHECKSUM:
        result = checksum(data[0], data[:5] + bytes(4) + data[9:-1], data[-1])
        if (result + context(base, start)) & 0xFFFFFFFF != stored:
            raise RecordError("the footer does not match its checksum", offset=start)
    if start - TRAILER < size:
        raise TruncatedError(f"a metaindex of {size} bytes lies before byte 0", offset=start + 13)
    return Footer(version, data[0], base, Handle(start - TRAILER - size, size), None)


def read_handle(varints: Varints) -> Handle:
    """The next handle of a stream of varints."""
    return Handle(varints.next("offset of a block"), varints.next("size of a block"))


NO_CHECKSUM = 0
_MASK = 0xFFFFFFFF
_CRC_DELTA = 0xA282EAD8
_LAST_BYTE = 0x6B9083D9

Checksum = Callable[[memoryview, int], int]  # takes a block and its last byte


def _crc32c(block: memoryview, last: int) -> int:
    import google_crc32c  # noqa: PLC0415 - Spark's tables have XXH3 instead

    crc: int = google_crc32c.value(bytes(block) + bytes((last,)))
    return ((crc >> 15 | crc << 17) + _CRC_DELTA) & _MASK


_FUNCTIONS: Mapping[int, Checksum] = {
    1: _crc32c,
    2: lambda block, last: int(xxhash.xxh32_intdigest(bytes(block) + bytes((last,)))),
    3: lambda block, last: int(xxhash.xxh64_intdigest(bytes(block) + bytes((last,)))) & _MASK,
    4: lambda block, last: (xxhash.xxh3_64_intdigest(block) ^ last * _LAST_BYTE) & _MASK,
}
CHECKSUMS = (NO_CHECKSUM, *_FUNCTIONS)  # the types that a footer may name


def checksum(kind: int, block: bytes | memoryview, last: int) -> int:
    """The checksum, of one of :data:`CHECKSUMS`, of a block and the byte behind it."""
    return _FUNCTIONS[kind](memoryview(block), last)


def check_block(end: Footer, block: memoryview, last: int, expected: int, offset: int) -> None:
    """Raise FrameError if a block at an offset does not match its checksum.

    ``last`` is the byte of its compression, and ``expected`` the checksum behind that byte.
    """
    if end.checksum_type == NO_CHECKSUM:
        return
    result = checksum(end.checksum_type, block, last)
    if (result + context(end.base, offset)) & _MASK != expected:
        raise FrameError("a block does not match its checksum", offset=offset)


def context(base: int, offset: int) -> int:
    """Return the number that is added to the checksum of a block; 0 if ``base`` is 0."""
    return base ^ ((offset + (offset >> 32)) & _MASK) if base else 0
