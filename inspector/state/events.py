"""Effect of each record of a delta on its key: insert, update, same value, removal.

A :class:`Presence` keeps the least that shows it: for each key if it is live, and size and hash of
its value. If the previous version is not known, a record is a plain ``put`` or ``removal``. That is
so for a delta next to the snapshot that the history starts from, or after an unreadable file.
"""

from __future__ import annotations

import enum

import numpy as np

from inspector.arrays import Bools, Int8s, Int64s, UInt64s, make_room
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass

_UNSEEN, _LIVE, _ABSENT = 0, 1, 2  # States of a key: never seen, live, removed.
_UNKNOWN_SIZE = -1  # size of a previous value that is not known


class Event(enum.IntEnum):
    """Effect of a record, judged by the value that its key had before."""

    IN_SNAPSHOT = 0  # a row of the snapshot from which the history starts
    PUT = 1  # a put of a key that may have existed
    INSERT = 2  # a put of a key that did not exist
    UPDATE = 3  # a put of another value for a key that existed
    SAME_VALUE = 4  # a put of the value that the key had
    REMOVAL = 5  # a removal of a key that existed or may have existed
    ABSENT_REMOVAL = 6  # a removal of a key that did not exist


# spelling of each event in reports, by its number
WORDS = tuple(event.name.lower() for event in Event)
# events of a removal, by the state of the key
_REMOVALS = [Event.REMOVAL, Event.REMOVAL, Event.ABSENT_REMOVAL]
_EVENTS = np.array([_REMOVALS, [Event.PUT, Event.UPDATE, Event.INSERT]])
"""Events by kind of record (0: removal, 1: put) and by state of the key (unseen, live, absent)."""


@dataclass(frozen=True)
class BlockEvents:
    """Effects of the records of one block, in the order of the file."""

    events: Int8s  # an :class:`Event` for each record
    old_sizes: Int64s  # bytes of the value that the key had; -1 if it had none or it is not known
    # the old value, None if the key had none or it is not known; empty if values are not kept
    old_values: tuple[bytes | None, ...] = ()

    def select(self, rows: Int64s) -> BlockEvents:
        """Return the events of the records at ``rows``."""
        values = tuple(self.old_values[row] for row in rows) if self.old_values else ()
        return BlockEvents(self.events[rows], self.old_sizes[rows], values)


class Presence:
    """Live keys of one store while its versions are replayed in order.

    If ``known``, a key that was never seen is absent; else nothing is known of it. With ``values``
    the values of live keys are kept, to show what a record replaced. They then take most of the
    memory: their bytes, and some 40 bytes each.
    """

    def __init__(self, *, known: bool = True, values: bool = False) -> None:
        self._keep = values
        self.forget(known=known)

    def forget(self, *, known: bool) -> None:
        """Start again, from an empty map if ``known``, else from one whose keys are not known."""
        self.known = known
        self._interner = kernel().Interner()
        self._state = np.zeros(0, np.int8)
        self._size = np.zeros(0, np.int64)
        self._hash = np.zeros(0, np.uint64)
        self._values: dict[int, bytes] = {}
        self._met = np.zeros(0, np.bool_)

    def load(self, block: RecordBlock) -> None:
        """Add the rows of a block of a snapshot."""
        ids = self._ids(block)
        hashes, sizes = hash_values(block)
        self._state[ids] = _LIVE
        self._size[ids], self._hash[ids] = sizes, hashes
        self._replace(block, ids)

    def apply(self, block: RecordBlock) -> BlockEvents:
        """Apply a block of a delta, and return the effect of each record."""
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
        """Begin a comparison: the blocks applied from now on are all rows of a snapshot."""
        self._met[:] = False

    def end_comparison(self) -> tuple[RecordBlock, BlockEvents]:
        """Remove the live keys that the snapshot lacks; return their removals and the effects."""
        gone = np.flatnonzero((self._state == _LIVE) & ~self._met)
        ends = np.zeros(len(gone) + 1, np.int64)
        keys = self._interner.gather(gone, ends)
        zeros = np.zeros(len(gone), np.int64)
        block = RecordBlock(keys, 0, 0, ends[:-1], np.diff(ends), zeros, zeros - 1)
        return block, self.apply(block)

    def _replace(self, block: RecordBlock, ids: Int64s) -> tuple[bytes | None, ...]:
        """Keep the values of a block, and return the replaced ones; empty if none are kept."""
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
        """Return the ids of the keys of a block, and mark them as met."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        make_room(self, ("_state", "_size", "_hash", "_met"), len(self._interner))
        self._met[ids] = True
        return ids


def hash_values(block: RecordBlock) -> tuple[UInt64s, Int64s]:
    """Return a 64-bit hash and the size of each record's value.

    A removal has size 0 and the hash of no bytes.
    """
    sizes = np.maximum(block.value_length, 0)
    offsets = np.where(block.value_length >= 0, block.value_offset, 0)
    hashes = np.zeros(block.count, np.uint64)
    kernel().hash64(block.buffer, offsets, sizes, -1, hashes)
    return hashes, sizes
