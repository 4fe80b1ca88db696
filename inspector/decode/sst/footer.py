"""Footer of a table file, its last 53 bytes: the kind of checksums, and where to begin.

Layout (``FooterBuilder::Build``), integers little endian::

    1   checksum type
    40  format_version 2 to 5: handle of the metaindex, handle of the index (varints), padding
        format_version 6 and 7: 3e 00 7a 00 | checksum of the footer | base of the context checksums
                                | size of the metaindex, which lies right before | zeros
    4   format_version
    8   magic number

A handle is an offset and a size without the trailer of the block, both varints.

Checksums have 32 bits and are over a block and the byte that names its compression
(``ComputeBuiltinChecksumWithLastByte``): 1 CRC32C, masked; 2 XXH32; 3 the lower half of XXH64. Type
4 is the lower half of XXH3-64 of the block, XOR the last byte times a constant. From format_version
6 on a number is added that depends on the block's position in the file
(``ChecksumModifierForContext``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Protocol

import xxhash

from inspector.decode.rocksdb_crc import rocksdb_crc32c
from inspector.exceptions import DecodeError, FrameError, RecordError, TruncatedError
from inspector.light_dataclasses import dataclass


class Source(Protocol):
    """File of known size that is read in pieces."""

    @property
    def size(self) -> int:
        """Bytes of the file."""

    def read(self, offset: int, length: int, /) -> bytes:
        """Return the bytes at an offset; fewer if the file ends before. Raises OSError."""


def read_exactly(source: Source, offset: int, length: int, noun: str) -> bytes:
    """Return all ``length`` bytes at an offset. TruncatedError: the file ends before.

    ``noun`` names them in messages.
    """
    if offset < 0 or length < 0 or source.size < offset or source.size - offset < length:
        message = f"{noun} of {length} bytes, the file has {source.size}"
        raise TruncatedError(message, offset=max(offset, 0))
    data = source.read(offset, length)
    if len(data) < length:  # it has become shorter since it was listed
        raise TruncatedError(f"{noun}: got {len(data)} bytes, expected {length}", offset=offset)
    return data


_MOST_BITS = 64  # most bits of a varint
_HIGH = 0x80  # bit of a byte after which a varint continues


class Varints:
    """Reader of varints, and of bytes of a given length between them.

    ``place`` is the index in ``data`` of the next byte. ``offset`` is that of ``data[0]`` in the
    file, for errors.
    """

    __slots__ = ("_data", "_offset", "place")

    def __init__(self, data: bytes, offset: int, start: int = 0) -> None:
        self._data, self._offset, self.place = data, offset, start

    def next(self, noun: str) -> int:
        """Return the next varint, of at most 64 bits. RecordError: no end, or longer."""
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
        """Return the next ``length`` bytes. RecordError: fewer are left."""
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
TRAILER = 5  # bytes after each block: type of compression and checksum

_MAGIC = 0x88E241B785F4CFF7  # magic number of a block-based table
# kinds of tables that are not read, by magic number
_OTHER_TABLES = {
    0xDB4775248B80FB57: "a table of LevelDB or of format_version 0",
    0x8242229663BF9564: "a plain table of RocksDB",
    0x4F3418EB7A8F13B8: "a plain table of RocksDB",
    0x926789D0C5F17873: "a cuckoo table of RocksDB",
}
_FORMATS = range(2, 8)  # format versions that are read
_CONTEXT_FROM = 6  # format version from which on checksums depend on the position
_EXTENDED_MAGIC = b"\x3e\x00\x7a\x00"  # bytes of a footer of the extended form
_TAIL = struct.Struct("<IQ")  # format version and magic number
_EXTENDED = struct.Struct("<4sIII16sQ")  # the extended form of a footer, without its first byte


@dataclass(frozen=True)
class Handle:
    """Position of a block: its offset, and its size without the trailer."""

    offset: int  # where it is in the file
    size: int  # its bytes without the trailer

    def check(self) -> None:
        """Raise RecordError if no file can have a block of that offset and size."""
        if max(self.offset, self.size) > _MOST:
            raise RecordError(f"a block of {self.size} bytes at byte {self.offset}")


_MOST = 1 << 61  # most bytes of a file: a sum of an offset and a size fits an int64


@dataclass(frozen=True)
class Footer:
    """Footer of a table file."""

    format_version: int  # 2 to 7
    # kind of every block's checksum; one of :data:`~inspector.decode.sst.footer.CHECKSUMS`
    checksum_type: int
    base: int  # base of checksums that depend on the position; 0 if they do not
    metaindex: Handle  # position of the metaindex
    index: Handle | None  # position of the index; None if the metaindex has it


def read_footer(source: Source) -> Footer:
    """Return the footer of a file. TruncatedError, RecordError; DecodeError: not a read table."""
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
    """Return the footer of format version 6 or 7. RecordError: it is corrupt."""
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
    """Return the next handle in a stream of varints."""
    return Handle(varints.next("offset of a block"), varints.next("size of a block"))


NO_CHECKSUM = 0  # checksum type of a table without checksums
_MASK = 0xFFFFFFFF  # 32 bits
_LAST_BYTE = 0x6B9083D9  # factor of the last byte in checksums of XXH3

# Function of a block and the byte after it that returns a checksum.
Checksum = Callable[[memoryview, int], int]


def _crc32c(block: memoryview, last: int) -> int:
    """Return the masked CRC32C of a block and the byte after it."""
    return rocksdb_crc32c(bytes(block) + bytes((last,)))


# functions of the checksum types
_FUNCTIONS: Mapping[int, Checksum] = {
    1: _crc32c,
    2: lambda block, last: int(xxhash.xxh32_intdigest(bytes(block) + bytes((last,)))),
    3: lambda block, last: int(xxhash.xxh64_intdigest(bytes(block) + bytes((last,)))) & _MASK,
    4: lambda block, last: (xxhash.xxh3_64_intdigest(block) ^ last * _LAST_BYTE) & _MASK,
}
CHECKSUMS = (NO_CHECKSUM, *_FUNCTIONS)  # checksum types that a footer may name


def checksum(kind: int, block: bytes | memoryview, last: int) -> int:
    """Return the checksum of type ``kind`` of a block and the byte after it."""
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
    """Return the number added to the checksum of a block at an offset of its table file.

    ``base`` is the number in the footer (format 6 and later); 0 means that none is added.
    """
    return base ^ ((offset + (offset >> 32)) & _MASK) if base else 0
