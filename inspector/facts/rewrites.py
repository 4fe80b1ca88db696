"""Keys that every version writes anew: is the update really needed?"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inspector.arrays import longer
from inspector.facts.fact import StoreSum, fact
from inspector.facts.sizes import SizeCounts
from inspector.state.change import Change
from inspector.state.replay import StateMap


@fact("rewrites")
@dataclass(frozen=True)
class RewriteRuns(StoreSum):
    """How many live keys were put in exactly so many of the newest versions in a row. Adds.

    Attributes:
        lengths: keys by the number of versions.
    """

    lengths: SizeCounts = field(default_factory=SizeCounts)


class Rewrites:
    """Follows, per key, in how many versions in a row it was put; 8 bytes a key."""

    def __init__(self) -> None:
        self._step = -1
        self._last: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._run: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def update(self, change: Change, state: StateMap) -> None:
        """Apply one version's change; one that a snapshot brought ends every run."""
        self._step += 1
        if change.rebased:
            self._last, self._run = np.empty(0, np.int32), np.empty(0, np.int32)
        if len(state) > len(self._last):
            room = len(state) + (len(self._last) >> 3)
            self._last = longer(self._last, room, fill=-2)
            self._run = longer(self._run, room)
        if change.rebased:
            return
        touched = state.touched_keys()
        ids = touched.ids[touched.written]
        again = self._last[ids] == self._step - 1
        self._run[ids] = np.where(again, self._run[ids] + 1, 1)
        self._last[ids] = self._step

    def observe(self, state: StateMap) -> RewriteRuns:
        """The runs of the live keys at the version that was replayed last."""
        count = len(state)
        fresh = state.live[:count] & (self._last[:count] == self._step)
        return RewriteRuns(SizeCounts.of(self._run[:count][fresh].astype(np.int64)))
