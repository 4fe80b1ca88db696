"""State variables of transformWithState: entries per key, and timers of keys that have no state.

Grouping keys of rows in several stores of one operator are ids that are the same in all. A value
has the grouping key as its key, a list's entry with an index behind it, a map's entry and a timer
as the first field of their key; its bytes are the same in all: a struct in an UnsafeRow is an
UnsafeRow.
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
"""Keys that a partition lists at most: each has so great a part of its entries, one of ten. Which
those are does not hang on the order of keys, so that ranges of a partition list the same."""
NOBODY = -1  # in place of an id: the row is not of its schema


@fact("timers_without_state")
@dataclass(frozen=True)
class TimersWithoutState(StoreSum):
    """Timers by whether their grouping key has a row in any variable. Adds; the zero is empty."""

    timers: int = 0  # live ones
    without: int = 0  # of these, timers of keys without any state
    without_bytes: int = 0  # their key and value bytes
    keys: int = 0  # how many keys they have
    owners: int = 0  # keys that have a timer


@fact("fired_keys")
@dataclass(frozen=True)
class FiredKeys(StoreSum):
    """Keys whose timers fired, or were deleted when due, and of these those with a row. Adds."""

    keys: int = 0
    kept: int = 0


@fact("entries_per_key")
@dataclass(frozen=True)
class EntriesPerKey(StoreSum):
    """Live entries of a list or map by their grouping key. Adds; the zero is empty."""

    keys: int = 0
    entries: int = 0
    most: int = sum_by(max, 0)  # entries of the key that has the most
    # keys to which entries were added in the window and from which none was removed, by the power
    # of two that their entries reach: 10 for 1,024 to 2,047. Not those that are written again and
    # again whole, as a list is that keeps the newest entries.
    growing: Counter[int] = field(default_factory=Counter)
    # of the window whose changes are known; the fewest of any partition
    versions: int | None = sum_by(lesser, None)

    def growing_from(self, entries: int) -> int:
        """Keys that only grow and have as many entries, rounded up to a power of two."""
        min_bits = max(entries - 1, 0).bit_length()
        return sum(keys for power, keys in self.growing.items() if power >= min_bits)


@fact("key_entries")
@dataclass(frozen=True)
class KeyEntries(Fact):
    """A grouping key of a list or map that has many entries; never added."""

    key: bytes
    entries: int  # live ones
    row_bytes: int  # their key and value bytes
    added: int  # of these, those that came in the window
    removed: int  # entries of the key that were there in the window and are not any more

    def is_listed(self, entries: int) -> bool:
        """Return whether a partition with ``entries`` entries in total lists the key."""
        return self.entries * LISTED >= entries


def timers_without_state(
    timers: StateMap, owners: Int64s, owners_with_state: Int64s
) -> TimersWithoutState:
    """Count the timers of keys without state.

    ``owners`` has the key id of each row; keys in ``owners_with_state`` have state.
    """
    live = np.flatnonzero(timers.live[: len(timers)])
    bare = live[(owners[live] >= 0) & ~np.isin(owners[live], owners_with_state)]
    keys, bare_keys = (len(distinct(owners[rows])) for rows in (live, bare))
    return TimersWithoutState(
        len(live), len(bare), int(timers.row_size(bare).sum()), bare_keys, keys
    )


def fired_keys(timers: StateMap, owners: Int64s, now_ms: int) -> Int64s:
    """Ids of the grouping keys that have no timer, and had one whose time has come."""
    # A timer's last time stays in the map when it goes.
    live, is_known = timers.live[: len(timers)], owners >= 0
    time = timers.clock[: len(timers)]
    due = is_known & ~live & (time != NO_CLOCK) & (time <= now_ms)
    return np.setdiff1d(owners[due], owners[is_known & live])


def entries_of(state: StateMap, owners: Int64s, keys: GroupingKeys) -> Iterator[Fact]:
    """The entries of a list or map, key by key."""
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
    """Return a mask of the keys with an entry that was put at most half as often as another."""
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
    entries = columns[0]
    ids = np.flatnonzero((entries > 0) & (entries * LISTED >= entries.sum()))
    ids = ids[np.lexsort((ids, -entries[ids]))]
    for key_id, key in zip(ids.tolist(), keys.keys(ids), strict=True):
        yield KeyEntries(key, *(int(column[key_id]) for column in columns))


class KeyPlace(enum.Enum):
    """Position of the grouping key in a row's key; the values are the names in tasks."""

    WHOLE = "whole"
    INDEXED = "indexed"  # all but the last field
    FIRST = "first"  # the first field


class GroupingKeys:
    """Numbers grouping keys, in the order in which they are met."""

    def __init__(self) -> None:
        self._interner = kernel().Interner()

    def __len__(self) -> int:
        """Distinct keys so far."""
        return len(self._interner)

    def owners(self, state: StateMap, key_place: KeyPlace, schema: StructType) -> Int64s:
        """Return the id of the grouping key of every row in the map, live or not."""
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
        """The UnsafeRows of some ids."""
        ends = np.zeros(len(ids) + 1, np.int64)
        data = self._interner.gather(np.ascontiguousarray(ids, np.int64), ends)
        return [data[a:b] for a, b in pairwise(ends.tolist())]

    def number(self, data: bytes | UInt8s, starts: Int64s, lengths: Int64s) -> Int64s:
        """The ids of keys that lie in some bytes."""
        numbers = np.empty(len(starts), np.int64)
        spans = np.ascontiguousarray(starts), np.ascontiguousarray(lengths)
        self._interner.intern(data, *spans, numbers)
        return numbers

    def _first(self, schema: StructType, data: bytes, starts: Int64s, lengths: Int64s) -> Int64s:
        """The struct in the first field of each row."""
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
