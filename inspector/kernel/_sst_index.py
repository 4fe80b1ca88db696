"""Find the handles in the index of RocksDB's table files; ``sst_index.c`` does the same.

An entry, integers as varints::

    bytes of the key shared with the one before | further ones | [bytes of the value] | key | value

and its value: the offset and size of a block, or of a delta-encoded index only by how much the size
is larger than the one before (zigzag), if the entry shares a part of its key with that one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inspector.kernel._arguments import octets, same_length, writable
from inspector.light_dataclasses import dataclass

_MOST = 1 << 61


class _CorruptError(Exception):
    """An entry is not what it should be; never leaves this module."""


def index_handles(
    buffer: Any, delta: bool, first_keys: bool, trailer: int, offsets: Any, sizes: Any
) -> tuple[int, bool]:
    """Find the handles of an index.

    Args:
        buffer: the entries of its block, without restarts.
        delta: whether its values are delta-encoded.
        first_keys: whether the first key of the block follows each handle.
        trailer: bytes behind each block.
        offsets: filled with the offset of each block.
        sizes: filled with its size.

    Returns:
        The number of handles found, and whether these are all: the next entry has impossible
        lengths otherwise, or no room.
    """
    starts, lengths = writable(offsets, np.int64), writable(sizes, np.int64)
    same_length(starts, lengths)
    if not 0 <= trailer <= 64:
        raise ValueError("arrays differ in length")
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
    """How far an index was read.

    Attributes:
        data: its entries. delta, first_keys, trailer: as of ``index_handles``.
        place: of the next entry. offset, size: the handle before. key: bytes of its key.
    """

    data: bytes
    delta: bool
    first_keys: bool
    trailer: int
    place: int = 0
    offset: int = 0
    size: int = 0
    key: int = 0

    def take(self) -> None:
        """Read the next entry.

        Raises:
            _CorruptError: its lengths are impossible.
        """
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
        zigzag = self._varint(end)
        self.offset += self.size + self.trailer
        self.size += zigzag >> 1 ^ -(zigzag & 1)
        if not 0 <= self.size <= _MOST or self.offset > _MOST:
            raise _CorruptError

    def _skip(self, length: int, end: int) -> None:
        if end - self.place < length:
            raise _CorruptError
        self.place += length

    def _number(self, end: int = -1) -> int:
        """The next integer, which is a length or a part of a handle."""
        value = self._varint(len(self.data) if end < 0 else end)
        if value > _MOST:
            raise _CorruptError
        return value

    def _varint(self, end: int) -> int:
        value = 0
        for bits, position in enumerate(range(self.place, min(self.place + 10, end))):
            value |= (self.data[position] & 0x7F) << 7 * bits
            if self.data[position] < 0x80:
                if value >> 64:
                    break
                self.place = position + 1
                return value
        raise _CorruptError
