"""Snapshots compared with maps: of the same version, or of the version before."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from inspector.arrays import chunks, concatenate, longer
from inspector.decode.records import REMOVED, RecordBlock
from inspector.light_dataclasses import dataclass
from inspector.state.replay import StateMap
from inspector.sums import Sums


@dataclass(frozen=True)
class SnapshotDifference(Sums):
    """Keys in which a snapshot and the replay differ: missing in the former, extra, different."""

    missing: int
    extra: int
    different: int

    @property
    def text(self) -> str:
        """Description of the differences, for the message of a problem."""
        return (
            f"got missing keys: {self.missing:,}, keys too many: {self.extra:,}, "
            f"keys with another value: {self.different:,}; "
            "expected what the deltas up to this version make"
        )

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.different)


def apply_snapshot(state: StateMap, blocks: Iterable[RecordBlock]) -> None:
    """Apply to a map what a snapshot has otherwise, as puts and removals of the version begun.

    That a key was put again with the value that it had is not seen.
    """
    seen = np.zeros(len(state), np.bool_)
    for block in blocks:
        old_values, ids, is_same = state.holds(block)
        if len(state) > len(seen):
            seen = longer(seen, len(state))
        seen[ids] = True
        differ = np.flatnonzero(~is_same)
        if len(differ):
            state.apply(old_values.part(differ), kept=True)
    gone = np.flatnonzero(state.live[: len(seen)] & ~seen)
    for ids in chunks(gone, 1 << 16):
        buffer, offsets, lengths = concatenate(state.keys(ids))
        removed = np.full(len(ids), REMOVED, np.int64)
        block = RecordBlock(buffer, 0, 0, offsets, lengths, np.zeros_like(removed), removed)
        state.apply(block, kept=True)


def compare_snapshot(state: StateMap, blocks: Iterable[RecordBlock]) -> SnapshotDifference:
    """Hold a snapshot's records against a map; the map's live keys stay as they are."""
    seen = np.zeros(len(state), np.bool_)
    extra = different = 0
    for block in blocks:
        _, ids, is_same = state.holds(block)
        if len(state) > len(seen):
            seen = longer(seen, len(state))
        present = state.live[ids]
        extra += int((~present & ~seen[ids]).sum())
        different += int((present & ~is_same).sum())
        seen[ids] = True
    missing = state.rows - int((seen & state.live[: len(seen)]).sum())
    return SnapshotDifference(missing, extra, different)


def compare_delta(state: StateMap, blocks: Iterable[RecordBlock]) -> SnapshotDifference:
    """Hold a map that a snapshot made against the delta of its own version.

    What a key's last record put has to be there, and what it removed must not be. The map's live
    keys stay as they are.
    """
    no_ids = np.empty(0, np.int64)
    all_ids, put, is_same = [no_ids], [no_ids.astype(np.bool_)], [no_ids.astype(np.bool_)]
    for block in blocks:
        old_values, ids, equal = state.holds(block)
        all_ids.append(ids)
        put.append(old_values.value_length >= 0)
        is_same.append(equal)
    keys = np.concatenate(all_ids)
    ids, last_index = np.unique(keys[::-1], return_index=True)
    last = len(keys) - 1 - last_index
    puts, equals, live = np.concatenate(put)[last], np.concatenate(is_same)[last], state.live[ids]
    return SnapshotDifference(
        missing=int((puts & ~live).sum()),
        extra=int((~puts & live).sum()),
        different=int((puts & live & ~equals).sum()),
    )
