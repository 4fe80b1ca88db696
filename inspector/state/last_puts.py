"""Which record of which file holds each live row: how one version is read in bounded memory.

Rows are read in full, but only the last put of a key is live. So the files are read twice: once
to learn, per key, the position of its last record (8 bytes a key), once more to return those.
"""

from __future__ import annotations

import numpy as np

from inspector.arrays import Bools, Int64s
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel

_FILE_SHIFT = 40
_RECORD_MASK = (1 << _FILE_SHIFT) - 1


class LastPuts:
    """Positions of the live rows of one version, learnt by reading its chain of files in order."""

    def __init__(self) -> None:
        self._interner = kernel().Interner()
        self._last = np.full(1024, -1, np.int64)

    def learn(self, file_number: int, block: RecordBlock) -> None:
        """Take a block over; files and blocks come in the order in which Spark applies them."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        keys = len(self._interner)
        if keys > len(self._last):
            grown = np.full(keys + (keys >> 3), -1, np.int64)
            grown[: len(self._last)] = self._last
            self._last = grown
        # Positions only grow, so the greatest is the last; the lowest bit marks a put.
        position = _positions(file_number, block)
        np.maximum.at(self._last, ids, position << 1 | (block.value_length >= 0))

    def finish(self) -> LivePositions:
        """The positions of the live rows; nothing of the keys is kept."""
        last = self._last[: len(self._interner)]
        return LivePositions(np.sort(last[(last & 1) == 1] >> 1))


class LivePositions:
    """The live records of a chain of files."""

    def __init__(self, positions: Int64s) -> None:
        self._positions = positions

    def __len__(self) -> int:
        """Live rows."""
        return len(self._positions)

    def any_in(self, file_number: int) -> bool:
        """Whether a file holds a live row at all."""
        low, high = np.searchsorted(
            self._positions, [file_number << _FILE_SHIFT, (file_number + 1) << _FILE_SHIFT]
        )
        return bool(high > low)

    def mask(self, file_number: int, block: RecordBlock) -> Bools:
        """Which records of a block are live rows."""
        position = _positions(file_number, block)
        found = np.searchsorted(self._positions, position)
        found = np.minimum(found, max(len(self._positions) - 1, 0))
        if not len(self._positions):
            return np.zeros(block.count, np.bool_)
        live: Bools = self._positions[found] == position
        return live


def _positions(file_number: int, block: RecordBlock) -> Int64s:
    record = np.arange(block.first_record, block.first_record + block.count, dtype=np.int64)
    return (file_number << _FILE_SHIFT) | (record & _RECORD_MASK)
