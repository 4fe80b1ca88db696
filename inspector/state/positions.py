"""Where records lie: the number of the file and that of the record in it, as one number each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inspector.arrays import Int64s

_FILE_SHIFT = 40


def positions_of(file_number: int, ordinals: Int64s) -> Int64s:
    """The positions of some records of a file; they grow with the files and within them."""
    return (file_number << _FILE_SHIFT) + ordinals


@dataclass(frozen=True)
class Positions:
    """Some records of some files, by ascending position."""

    sorted: Int64s

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
        found = np.minimum(np.searchsorted(self.sorted, sought), len(self.sorted) - 1)
        hit = np.flatnonzero(self.sorted[found] == sought)
        return hit, found[hit]
