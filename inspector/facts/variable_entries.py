"""State variables of transformWithState: entries of each key, and timers of keys without state.

Grouping keys get ids that are the same in all stores of one operator. The key of a value is the
grouping key; the key of a list's entry has an index after it; a map's entry and a timer have it as
the first field of their key. Its bytes are the same in all stores, because a struct in an UnsafeRow
is an UnsafeRow.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from inspector.arrays import Bools, Int64s, UInt8s, chunks, concatenate, count_by, distinct, tally
from inspector.facts.fact import Fact, StoreSum, fact
from inspector.facts.join_rows import ROWS_AT_ONCE, WORD, min_size, number_rows, without_index
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass, field
from inspector.sparktypes import StructType
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap
from inspector.sums import lesser, sum_by

LISTED = 10
"""A partition lists a key that has at least one of this number of its entries (a tenth), so at most
this number of keys. The list does not depend on the order of keys, so ranges list the same.
"""
# stands for the id of the grouping key of a row that does not fit its schema
NOBODY = -1


@fact("timers_without_state")
@dataclass(frozen=True)
class TimersWithoutState(StoreSum):
    """Timers with and without a row of their grouping key in any variable. Adds up."""

    timers: int = 0  # live timers
    without: int = 0  # of these, timers of keys without any state
    without_bytes: int = 0  # key and value bytes of these timers
    keys: int = 0  # number of grouping keys that have timers and no state
    owners: int = 0  # number of grouping keys that have a timer


@fact("fired_keys")
@dataclass(frozen=True)
class FiredKeys(StoreSum):
    """Grouping keys whose timers fired, or were deleted when due. Adds up."""

    keys: int = 0  # number of these keys
    kept: int = 0  # of these, keys that still have a row in the variable


@fact("entries_per_key")
@dataclass(frozen=True)
class EntriesPerKey(StoreSum):
    """Live entries of a list or map, by grouping key. Adds up; the zero is empty."""

    keys: int = 0  # grouping keys with entries
    entries: int = 0  # live entries
    most: int = sum_by(max, 0)  # entries of the key that has the most
    # keys that gained entries in the window and lost none, by the power of two that their entries
    # reach: 10 for 1,024 to 2,047. Lists that are written again as a whole, such as one that keeps
    # the newest entries, do not count
    growing: Counter[int] = field(default_factory=Counter)
    # versions of the window whose changes are known; the fewest of any partition
    versions: int | None = sum_by(lesser, None)

    def growing_from(self, entries: int) -> int:
        """Return how many keys only grow and have at least ``entries`` entries.

        The number of entries is rounded up to a power of two.
        """
        min_bits = max(entries - 1, 0).bit_length()
        return sum(keys for power, keys in self.growing.items() if power >= min_bits)


@fact("key_entries")
@dataclass(frozen=True)
class KeyEntries(Fact):
    """A grouping key of a list or map that has many entries. Never added up."""

    key: bytes  # its UnsafeRow
    entries: int  # live entries
    row_bytes: int  # key and value bytes of these entries
    added: int  # of these entries, those that were added in the window
    removed: int  # entries of the key that were removed in the window

    def is_listed(self, entries: int) -> bool:
        """Return True if the key has at least a share of 1/``LISTED`` of a partition's entries.

        ``entries`` is their number. Such keys are listed.
        """
        return self.entries * LISTED >= entries


def timers_without_state(
    timers: StateMap, owners: Int64s, owners_with_state: Int64s
) -> TimersWithoutState:
    """Return the number of live timers, and of those whose key has no state.

    ``owners`` has the key id of each timer, below 0 if its key does not fit the schema; keys in
    ``owners_with_state`` have state.
    """
    live = np.flatnonzero(timers.live[: len(timers)])
    known = live[owners[live] >= 0]
    bare = known[~np.isin(owners[known], owners_with_state)]
    keys, bare_keys = (len(distinct(owners[rows])) for rows in (known, bare))
    return TimersWithoutState(
        len(live), len(bare), int(timers.row_size(bare).sum()), bare_keys, keys
    )


def fired_keys(timers: StateMap, owners: Int64s, now_ms: int) -> Int64s:
    """Return the ids of the grouping keys that had a timer due at ``now_ms`` and have no timer now.

    ``owners`` has the key id of each timer, live or not.
    """
    # A timer's last time stays in the map when it goes.
    live, is_known = timers.live[: len(timers)], owners >= 0
    time = timers.clock[: len(timers)]
    due = is_known & ~live & (time != NO_CLOCK) & (time <= now_ms)
    return np.setdiff1d(owners[due], owners[is_known & live])


def entries_of(state: StateMap, owners: Int64s, keys: GroupingKeys) -> Iterator[Fact]:
    """Yield the entries of a list or map in total, then the keys with the most entries.

    ``owners`` has the id in ``keys`` of each row, live or not.
    """
    is_known = owners >= 0
    live = state.live[: len(state)] & is_known
    entries = np.bincount(owners[live], minlength=len(keys))
    is_new = state.born_step[: len(state)] > BEFORE_WINDOW
    added = np.bincount(owners[live & is_new], minlength=len(keys))
    removed = np.bincount(owners[is_known & ~state.live[: len(state)]], minlength=len(keys))
    grown = entries[_gaining(state, owners, live & is_new, len(keys)) & (removed == 0)]
    powers = tally(np.frexp(grown.astype(np.float64))[1] - 1)
    yield EntriesPerKey(
        *(int((entries > 0).sum()), int(entries.sum()), int(entries.max(initial=0))),
        *(count_by(*powers), len(state.versions) - state.base_step),
    )
    sizes = np.bincount(owners[live], state.row_size(np.flatnonzero(live)), len(keys))
    yield from _largest_keys(keys, (entries, sizes, added, removed))


def _gaining(state: StateMap, owners: Int64s, added: Bools, keys: int) -> Bools:
    """Return a mask of the keys that gained entries and were not only rewritten as a whole.

    A key counts if each of its new entries was put once, or if one of them was put at most half as
    often as another. ``owners`` has the number of the key of each row, ``added`` marks the entries
    that are new in the window, and ``keys`` is the number of keys, the mask's length.
    """
    # A list that is written whole has new entries by the records, as ListState.put removes the old
    # ones; but each was put as often as the others. Where entries are put once all are new.
    rows = np.flatnonzero(added)
    puts, owner = state.puts[rows], owners[rows]
    most_puts = np.zeros(keys, puts.dtype)
    np.maximum.at(most_puts, owner, puts)
    gaining = np.zeros(keys, np.bool_)
    gaining[owner[(2 * puts <= most_puts[owner]) | (most_puts[owner] == 1)]] = True
    return gaining


def _largest_keys(keys: GroupingKeys, columns: Sequence[Int64s]) -> Iterator[KeyEntries]:
    """Yield the keys that a partition lists, the one with the most entries first.

    ``columns`` has by key id the entries, their bytes, and the added and removed entries.
    """
    entries = columns[0]
    ids = np.flatnonzero((entries > 0) & (entries * LISTED >= entries.sum()))
    ids = ids[np.lexsort((ids, -entries[ids]))]
    for key_id, key in zip(ids.tolist(), keys.keys(ids), strict=True):
        yield KeyEntries(key, *(int(column[key_id]) for column in columns))


class KeyPlace(enum.Enum):
    """Position of the grouping key in a row's key; the values are the names in tasks."""

    WHOLE = "whole"  # all fields of the key
    INDEXED = "indexed"  # all but the last field
    FIRST = "first"  # the first field


