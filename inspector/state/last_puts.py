"""Which record of which file holds each live row: how one version is read in bounded memory.

Rows are read in full, but only the last put of a key is live. So the files are read twice: once
to learn, per key, the position of its last record (8 bytes a key), once more to return those.
"""

from __future__ import annotations

import numpy as np

from inspector.arrays import longer
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.state.positions import Positions, positions_of


class LastPuts:
    """Positions of the live rows of one version, learnt by reading its chain of files in order."""

    def __init__(self) -> None:
        self._interner = kernel().Interner(hashed=True)
        self._last = np.full(1024, -1, np.int64)

    def learn(self, file_number: int, block: RecordBlock) -> None:
        """Take a block over; files and blocks come in the order in which Spark applies them."""
        ids = np.empty(block.count, np.int64)
        self._interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        keys = len(self._interner)
        if keys > len(self._last):
            self._last = longer(self._last, keys + (keys >> 3), fill=-1)
        # Positions only grow, so the greatest is the last; the lowest bit marks a put.
        position = positions_of(file_number, block.ordinals)
        np.maximum.at(self._last, ids, position << 1 | (block.value_length >= 0))

    def finish(self) -> Positions:
        """The positions of the live rows; nothing of the keys is kept."""
        last = self._last[: len(self._interner)]
        return Positions(np.sort(last[(last & 1) == 1] >> 1))
