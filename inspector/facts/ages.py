"""Times at which live rows were last put, independent of any expiry rule.

A put with an equal value counts too: the age is the time since the last call that wrote the row,
not since its last change. Rows of a snapshot were put at its version or before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.arrays import Int64s, count_by, make_room, rows_of, tally, weigh
from inspector.facts.fact import StoreSum, VersionSum, fact
from inspector.facts.size_distributions import SizeCounts
from inspector.light_dataclasses import dataclass, field, replace
from inspector.state.change import Change
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap
from inspector.sums import lesser, sum_by

# stands for a version: the row was put before the window, at its snapshot's version or earlier
BEFORE = 0
AHEAD = -1  # stands for a number of digits: the watermark has not passed the row


@fact("ages")
@dataclass(frozen=True)
class Ages(StoreSum):
    """Live rows and their bytes by the version of the last put. Adds; the zero is empty."""

    # live rows by the version of their last put; BEFORE for those put before the window
    rows: Counter[int] = field(default_factory=Counter)
    # key and value bytes of these rows, by the same version
    bytes: Counter[int] = field(default_factory=Counter)
    # newest version at which the history of a partition begins
    window_version: int = sum_by(max, 0)
    # newest of the partitions' oldest versions whose changes are known
    first_known: int = sum_by(max, 0)
    # oldest event time of the live rows, by the rule's time field; None without one
    oldest_ms: int | None = sum_by(lesser, None)
    # newest event time in ms, and the version of that row's last put (or BEFORE); empty without one
    newest: tuple[int, ...] = sum_by(max, ())
    keys: int = 0  # keys that existed at some version of the window
    # how often a key appeared in the window; keys that existed at its beginning count once
    born: int = 0
    untimed: int = 0  # live rows whose time field is null
    untimed_new: int = 0  # of these, rows that appeared in the newer half of the window

    @classmethod
    def observe(cls, state: StateMap, *, from_snapshot: bool, per_ms: int | None = None) -> Ages:
        """Return the ages of the live rows at the version that was replayed last.

        ``from_snapshot``: the history begins with a snapshot, whose version's change is not known.
        ``per_ms``: units of the map's clock in one millisecond, if that clock is an event time;
        else None.
        """
        base = state.versions[state.base_step]
        times = () if per_ms is None else clock_range_ms(state, per_ms)
        oldest = times[0] if times else None
        versions, counts, sizes = measure_ages(state)
        rows, weights = count_by(versions, counts), count_by(versions, sizes)
        keys = len(state), state.born
        ages = cls(rows, weights, base, base + from_snapshot, oldest, times[1:], *keys)
        if per_ms is None:
            return ages
        bare = state.where(lambda ids: state.live[ids] & (state.clock[ids] == NO_CLOCK))
        new = int((state.born_step[bare] >= newer_half(state)).sum())
        return replace(ages, untimed=len(bare), untimed_new=new)

    @property
    def newest_ms(self) -> int | None:
        """Newest event time of the live rows in ms; None if no row has one."""
        return self.newest[0] if self.newest else None

    @property
    def total(self) -> tuple[int, int]:
        """Number of live rows, and their key and value bytes."""
        return sum(self.rows.values()), sum(self.bytes.values())


def measure_ages(state: StateMap) -> tuple[Int64s, Int64s, Int64s]:
    """Return the versions of last puts (or BEFORE), and the live rows and bytes of each.

    Only versions with live rows are listed.
    """
    slots = len(state.versions) - BEFORE_WINDOW
    rows, weights = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    for portion in state.portions():
        live, slot = state.live[portion], state.put_step[portion] - BEFORE_WINDOW
        sizes = np.add(state.key_size[portion], state.value_size[portion], dtype=np.float64)
        if not live.all():
            slot, sizes = slot[live], sizes[live]
        rows += np.bincount(slot, minlength=slots)
        weights += weigh(slot, sizes, slots)
    (live_ids,) = rows.nonzero()
    return np.array([BEFORE, *state.versions])[live_ids], rows[live_ids], weights[live_ids]


def clock_range_ms(state: StateMap, per_ms: int) -> tuple[int, ...]:
    """Return the oldest and newest clock of the live rows, and the newest row's last put.

    Times are in ms, rounded up; ``per_ms`` are units of the clock in a millisecond. The last number
    is a version; BEFORE if the put was before the window. The tuple is empty if no row has a clock.
    """
    oldest: list[int] = []
    newest: list[tuple[int, int]] = []
    for clock, step in _rows_with_clock(state, state.clock, state.put_step):
        oldest.append(int(clock.min()))
        last = -(-int(clock.max()) // per_ms)
        newest.append((last, int(step[clock > (last - 1) * per_ms].max())))
    if not newest:
        return ()
    last, put = max(newest)
    version = state.versions[put] if put > BEFORE_WINDOW else BEFORE
    return -(-min(oldest) // per_ms), last, version


def _rows_with_clock(
    state: StateMap, *columns: npt.NDArray[Any]
) -> Iterator[Sequence[npt.NDArray[Any]]]:
    """Yield the given columns of the live rows that have a clock, portion by portion."""
    for portion in state.portions():
        timed = state.live[portion] & (state.clock[portion] != NO_CLOCK)
        if timed.any():
            yield rows_of([column[portion] for column in columns], timed)


def newer_half(state: StateMap) -> int:
    """Return the step of the map at which the newer half of the window begins."""
    return max(BEFORE_WINDOW + 1, (state.base_step + len(state.versions)) // 2)


@fact("oldest_event_time")
@dataclass(frozen=True)
class OldestEventTime(VersionSum):
    """Oldest event time of a store's live rows at a version. Adds up to the older one."""

    oldest_ms: int | None = sum_by(lesser, None)  # in ms, rounded up; None if no row has a time

    @classmethod
    def observe(cls, state: StateMap, per_ms: int) -> OldestEventTime:
        """Return the oldest clock of the live rows; ``per_ms`` are its units in a millisecond."""
        oldest = (int(clock.min()) for (clock,) in _rows_with_clock(state, state.clock))
        first = min(oldest, default=None)
        return cls(None if first is None else -(-first // per_ms))


@fact("rows_behind")
@dataclass(frozen=True)
class RowsBehind(VersionSum):
    """Rows that a batch put, by how far they are behind the watermark that it made. Adds up."""

    # rows by the binary digits of their whole minutes behind it, so that 6 stands for 32 to 63
    # minutes; AHEAD for rows that the watermark has not passed
    digits: Counter[int] = field(default_factory=Counter)

    @classmethod
    def observe(cls, state: StateMap, per_ms: int, watermark_ms: int) -> RowsBehind:
        """Count the rows that the last replayed version put, by their distance to ``watermark_ms``.

        ``per_ms`` are units of the map's clock in a millisecond.
        """
        digits: Counter[int] = Counter()
        for portion in state.portions():
            clock, newest = state.clock[portion], len(state.versions) - 1
            put = state.live[portion] & (state.put_step[portion] == newest) & (clock != NO_CLOCK)
            minutes = (watermark_ms - clock[put] / per_ms) // 60_000
            # The exponent of a whole number is how many digits it has.
            lengths = np.where(minutes < 0, AHEAD, np.frexp(minutes)[1])
            digits += count_by(*tally(lengths))
        return cls(digits)


@fact("rewrites")
@dataclass(frozen=True)
class RewriteRuns(StoreSum):
    """Live keys by how many of the newest versions in a row put them. Adds up."""

    # live keys that the last version put, by the number of consecutive versions up to it that put
    # them
    lengths: SizeCounts = field(default_factory=SizeCounts)


class Rewrites:
    """Counts for each key the versions in a row that put it; takes 8 bytes for each key."""

    def __init__(self) -> None:
        self._step = 1  # of a key that was never put the last one is 0
        self._last: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._run: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def update(self, change: Change, state: StateMap) -> None:
        """Apply one version's change; ``state`` is the map after it. A snapshot ends all runs."""
        self._step += 1
        if change.rebased:
            self._last, self._run = np.empty(0, np.int32), np.empty(0, np.int32)
        make_room(self, ("_last", "_run"), len(state))
        if change.rebased:
            return
        touched = state.list_touched_keys()
        ids = touched.ids[touched.written]
        again = self._last[ids] == self._step - 1
        self._run[ids] = np.where(again, self._run[ids] + 1, 1)
        self._last[ids] = self._step

    def observe(self, state: StateMap) -> RewriteRuns:
        """Return the runs of the live keys that the last replayed version put."""
        count = len(state)
        fresh = state.live[:count] & (self._last[:count] == self._step)
        return RewriteRuns(SizeCounts.of(self._run[:count][fresh].astype(np.int64)))
