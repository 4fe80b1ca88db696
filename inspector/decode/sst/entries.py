"""Entries of data blocks: user keys, sequence numbers, types and values, as spans."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inspector.arrays import Int64s, distinct
from inspector.decode.sst.blocks import RawBlocks
from inspector.exceptions import DecodeError, RecordError
from inspector.kernel import record_layout as layout
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.model import Limits, above_limit

DELETION, VALUE, MERGE, SINGLE_DELETION, RANGE_DELETION = 0, 1, 2, 7, 15  # Types of entries.
_READ = (DELETION, VALUE, MERGE, SINGLE_DELETION)  # types that are read
# types of RocksDB that are refused, in words
_UNREAD = {
    17: "a value in a blob file",
    20: "a deletion with a user's timestamp",
    22: "a wide-column value",
    24: "a value with a preferred sequence number",
}

# bytes of the smallest entry in a block: three lengths and the end of an internal key
_SMALLEST = 11
_ROOM = 1 << 16  # most entries of one block of entries
# message by the status of the kernel
_MESSAGES = {
    layout.BAD_BLOCK: "a block without room for its restarts",
    layout.BAD_ENTRY: "an entry with impossible lengths or an impossible sequence number",
    layout.BAD_ORDER: "an entry that is not above the one before",
}


@dataclass(frozen=True, slots=True, eq=False)
class LiveBlock:
    """Consecutive live keys with their values."""

    buffer: bytes  # bytes of keys and values
    spans: Int64s  # four rows: offset and length of each key, offset and length of each value

    @property
    def count(self) -> int:
        """Number of keys."""
        return len(self.spans[0])


@dataclass(frozen=True, slots=True, eq=False)
class EntryBlock(LiveBlock):
    """Consecutive entries of a table.

    Keys are user keys; deletions have empty values. Key and value of an entry are next to each
    other in the buffer, with the 8 bytes of the internal key between them, and entries follow each
    other.
    """

    tag: Int64s  # last 8 bytes of each internal key: sequence number << 8 | type
    # True if every entry is a value and no user key occurs twice, neither here nor at the end of
    # the previous block
    plain: bool

    @property
    def sequence(self) -> Int64s:
        """Sequence number of each entry."""
        return self.tag >> 8

    @property
    def type(self) -> Int64s:
        """Type of each entry: 0 deletion, 1 value, 2 merge operand, 7 single deletion."""
        return self.tag & 0xFF

    def key(self, index: int) -> bytes:
        """Return the user key of an entry."""
        start, length = self.spans[:2, index].tolist()
        return self.buffer[start : start + length]

    def value(self, index: int) -> bytes:
        """Return the value of an entry."""
        start, length = self.spans[2:, index].tolist()
        return self.buffer[start : start + length]


class EntryReader:
    """Finds the entries in one table's blocks, which must be given in order.

    Attributes:
        count: number of entries so far.
    """

    def __init__(
        self,
        limits: Limits,  # ``record_bytes`` for a key or value; ``block_bytes``, held at once
        types: tuple[int, ...] = _READ,  # of entries that may be there
        held_bytes: int | None = None,  # what is held at once instead
    ) -> None:
        self._limits, self._types = limits, types
        self._previous = b""
        self._out = bytearray(held_bytes or limits.block_bytes)
        self._columns = np.empty(0, np.int64)
        self.count = 0

    def read(self, blocks: RawBlocks) -> Iterator[EntryBlock]:
        """Yield the entries of some blocks.

        RecordError: an entry is corrupt, or not above the previous one. LimitError: a key or value
        is too long. DecodeError: an entry has a type that is not read.
        """
        room = min(_ROOM, int(blocks.length.sum()) // _SMALLEST + 1)
        if len(self._columns) < room * layout.ENTRY:
            self._columns = np.empty(room * layout.ENTRY, np.int64)
        state = np.zeros(3, np.int64)
        status = layout.FULL
        while status == layout.FULL:
            status, count, used, plain = kernel().table_entries(
                *(blocks.buffer, blocks.offset, blocks.length, state, self._previous, self._out),
                *(self._columns, self._limits.record_bytes),
            )
            if count:
                yield self._block(count, used, bool(plain), blocks, state)
            if status == layout.FULL and int(state[2]) > len(self._out):
                self._out = bytearray(int(state[2]))
        if status == layout.MORE:
            return
        offset = int(blocks.place[state[0]])
        if status == layout.OVER_LIMIT:
            text = "a key or value is too long (offset of its block)"
            raise above_limit("record_bytes", text, self._limits, offset)
        raise RecordError(f"{_MESSAGES[status]} (offset of its block)", offset=offset)

    def _block(
        self, count: int, used: int, plain: bool, blocks: RawBlocks, state: Int64s
    ) -> EntryBlock:
        """Return the entries that the kernel found. DecodeError: a type that is not read."""
        columns = self._columns.reshape(layout.ENTRY, -1)[:, :count].copy()
        buffer = bytes(memoryview(self._out)[:used])
        block = EntryBlock(buffer, columns[:4], columns[4], plain)
        key, _, value, _ = block.spans[:, -1].tolist()
        self._previous = buffer[key:value]
        self.count += count
        if not plain:
            for kind in sorted(set(distinct(block.type).tolist()) - set(self._types)):
                words = f"an entry of type {kind} ({_UNREAD.get(kind, 'an unknown one')})"
                near = int(blocks.place[min(state[0], len(blocks.place) - 1)])
                message = f"{words}, which is not read (offset of a block near it)"
                raise DecodeError(message, offset=near)
        return block
