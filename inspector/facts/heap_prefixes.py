"""Prefixes of a session window's keys: the grouping columns, which group has which sessions.

``PrefixScannableHDFSBackedStateStoreMap`` (Spark 3.2 and later) keeps, in addition to the map of
rows, a ``ConcurrentHashMap<UnsafeRow, mutable.HashSet<UnsafeRow>>``. It leads from the grouping
columns, which are a key without its last field, to the keys that begin with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from inspector.arrays import Int64s, count_by, longer, tally
from inspector.facts.fact import Fact, VersionSum, fact
from inspector.facts.join_rows import WORD, cut_index, min_size
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.variable_entries import NOBODY, GroupingKeys, KeyEntries, entries_of
from inspector.light_dataclasses import dataclass, field, replace
from inspector.sparktypes import StructType
from inspector.state.change import Change
from inspector.state.replay import StateMap


@fact("prefixes")
@dataclass(frozen=True)
class PrefixFacts(VersionSum):
    """Prefixes of keys at one version of a store. Adds up."""

    by_partition = True

    prefixes: int = 0  # live prefixes
    prefix_bytes: int = 0  # bytes of their rows
    new_prefixes: int = 0  # live prefixes whose row object was created in this version
    new_prefix_bytes: int = 0  # bytes of these rows
    gone_prefixes: int = 0  # prefixes of the previous version that this version does not have
    # live prefixes by the number of their keys
    set_sizes: SizeCounts = field(default_factory=SizeCounts)


class LivePrefixes:
    """Live prefixes of one store, kept up to date version by version.

    ``key_fields`` is the number of fields of a key; its last field is the session's start.
    """

    def __init__(self, key_fields: int) -> None:
        bits = (key_fields + 63) // 64 * 8
        self._slot = bits + 8 * (key_fields - 1)
        self._shorter = 8 + bits - (key_fields + 62) // 64 * 8
        self._clear()

    def _clear(self) -> None:
        """Forget all prefixes."""
        self._groups = GroupingKeys()
        self._of_key: Int64s = np.empty(0, np.int64)
        self._keys: Int64s = np.empty(0, np.int64)
        self._bytes: Int64s = np.empty(0, np.int64)

    def update(self, change: Change, state: StateMap) -> PrefixFacts:
        """Apply one version's change and return its facts; ``state`` is the map after it."""
        # A prefix row lives as long as its set is not empty. The operator removes a group's old
        # sessions before it puts the new ones (StreamingSessionWindowStateManager.putRows), so that
        # the row outlives the batch exactly if one of its keys does.
        if change.rebased:
            self._clear()
        self._learn(state)
        had = self._keys
        touched = state.list_touched_keys()
        ids, was, now = touched.ids, touched.was_live, touched.now_live
        outlives = now & ~touched.reborn
        gone = self._count(ids[was & ~outlives])
        self._keys = had - gone + self._count(ids[now & ~outlives])
        live = self._keys > 0
        new = live & (had - gone == 0)
        sizes, counts = tally(self._keys[live])
        return PrefixFacts(
            prefixes=int(live.sum()),
            prefix_bytes=int(self._bytes[live].sum()),
            new_prefixes=int(new.sum()),
            new_prefix_bytes=int(self._bytes[new].sum()),
            gone_prefixes=int((~live & (had > 0)).sum()),
            set_sizes=SizeCounts(count_by(sizes, counts)),
        )

    def entries(self, state: StateMap, key: StructType) -> Iterator[Fact]:
        """Yield one EntriesPerKey for all prefixes, then a KeyEntries for each largest prefix.

        The facts count the live sessions at the last replayed version, with the prefix as grouping
        key. ``key`` is the schema of the keys of the map; rows that do not fit it are not counted.
        """
        self._learn(state)
        sizes = state.key_size[: len(state)]
        is_row = (sizes % WORD == 0) & (sizes >= min_size(key))
        owners = np.where(is_row, self._of_key, NOBODY)
        for item in entries_of(state, owners, self._groups):
            if isinstance(item, KeyEntries):
                words, _ = cut_index(np.frombuffer(item.key, "<i8")[None], key)
                item = replace(item, key=words.tobytes())
            yield item

    def _count(self, ids: Int64s) -> Any:
        """Return the number of given keys of each prefix, by its number."""
        return np.bincount(self._of_key[ids], minlength=len(self._bytes))

    def _learn(self, state: StateMap) -> None:
        """Give a number to the prefixes of keys that are new in the map.

        A prefix is the key with its last slot set to zero.
        """
        fresh = np.arange(len(self._of_key), len(state), dtype=np.int64)
        if not len(fresh):
            return
        keys, ends = state.join_keys(fresh)
        data = np.frombuffer(bytearray(keys), np.uint8)
        starts = ends[:-1][np.diff(ends) >= self._slot + 8]  # a shorter key does not fit its schema
        for slot in range(self._slot, self._slot + 8):
            data[starts + slot] = 0
        numbers = self._groups.number(data, ends[:-1], np.diff(ends))
        self._of_key = np.concatenate([self._of_key, numbers])
        self._keys = longer(self._keys, len(self._groups))
        self._bytes = longer(self._bytes, len(self._groups))
        self._bytes[numbers] = np.diff(ends) - self._shorter
