"""Effect of each record of a delta on its key: insert, update, same value, removal.

A :class:`Presence` is the least that shows it: per key whether it is there, and size and hash of
its value. Where nothing is known of the version before (a delta beside the snapshot that the
history starts from, or one behind a file that could not be read) a record is a plain ``put`` or
``removal``.
"""

from __future__ import annotations

import enum

import numpy as np

from inspector.arrays import Bools, Int8s, Int64s, UInt64s, make_room
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass

_UNSEEN, _LIVE, _ABSENT = 0, 1, 2
_UNKNOWN_SIZE = -1


class Event(enum.IntEnum):
    """Effect of a record, judged by the value that its key had before."""

    IN_SNAPSHOT = 0
    PUT = 1
    INSERT = 2
    UPDATE = 3
    SAME_VALUE = 4
    REMOVAL = 5
    ABSENT_REMOVAL = 6


WORDS = tuple(event.name.lower() for event in Event)  # as reports spell each, by its number
_REMOVALS = [Event.REMOVAL, Event.REMOVAL, Event.ABSENT_REMOVAL]
_EVENTS = np.array([_REMOVALS, [Event.PUT, Event.UPDATE, Event.INSERT]])
"""By whether a record is a put, and what was there: unseen, live, absent."""


@dataclass(frozen=True)
class BlockEvents:
    """The events of one block of records, in order of the file."""

    events: Int8s
    # bytes of the value that the key held, -1 where it held none or it is unknown
    old_sizes: Int64s
    # that value, None where it held none or it is unknown; empty unless they are kept
    old_values: tuple[bytes | None, ...] = ()

    def select(self, rows: Int64s) -> BlockEvents:
        """Return the events of the records at ``rows``."""
        values = tuple(self.old_values[row] for row in rows) if self.old_values else ()
        return BlockEvents(self.events[rows], self.old_sizes[rows], values)


class Presence:
    """Present keys of one store while its versions are replayed in order.

    If ``known``, a key that was never seen is absent; else nothing is known of it. With ``values``
    those of live keys are kept, to show what a record replaced. They then are most of the memory:
    their bytes, and some 40 bytes each.
    """

    def __init__(self, *, known: bool = True, values: bool = False) -> None:
        self._keep = values
        self.forget(known=known)

    def forget(self, *, known: bool) -> None:
        """Start anew: from the empty map if ``known``, else from one that nothing is known of."""
        self.known = known
        self._interner = kernel().Interner()
        self._state = np.zeros(0, np.int8)
        self._size = np.zeros(0, np.int64)
        self._hash = np.zeros(0, np.uint64)
        self._values: dict[int, bytes] = {}
        self._met = np.zeros(0, np.bool_)

    def load(self, block: RecordBlock) -> None:
        """Take over a block of a snapshot."""
        ids = self._ids(block)
        hashes, sizes = hash_values(block)
        self._state[ids] = _LIVE
        self._size[ids], self._hash[ids] = sizes, hashes
        self._replace(block, ids)

    def apply(self, block: RecordBlock) -> BlockEvents:
        """Apply a block of a delta and return what each record did."""
        ids = self._ids(block)
        replaced = self._replace(block, ids)
        hashes, sizes = hash_values(block)
        is_put: Bools = block.value_length >= 0
        order = np.argsort(ids, kind="stable")
        ids, hashes, sizes, is_put = ids[order], hashes[order], sizes[order], is_put[order]
        state, size, old_hash = self._state[ids], self._size[ids], self._hash[ids]
        # A key that comes again in the block meets what the record before left.
        again = np.flatnonzero(ids[1:] == ids[:-1]) + 1
        state[again] = np.where(is_put[again - 1], _LIVE, _ABSENT)
        size[again], old_hash[again] = sizes[again - 1], hashes[again - 1]
        last = np.ones(len(ids), np.bool_)
        last[again - 1] = False
        self._state[ids[last]] = np.where(is_put[last], _LIVE, _ABSENT)
        self._size[ids[last]], self._hash[ids[last]] = sizes[last], hashes[last]
        if self.known:
            state[state == _UNSEEN] = _ABSENT
        is_same = is_put & (state == _LIVE) & (old_hash == hashes) & (size == sizes)
        events, old_sizes = np.empty(len(ids), np.int8), np.empty(len(ids), np.int64)
        events[order] = np.where(is_same, Event.SAME_VALUE, _EVENTS[is_put.astype(np.int8), state])
        old_sizes[order] = np.where(state == _LIVE, size, _UNKNOWN_SIZE)
        return BlockEvents(events, old_sizes, replaced)

    def begin_comparison(self) -> None:
        """The blocks that are applied from now on are all rows of a snapshot."""
        self._met[:] = False

    def end_comparison(self) -> tuple[RecordBlock, BlockEvents]:
        """The keys that were there before and are not in the snapshot, as removals."""
        gone = np.flatnonzero((self._state == _LIVE) & ~self._met)
        ends = np.zeros(len(gone) + 1, np.int64)
        keys = self._interner.gather(gone, ends)
        zeros = np.zeros(len(gone), np.int64)
        block = RecordBlock(keys, 0, 0, ends[:-1], np.diff(ends), zeros, zeros - 1)
        return block, self.apply(block)

    def _replace(self, block: RecordBlock, ids: Int64s) -> tuple[bytes | None, ...]:
        """Keep the values of a block in the place of older ones, and return those."""
        if not self._keep:
            return ()
        old_values, replaced = self._values, []
        view = memoryview(block.buffer)
        columns = (column.tolist() for column in (ids, block.value_offset, block.value_length))
        for key_id, start, length in zip(*columns, strict=True):
            replaced.append(old_values.pop(key_id, None))
            if length >= 0:
                old_values[key_id] = bytes(view[start : start + length])
        return tuple(replaced)

    def _ids(self, block: RecordBlock) -> Int64s:
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        make_room(self, ("_state", "_size", "_hash", "_met"), len(self._interner))
        self._met[ids] = True
        return ids


def hash_values(block: RecordBlock) -> tuple[UInt64s, Int64s]:
    """A 64-bit hash of each record's value, and its bytes; of a removal, those of no bytes."""
    sizes = np.maximum(block.value_length, 0)
    offsets = np.where(block.value_length >= 0, block.value_offset, 0)
    hashes = np.zeros(block.count, np.uint64)
    kernel().hash64(block.buffer, offsets, sizes, -1, hashes)
    return hashes, sizes