class GroupingKeys:
    """Numbers grouping keys in the order in which they are met; equal keys have equal numbers."""

    def __init__(self) -> None:
        self._interner = kernel().Interner()

    def __len__(self) -> int:
        """Return the number of distinct keys so far."""
        return len(self._interner)

    def owners(self, state: StateMap, key_place: KeyPlace, schema: StructType) -> Int64s:
        """Return the id of the grouping key of every row in the map; NOBODY for a misfit.

        Live and removed rows have one. ``schema`` is the schema of the key, or for FIRST of the
        grouping key.
        """
        owners = np.full(len(state), NOBODY, np.int64)
        all_ids = np.arange(len(state), dtype=np.int64)
        if key_place is KeyPlace.INDEXED:
            for chunk, words, _ in without_index(state, all_ids, schema):
                if words is not None:
                    owners[chunk] = number_rows(self._interner, words)
            return owners
        number = self.number if key_place is KeyPlace.WHOLE else partial(self._first, schema)
        for chunk in chunks(all_ids, ROWS_AT_ONCE):
            data, ends = state.join_keys(chunk)
            owners[chunk] = number(data, ends[:-1], np.diff(ends))
        return owners

    def keys(self, ids: Int64s) -> list[bytes]:
        """Return the UnsafeRows of some ids."""
        ends = np.zeros(len(ids) + 1, np.int64)
        data = self._interner.gather(np.ascontiguousarray(ids, np.int64), ends)
        return [data[a:b] for a, b in pairwise(ends.tolist())]

    def number(self, data: bytes | UInt8s, starts: Int64s, lengths: Int64s) -> Int64s:
        """Return the ids of keys, given as spans of ``data``; new keys get the next ids."""
        numbers = np.empty(len(starts), np.int64)
        spans = np.ascontiguousarray(starts), np.ascontiguousarray(lengths)
        self._interner.intern(data, *spans, numbers)
        return numbers

    def _first(self, schema: StructType, data: bytes, starts: Int64s, lengths: Int64s) -> Int64s:
        """Return the id of the struct in the first field of each row; NOBODY for a misfit.

        ``schema`` is the schema of that struct.
        """
        numbers = np.full(len(starts), NOBODY, np.int64)
        min_bytes = min_size(schema)
        fits = (lengths >= min_bytes) & (lengths % WORD == 0)
        if not schema.fields or not fits.any():
            return numbers
        if not fits.all():
            spans = zip(starts[fits].tolist(), lengths[fits].tolist(), strict=True)
            structs = [data[start : start + length] for start, length in spans]
            numbers[fits] = self._first(schema, *concatenate(structs))
            return numbers
        words = np.frombuffer(data, "<i8")
        bits = (len(schema.fields) + 63) // 64
        slot = words[starts // WORD + bits]
        offset, size = slot >> 32, slot & 0xFFFFFFFF
        good = (words[starts // WORD] & 1 == 0) & (offset >= min_bytes) & (size % WORD == 0)
        good &= (size > 0) & (offset % WORD == 0) & (size <= lengths - offset)
        numbers[good] = self.number(data, (starts + offset)[good], size[good])
        return numbers
