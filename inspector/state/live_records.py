"""Positions of the live rows of a version, and keys that differ between two versions.

A position is the number of a file and the number of a record in it, as one number. Rows are read in
full, but only the last put of a key is live. So files are read twice: first to learn for each key
the position of its last record (8 bytes a key), then to return these records.

To compare two versions, both are read once. For each key the position of its last record and the
size and hash of its value are kept. The rows that differ are read again at their positions.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import numpy as np

from inspector.arrays import Int32s, Int64s, make_room
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.state.events import hash_values

_FILE_SHIFT = 40  # bits of a position that number the record; the higher ones number the file


def positions_of(file_number: int, ordinals: Int64s) -> Int64s:
    """Return the positions of records of a file; they ascend with files and within them."""
    return (file_number << _FILE_SHIFT) + ordinals


@dataclass(frozen=True)
class Positions:
    """Positions of records in files, in ascending order."""

    sorted: Int64s  # the positions

    @classmethod
    def join(cls, parts: Sequence[Positions]) -> Positions:
        """Return the positions of several parts as one."""
        first, *others = parts
        if not others:
            return first
        return cls(np.sort(np.concatenate([first.sorted, *(part.sorted for part in others)])))

    def has_any_in(self, file_number: int) -> bool:
        """Return True if a file has one of these positions."""
        ends = [file_number << _FILE_SHIFT, (file_number + 1) << _FILE_SHIFT]
        low, high = np.searchsorted(self.sorted, ends)
        return bool(high > low)

    def find(self, file_number: int, ordinals: Int64s) -> tuple[Int64s, Int64s]:
        """Return which records of a file are at these positions, and at which of them.

        ``ordinals`` ascend. Both results are arrays of indexes: the first in ``ordinals``, the
        second in ``sorted``.
        """
        if not len(ordinals):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        sought = positions_of(file_number, ordinals)
        first, last = int(sought[0]), int(sought[-1])
        low, high = np.searchsorted(self.sorted, [first, last + 1])
        between = self.sorted[low:high]
        rows = between - first
        if last - first + 1 == len(ordinals):  # the ordinals follow each other
            return rows, np.arange(low, high)
        rows = np.searchsorted(sought, between)
        hit = np.flatnonzero(sought[rows] == between)
        return rows[hit], low + hit


class LastPuts:
    """Positions of the live rows of one version, learned from its chain of files in order."""

    def __init__(self) -> None:
        self._interner = kernel().Interner(hashed=True)
        self._last = np.zeros(0, np.int64)
        self._records = 0
        self._has_removal = False

    @property
    def is_distinct(self) -> bool:
        """True if every record so far is a put, and no two records have the same key."""
        return self._records == len(self._interner) and not self._has_removal

    def learn(self, file_number: int, block: RecordBlock, ordinals: Int64s) -> None:
        """Add a block of a file; files and blocks must come in the order of Spark."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        make_room(self, ("_last",), len(self._interner))
        # Positions only grow, and the last one that is assigned to an id stays. The lowest bit
        # marks a put.
        is_put = block.value_length >= 0
        self._last[ids] = positions_of(file_number, ordinals) << 1 | is_put
        self._records += block.count
        self._has_removal |= not is_put.all()

    def finish(self) -> Positions:
        """Return the positions of the live rows, without their keys."""
        last = self._last[: len(self._interner)]
        return Positions(np.sort(last[(last & 1) == 1] >> 1))


class Compared(enum.IntEnum):
    """Side of a comparison: the old or the new version."""

    OLD = 0
    NEW = 1


@dataclass(frozen=True)
class Differences:
    """Keys that differ between two versions, numbered from 0; their bytes are not kept."""

    # numbers of the keys that are "added", "removed", and "changed" (live in both with another
    # value)
    ids: Mapping[str, Int64s]
    last: Int64s  # by version and key, twice the position of the last record, plus 1 for a put
    sizes: Int32s  # by version and key, bytes of the value of the last record
    key_sizes: Int32s  # bytes of each key

    @classmethod
    def join(cls, parts: Sequence[Differences]) -> Differences:
        """Return the differences of several key ranges as one."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part.key_sizes) for part in parts[:-1])])
        pairs = list(zip(parts, starts, strict=True))
        return cls(
            {
                change: np.concatenate([part.ids[change] + start for part, start in pairs])
                for change in parts[0].ids
            },
            np.concatenate([part.last for part in parts], axis=1),
            np.concatenate([part.sizes for part in parts], axis=1),
            np.concatenate([part.key_sizes for part in parts]),
        )

    def value_sizes(self, side: Compared, ids: Int64s) -> Int64s:
        """Return the bytes of some keys' values in a version."""
        sizes: Int64s = self.sizes[side][ids].astype(np.int64)
        return sizes

    def places(self, side: Compared, ids: Int64s) -> tuple[Positions, Int64s]:
        """Return the positions of some keys' rows in a version, and the keys in that order."""
        positions = self.last[side][ids] >> 1
        order = np.argsort(positions)
        return Positions(positions[order]), ids[order]


class TwoVersions:
    """Keys of two versions of one store; takes some 40 bytes a key in addition to its own."""

    def __init__(self) -> None:
        self._interner = kernel().Interner()
        self._last = np.zeros((2, 0), np.int64)  # of keys without a record as of a removal
        self._hash = np.zeros((2, 0), np.uint64)
        self._size = np.zeros((2, 0), np.int32)
        self._key_size = np.zeros(0, np.int32)

    def learn(self, side: Compared, file_number: int, block: RecordBlock, ordinals: Int64s) -> None:
        """Add a block of a version; files and blocks must come in the order of Spark."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        make_room(self, ("_key_size", "_last", "_hash", "_size"), len(self._interner))
        self._key_size[ids] = block.key_length
        # Positions only grow, so the greatest is the last; the lowest bit marks a put.
        position = positions_of(file_number, ordinals) << 1 | (block.value_length >= 0)
        np.maximum.at(self._last[side], ids, position)
        final = self._last[side][ids] == position
        hashes, sizes = hash_values(block)
        self._hash[side][ids[final]], self._size[side][ids[final]] = hashes[final], sizes[final]

    def start_from_old(self) -> None:
        """Let the new version begin with the old one's rows; its files are not read again."""
        for columns in (self._last, self._hash, self._size):
            columns[Compared.NEW] = columns[Compared.OLD]

    def forget(self, side: Compared) -> None:
        """Forget the records of one version."""
        self._last[side] = 0

    def differences(self) -> Differences:
        """Return the keys that differ between the two versions."""
        old, new = (self._last & 1) == 1
        is_same = (self._hash[0] == self._hash[1]) & (self._size[0] == self._size[1])
        differ = np.flatnonzero((old | new) & ~(old & new & is_same))
        old, new = old[differ], new[differ]
        masks = {"added": ~old, "removed": ~new, "changed": old & new}
        return Differences(
            {change: np.flatnonzero(mask) for change, mask in masks.items()},
            self._last[:, differ],
            self._size[:, differ],
            self._key_size[differ],
        )
