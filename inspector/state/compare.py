"""Snapshots compared with maps of the same version, or of the previous version."""

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
    """Numbers of keys in which a snapshot and the replayed map differ. False if there are none."""

    missing: int  # live keys of the map that the snapshot lacks
    extra: int  # keys of the snapshot that are not live in the map
    different: int  # keys that both have, with another value

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
    """Change a map to the rows of a snapshot, by puts and removals of the version that has begun.

    A put of a key with the value that it had is not seen.
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
    """Return how a snapshot's records differ from a map, whose live keys stay unchanged."""
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
    """Return how a map that a snapshot made differs from the delta of its own version.

    A key whose last record is a put must be live with that value; one whose last record is a
    removal must not be live. The map's live keys stay unchanged.
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
