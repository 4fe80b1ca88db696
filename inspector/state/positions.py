"""Where records lie: the number of the file and that of the record in it, as one number each.

Which record of which file holds each live row: how one version is read in bounded memory.

Rows are read in full, but only the last put of a key is live. So the files are read twice: once
to learn, per key, the position of its last record (8 bytes a key), once more to return those.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from inspector.arrays import Int64s, longer
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass

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
        """Those of several."""
        return cls(np.sort(np.concatenate([part.sorted for part in parts])))

    def any_in(self, file_number: int) -> bool:
        """Whether a file holds one of them."""
        ends = [file_number << _FILE_SHIFT, (file_number + 1) << _FILE_SHIFT]
        low, high = np.searchsorted(self.sorted, ends)
        return bool(high > low)

    def find(self, file_number: int, ordinals: Int64s) -> tuple[Int64s, Int64s]:
        """Those among some records of a file: their indexes there, and in ``sorted``."""
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
        self._last = np.full(1024, -1, np.int64)

    def learn(self, file_number: int, block: RecordBlock, ordinals: Int64s) -> None:
        """Take a block over; files and blocks come in the order in which Spark applies them."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        keys = len(self._interner)
        if keys > len(self._last):
            self._last = longer(self._last, keys + (keys >> 3), fill=-1)
        # Positions only grow, so the greatest is the last; the lowest bit marks a put.
        position = positions_of(file_number, ordinals)
        np.maximum.at(self._last, ids, position << 1 | (block.value_length >= 0))

    def finish(self) -> Positions:
        """The positions of the live rows; nothing of the keys is kept."""
        last = self._last[: len(self._interner)]
        return Positions(np.sort(last[(last & 1) == 1] >> 1))
