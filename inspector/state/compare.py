"""A snapshot held against the map that the deltas of the same version made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from inspector.arrays import longer
from inspector.decode.records import RecordBlock
from inspector.state.replay import StateMap


@dataclass(frozen=True)
class SnapshotDifference:
    """Keys in which a snapshot and the replay of its deltas disagree.

    Attributes:
        missing: in the replay, not in the snapshot. extra: the other way round.
        different: in both, with another value.
    """

    missing: int
    extra: int
    different: int

    @property
    def text(self) -> str:
        """What is wrong, for a problem."""
        return (
            f"got missing keys: {self.missing:,}, keys too many: {self.extra:,}, "
            f"keys with another value: {self.different:,}; "
            "expected what the deltas up to this version make"
        )

    def __add__(self, other: SnapshotDifference) -> SnapshotDifference:
        return SnapshotDifference(
            self.missing + other.missing,
            self.extra + other.extra,
            self.different + other.different,
        )

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.different)


def compare_snapshot(state: StateMap, blocks: Iterable[RecordBlock]) -> SnapshotDifference:
    """Hold a snapshot's records against a map; the map's live keys stay as they are."""
    seen = np.zeros(len(state), np.bool_)
    extra = different = 0
    for block in blocks:
        ids, same = state.holds(block)
        if len(state) > len(seen):
            seen = longer(seen, len(state))
        present = state.live[ids]
        extra += int((~present & ~seen[ids]).sum())
        different += int((present & ~same).sum())
        seen[ids] = True
    missing = state.rows - int((seen & state.live[: len(seen)]).sum())
    return SnapshotDifference(missing, extra, different)
