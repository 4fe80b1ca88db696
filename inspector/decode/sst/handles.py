"""Positions of many blocks of a table, as columns."""

from __future__ import annotations

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.sst.footer import Handle
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Handles:
    """Where several blocks lie, one behind the other; sums of an offset and a size fit an int64."""

    offset: Int64s
    size: Int64s

    @classmethod
    def of(cls, handle: Handle) -> Handles:
        """Of a single block (RecordError: no file is so large)."""
        handle.check()
        return cls(np.array([handle.offset], np.int64), np.array([handle.size], np.int64))

    def part(self, start: int, end: int | None = None) -> Handles:
        """Of some of the blocks; without an end of all from one on."""
        return Handles(self.offset[start:end], self.size[start:end])
