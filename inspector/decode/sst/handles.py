"""Positions of many blocks of a table, as columns."""

from __future__ import annotations

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.sst.footer import Handle
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Handles:
    """Positions of several adjacent blocks; sums of an offset and a size fit an int64."""

    offset: Int64s  # where each block is in the file
    size: Int64s  # bytes of each without its trailer

    @classmethod
    def of(cls, handle: Handle) -> Handles:
        """Return the position of a single block. RecordError: no file is that large."""
        handle.check()
        return cls(np.array([handle.offset], np.int64), np.array([handle.size], np.int64))

    def part(self, start: int, end: int | None = None) -> Handles:
        """Return the positions of blocks ``start`` to ``end``, or to the last."""
        return Handles(self.offset[start:end], self.size[start:end])
