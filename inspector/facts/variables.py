"""State variables of transformWithState: entries per key, and timers of keys that have no state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from inspector.arrays import Int64s
from inspector.facts.fact import Fact, StoreSum, fact
from inspector.facts.grouping_keys import GroupingKeys
from inspector.state.replay import BEFORE_WINDOW, StateMap

LISTED = 10
"""Keys with the most entries that each partition lists."""


@fact("timers_without_state")
@dataclass(frozen=True)
class TimersWithoutState(StoreSum):
    """Timers by whether their grouping key has a row in any variable. Adds; the zero is empty.

    Attributes:
        timers: live ones.
        without: of these, timers of keys without any state.
        without_bytes: their key and value bytes.
        keys: how many keys they have.
    """

    timers: int = 0
    without: int = 0
    without_bytes: int = 0
    keys: int = 0


@fact("entries_per_key")
@dataclass(frozen=True)
class EntriesPerKey(Fact):
    """Live entries of a list or map by their grouping key. Adds; the zero is empty.

    Attributes:
        keys, entries: how many.
        most: entries of the key that has the most.
        growing: keys to which entries were added in the window and from which none was removed, by
            the power of two that their entries reach: 10 for 1,024 to 2,047.
        versions: of the window whose changes are known; the fewest of any partition.
    """

    keys: int = 0
    entries: int = 0
    most: int = 0
    growing: Counter[int] = field(default_factory=Counter)
    versions: int | None = None

    def __add__(self, other: EntriesPerKey) -> EntriesPerKey:
        known = [one.versions for one in (self, other) if one.versions is not None]
        return EntriesPerKey(
            self.keys + other.keys,
            self.entries + other.entries,
            max(self.most, other.most),
            self.growing + other.growing,
            min(known, default=None),
        )

    def merge_key(self, _version: int) -> str:
        """All of a store add."""
        return ""

    def growing_from(self, entries: int) -> int:
        """Keys that only grow and have as many entries, rounded up to a power of two."""
        least = max(entries - 1, 0).bit_length()
        return sum(keys for power, keys in self.growing.items() if power >= least)


@fact("key_entries")
@dataclass(frozen=True)
class KeyEntries(Fact):
    """A grouping key of a list or map that has many entries; never added.

    Attributes:
        key: its UnsafeRow.
        entries: live ones. row_bytes: their key and value bytes.
        added: of these, those that came in the window.
        removed: entries of the key that were there in the window and are not any more.
    """

    key: bytes
    entries: int
    row_bytes: int
    added: int
    removed: int

    @property
    def held_bytes(self) -> int:
        """The key's."""
        return len(self.key)


def timers_without_state(
    timers: StateMap, owners: Int64s, with_state: Int64s
) -> TimersWithoutState:
    """Which timers fire for keys that have nothing.

    Args:
        timers: the map of the timers.
        owners: the grouping key of each of its rows.
        with_state: ids of the grouping keys that have a live row in a variable.
    """
    live = np.flatnonzero(timers.live[: len(timers)])
    bare = live[(owners[live] >= 0) & ~np.isin(owners[live], with_state)]
    sizes = timers.key_size[bare].astype(np.int64) + timers.value_size[bare]
    return TimersWithoutState(len(live), len(bare), int(sizes.sum()), len(np.unique(owners[bare])))


def entries_of(state: StateMap, owners: Int64s, keys: GroupingKeys) -> Iterator[Fact]:
    """The entries of a list or map, key by key.

    Args:
        state: the map of the store.
        owners: the grouping key of each of its rows, live or not.
        keys: the grouping keys.
    """
    known = owners >= 0
    live = state.live[: len(state)] & known
    entries = np.bincount(owners[live], minlength=len(keys))
    in_window = state.born_step[: len(state)] > BEFORE_WINDOW
    added = np.bincount(owners[live & in_window], minlength=len(keys))
    removed = np.bincount(owners[known & ~state.live[: len(state)]], minlength=len(keys))
    grown = entries[(added > 0) & (removed == 0)]
    powers = np.unique(np.frexp(grown.astype(np.float64))[1] - 1, return_counts=True)
    yield EntriesPerKey(
        int((entries > 0).sum()),
        int(entries.sum()),
        int(entries.max(initial=0)),
        Counter(dict(zip(*(each.tolist() for each in powers), strict=True))),
        len(state.versions) - state.base_step,
    )
    sizes = np.bincount(
        owners[live],
        (state.key_size[: len(state)].astype(np.float64) + state.value_size[: len(state)])[live],
        len(keys),
    )
    yield from _listed(keys, entries, {"bytes": sizes, "added": added, "removed": removed})


def _listed(
    keys: GroupingKeys, entries: Int64s, others: Mapping[str, Int64s]
) -> Iterator[KeyEntries]:
    ids = np.flatnonzero(entries)
    ids = ids[np.lexsort((ids, -entries[ids]))][:LISTED]
    for key_id, key in zip(ids.tolist(), keys.keys(ids), strict=True):
        yield KeyEntries(
            key,
            int(entries[key_id]),
            int(others["bytes"][key_id]),
            int(others["added"][key_id]),
            int(others["removed"][key_id]),
        )
