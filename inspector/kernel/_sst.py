"""Blocks of RocksDB's table files: decompression, entries, and handles in an index.

``sst.c`` and ``sst_index.c`` do the same.

A block (``BlockBuilder``), integers little endian::

    entries, then uint32 for each restart, [hash index], uint32 number of restarts

and an entry, integers as varints::

    bytes of the key shared with the one before | further ones | bytes of the value | key | value

The key of an entry is an internal one: a user key and 8 bytes, sequence number << 8 | type. An
index may lack the bytes of the value, which is the offset and size of a block. If the index is
delta-encoded and the entry shares a part of its key with the previous one, the value is only the
difference to the previous size (zigzag).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.kernel import record_layout as layout
from inspector.kernel._arguments import check_spans, octets, same_length, writable
from inspector.light_dataclasses import dataclass

_INTERNAL = 8  # bytes after the user key in an internal key
_HASHED_BLOCK = 1 << 16  # bytes up to which a block may have a hash index
_HASHED = 1 << 31  # bit in the number of restarts: the block has a hash index
_VALUE = 1  # type of an entry that is a value
_LONG = 15  # length in a token that is lengthened by the bytes after it
_LEAST_MATCH = 4  # bytes of the shortest match
_LAST_ROOM, _LAST_BYTES, _LAST_LITERALS = 12, 8, 5
"""Bytes near the end of an LZ4 block from which on LZ4_decompress_safe expects literals only."""
_MOST = 1 << 61  # largest offset or size
_UINT32 = struct.Struct("<I")  # a number of 32 bits
_UINT16 = struct.Struct("<H")  # a number of 16 bits
_UINT64 = struct.Struct("<Q")  # a number of 64 bits


class _CorruptError(Exception):
    """Raised within this module if a block is corrupt."""


def lz4_blocks(
    buffer: Any, offsets: Any, lengths: Any, output: Any, positions: Any, sizes: Any
) -> int:
    """Decompress LZ4 blocks into ``output``, each to exactly the bytes that ``sizes`` has for it.

    ``positions`` has where in ``output`` the bytes of each block go.

    Returns:
        The number of blocks decompressed before the first corrupt one; all if none is corrupt.
    """
    view, starts, ends = check_spans(buffer, offsets, lengths)
    ends = starts + ends
    target = octets(output)
    _, targets, bytes_each = check_spans(output, positions, sizes)
    same_length(starts, targets)
    for number in range(len(starts)):
        block = bytes(view[starts[number] : ends[number]])
        try:
            result = _lz4_block(block, int(bytes_each[number]))
        except (_CorruptError, IndexError):
            return number
        target[targets[number] : targets[number] + bytes_each[number]] = result
    return len(starts)


def _lz4_block(block: bytes, size: int) -> bytes:
    """Return a decompressed block.

    IndexError: the block ends too early. _CorruptError: it does not have ``size`` bytes.
    """
    result = bytearray()
    position = 0
    while position < len(block):
        token = block[position]
        literals, position = _lengthen(block, position + 1, token >> 4)
        if len(block) - position < literals or size - len(result) < literals:
            raise _CorruptError
        result += block[position : position + literals]
        position += literals
        if size - len(result) < _LAST_ROOM or len(block) - position < _LAST_BYTES:
            if position != len(block) or len(result) != size:
                raise _CorruptError
            return bytes(result)
        distance = block[position] | block[position + 1] << 8
        length, position = _lengthen(block, position + 2, token & _LONG)
        length += _LEAST_MATCH
        if not 0 < distance <= len(result) or size - len(result) < length + _LAST_LITERALS:
            raise _CorruptError
        repeated = result[-distance:]
        result += (repeated * (length // distance + 1))[:length]
    raise _CorruptError


def _lengthen(block: bytes, position: int, length: int) -> tuple[int, int]:
    """Return a length, with the bytes that lengthen one of 15, and the position after them."""
    if length == _LONG:
        extra = 255
        while extra == 255:
            extra = block[position]
            length += extra
            position += 1
    return length, position


def table_entries(  # noqa: PLR0913 - a buffer with spans and two to be filled, as in C
    buffer: Any,
    offsets: Any,
    lengths: Any,
    state: Any,
    previous: Any,
    out: Any,
    columns: Any,
    max_length: int,
) -> tuple[int, int, int, int]:
    """Find the entries of blocks, and copy each internal key and value into ``out``, side by side.

    The spans are decompressed blocks without trailer. ``state`` has three numbers that are read and
    written: the block and the position in it where to continue; with ``FULL``, the bytes that the
    next entry needs in ``out``, or 0 if ``columns`` has no room. ``previous`` is the previous
    internal key, empty at the start of a table. ``columns`` takes where keys and values are in
    ``out``: :data:`~inspector.kernel.record_layout.ENTRY` columns, each with room for as many
    entries. A user key or value longer than ``max_length`` is not accepted.

    Returns:
        A status (MORE after the last block; for others ``state`` is the position of the entry), the
            number of entries found, the bytes used of ``out``, and 1 if every entry is a value and
            no user key occurs twice.
    """
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    position = writable(state, np.int64)
    same_length(position, np.empty(3))
    table = writable(columns, np.int64)
    previous_key = bytes(octets(previous))
    if position[0] < 0 or position[1] < 0 or 0 < len(previous_key) < _INTERNAL:
        raise ValueError("a span lies outside of the buffer")
    walk = _Walk(octets(out), table, max_length, previous_key, int(position[1]))
    index, status = int(position[0]), layout.MORE
    while status == layout.MORE and index < len(starts):
        status = walk.block(bytes(view[starts[index] : starts[index] + sizes[index]]))
        index += status == layout.MORE
    position[:] = (index, walk.place, walk.need if status == layout.FULL else 0)
    return status, walk.count, walk.used, int(walk.plain)


@dataclass(slots=True)
class _Walk:
    """Walk over the entries of blocks."""

    out: memoryview  # takes keys and values
    columns: Int64s  # takes where they are
    max_length: int  # longest user key or value that is accepted
    previous: bytes  # the previous internal key
    place: int  # position of the next entry in the block
    need: int = 0  # bytes that the next entry takes in ``out``
    used: int = 0  # bytes used of ``out``
    count: int = 0  # entries found
    plain: bool = True  # True if every entry is a value and no user key occurs twice

    def block(self, block: bytes) -> int:
        """Copy the entries of a block, and return a status: MORE at its end."""
        end = _entries_end(block)
        if end < self.place:
            return layout.BAD_BLOCK
        while self.place < end:
            status = self._entry(block, end)
            if status != layout.MORE:
                return status
        self.place = 0
        return layout.MORE

    def _entry(self, block: bytes, end: int) -> int:
        """Copy one entry, and return a status: MORE if it was copied."""
        self.need = 0
        if self.count >= len(self.columns) // layout.ENTRY:
            return layout.FULL
        try:
            shared, offset = _varint(block, self.place, end)
            remainder, offset = _varint(block, offset, end)
            value, offset = _varint(block, offset, end)
        except _CorruptError:
            return layout.BAD_ENTRY
        previous_size = len(self.previous) if self.place else 0
        if (
            end - offset - remainder < value
            or shared + remainder < _INTERNAL
            or previous_size < shared
        ):
            return layout.BAD_ENTRY
        self.need = shared + remainder + value
        if self.max_length < max(shared + remainder - _INTERNAL, value):
            return layout.OVER_LIMIT
        if len(self.out) - self.used < self.need:
            return layout.FULL
        key = self.previous[:shared] + block[offset : offset + remainder]
        end = offset + remainder + value
        self.out[self.used : self.used + self.need] = key + block[end - value : end]
        status = self._take(key, value)
        if status == layout.MORE:
            self.place = end
        return status

    def _take(self, key: bytes, value: int) -> int:
        """Note an entry that was copied, with a value of ``value`` bytes, and return a status."""
        (tag,) = _UINT64.unpack_from(key, len(key) - _INTERNAL)
        if tag >> 63:
            return layout.BAD_ENTRY
        if self.previous:
            user, previous_user = key[:-_INTERNAL], self.previous[:-_INTERNAL]
            (last,) = _UINT64.unpack_from(self.previous, len(self.previous) - _INTERNAL)
            if user < previous_user or (user == previous_user and tag >= last):
                return layout.BAD_ORDER
            self.plain &= user > previous_user
        self.plain &= tag & 0xFF == _VALUE
        room = len(self.columns) // layout.ENTRY
        where = (self.used, len(key) - _INTERNAL, self.used + len(key), value, tag)
        self.columns[self.count : layout.ENTRY * room : room] = where
        self.used += len(key) + value
        self.count += 1
        self.previous = key
        return layout.MORE


def _entries_end(block: bytes) -> int:
    """Return the offset where entries end and restarts begin; below 0 if the block is too short."""
    left = len(block) - _UINT32.size
    if left < 0:
        return -1
    restarts = int(_UINT32.unpack_from(block, left)[0])
    if len(block) <= _HASHED_BLOCK and restarts & _HASHED:
        restarts &= ~_HASHED
        left -= _UINT16.size
        if left < 0:
            return -1
        left -= int(_UINT16.unpack_from(block, left)[0])
    return max(left - _UINT32.size * restarts, -1)


def _varint(block: bytes, start: int, end: int, bits: int = 32) -> tuple[int, int]:
    """Return an integer of up to ``bits`` bits, and where it ends. _CorruptError: there is none."""
    value = 0
    for offset in range(start, min(start + bits // 7 + 1, end)):
        value |= (block[offset] & 0x7F) << 7 * (offset - start)
        if block[offset] < 0x80:
            if value >> bits:
                break
            return value, offset + 1
    raise _CorruptError


def index_handles(
    buffer: Any, delta: bool, first_keys: bool, trailer: int, offsets: Any, sizes: Any
) -> tuple[int, bool]:
    """Write the offset and the size of each block in an index into two arrays.

    ``buffer`` has the entries of the index block without restarts. ``delta``: its values are
    delta-encoded. ``first_keys``: the first key of the block follows each handle. ``trailer`` is
    the number of bytes after each block.

    Returns:
        The number of handles found, and True if these are all; else the next entry has impossible
            lengths, or there is no room.
    """
    starts, lengths = writable(offsets, np.int64), writable(sizes, np.int64)
    same_length(starts, lengths)
    if not 0 <= trailer <= 64:
        raise ValueError("the trailer lies outside of 0 to 64 bytes")
    entries = _Entries(bytes(octets(buffer)), delta, first_keys, trailer)
    count = 0
    try:
        while entries.place < len(entries.data) and count < len(starts):
            entries.take()
            starts[count], lengths[count] = entries.offset, entries.size
            count += 1
    except _CorruptError:
        return count, False
    return count, entries.place == len(entries.data)


@dataclass(slots=True)
class _Entries:
    """Entries of an index block, read one after the other."""

    data: bytes  # the entries
    delta: bool  # True if values are delta-encoded
    first_keys: bool  # True if the first key of the block follows each handle
    trailer: int  # bytes after each block
    place: int = 0  # position of the next entry
    offset: int = 0  # offset of the last handle
    size: int = 0  # size of the last handle
    key: int = 0  # bytes of the last key

    def take(self) -> None:
        """Read the next entry. _CorruptError: its lengths are impossible."""
        shared, remainder = self._number(), self._number()
        length = 0 if self.delta else self._number()
        if shared > self.key:
            raise _CorruptError
        self._skip(remainder, len(self.data))
        self.key = shared + remainder
        end = len(self.data) if self.delta else self.place + length
        if end > len(self.data):
            raise _CorruptError
        if self.delta and shared:
            self._follow(end)
        else:
            self.offset, self.size = self._number(end), self._number(end)
        if self.first_keys:
            self._skip(self._number(end), end)
        if not self.delta:
            self.place = end

    def _follow(self, end: int) -> None:
        """Set the handle of the block right after the last one, from the difference in size."""
        zigzag = self._varint(end)
        self.offset += self.size + self.trailer
        self.size += zigzag >> 1 ^ -(zigzag & 1)
        if not 0 <= self.size <= _MOST or self.offset > _MOST:
            raise _CorruptError

    def _skip(self, length: int, end: int) -> None:
        """Pass over ``length`` bytes. _CorruptError: fewer are left."""
        if end - self.place < length:
            raise _CorruptError
        self.place += length

    def _number(self, end: int = -1) -> int:
        """Return the next integer, which ends before ``end``: a length or a part of a handle.

        ``end`` -1 is the end of the data. _CorruptError: it is too large.
        """
        value = self._varint(len(self.data) if end < 0 else end)
        if value > _MOST:
            raise _CorruptError
        return value

    def _varint(self, end: int) -> int:
        """Return the next integer of 64 bits."""
        value, self.place = _varint(self.data, self.place, end, 64)
        return value
