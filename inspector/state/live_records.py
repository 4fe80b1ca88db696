"""Positions of the live rows of a version, and keys that differ between two versions.

A position is the number of a file and that of a record in it, as one number. Rows are read in
full, but only the last put of a key is live. So files are read twice: once to learn, per key, the
position of its last record (8 bytes a key), once more to return those.

Of two versions both are read once and leave, per key, the position of its last record and the
value's size and hash. The rows that differ are then read again at those positions.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from inspector.arrays import Int32s, Int64s, make_room
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.state.events import hash_values

_FILE_SHIFT = 40


def positions_of(file_number: int, ordinals: Int64s) -> Int64s:
    """The positions of some records of a file; they grow with the files and within them."""
    return (file_number << _FILE_SHIFT) + ordinals


@dataclass(frozen=True)
class Positions:
    """Some records of some files, by ascending position."""

    sorted: Int64s

    @classmethod
    def join(cls, parts: Iterable[Positions]) -> Positions:
        """Return the positions of several parts, sorted."""
        return cls(np.sort(np.concatenate([part.sorted for part in parts])))

    def has_any_in(self, file_number: int) -> bool:
        """Return whether a file has one of these positions."""
        ends = [file_number << _FILE_SHIFT, (file_number + 1) << _FILE_SHIFT]
        low, high = np.searchsorted(self.sorted, ends)
        return bool(high > low)

    def find(self, file_number: int, ordinals: Int64s) -> tuple[Int64s, Int64s]:
        """Return the indexes of matches in ``ordinals`` and in ``sorted``."""
        if not len(self.sorted):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        sought = positions_of(file_number, ordinals)
        result = np.minimum(np.searchsorted(self.sorted, sought), len(self.sorted) - 1)
        hit = np.flatnonzero(self.sorted[result] == sought)
        return hit, result[hit]


class LastPuts:
    """Positions of the live rows of one version, learnt by reading its chain of files in order."""

    def __init__(self) -> None:
        self._interner = kernel().Interner(hashed=True)
        self._last = np.zeros(0, np.int64)

    def learn(self, file_number: int, block: RecordBlock, ordinals: Int64s) -> None:
        """Take a block over; files and blocks come in the order in which Spark applies them."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        make_room(self, ("_last",), len(self._interner))
        # Positions only grow, so the greatest is the last; the lowest bit marks a put.
        position = positions_of(file_number, ordinals)
        np.maximum.at(self._last, ids, position << 1 | (block.value_length >= 0))

    def finish(self) -> Positions:
        """The positions of the live rows; nothing of the keys is kept."""
        last = self._last[: len(self._interner)]
        return Positions(np.sort(last[(last & 1) == 1] >> 1))


class Compared(enum.IntEnum):
    """Side of a comparison: the old or the new version."""

    OLD = 0
    NEW = 1


@dataclass(frozen=True)
class Differences:
    """The keys that differ, by their numbers from 0 on; nothing of their bytes."""

    # the numbers of the keys that are "added", "removed", and "changed": these are live in both
    # versions with another value
    ids: Mapping[str, Int64s]
    last: Int64s  # of each version and key, twice the place of the last record, and 1 for a put
    sizes: Int32s  # bytes of its value there
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
        """Bytes of each of their values in a version."""
        sizes: Int64s = self.sizes[side][ids].astype(np.int64)
        return sizes

    def places(self, side: Compared, ids: Int64s) -> tuple[Positions, Int64s]:
        """Return the positions of some keys' rows in the files of a version, and the keys."""
        positions = self.last[side][ids] >> 1
        order = np.argsort(positions)
        return Positions(positions[order]), ids[order]


class TwoVersions:
    """The keys of two versions of one store; some 40 bytes a key beside its own."""

    def __init__(self) -> None:
        self._interner = kernel().Interner()
        self._last = np.zeros((2, 0), np.int64)  # of keys without a record as of a removal
        self._hash = np.zeros((2, 0), np.uint64)
        self._size = np.zeros((2, 0), np.int32)
        self._key_size = np.zeros(0, np.int32)

    def learn(self, side: Compared, file_number: int, block: RecordBlock, ordinals: Int64s) -> None:
        """Take a block over; files and blocks come in the order in which Spark applies them."""
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
        """Let the new version begin with the files of the old one, which are not read again."""
        for columns in (self._last, self._hash, self._size):
            columns[Compared.NEW] = columns[Compared.OLD]

    def forget(self, side: Compared) -> None:
        """Nothing of a version is known any more."""
        self._last[side] = 0

    def differences(self) -> Differences:
        """The keys that differ."""
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
