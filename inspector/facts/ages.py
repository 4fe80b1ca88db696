"""Times of the last put of live rows. They do not depend on an expiry rule.

A put with an equal value counts too: the age is that of the last call that wrote, not of the last
change. What a snapshot brought was put at its version or before.
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

BEFORE = 0  # in place of a version: put before the window, at its snapshot's version or earlier
AHEAD = -1  # in place of a number of digits: the watermark has not passed the row


@fact("ages")
@dataclass(frozen=True)
class Ages(StoreSum):
    """Live rows and their bytes by the version of the last put. Adds; the zero is empty."""

    # rows, bytes: by version; BEFORE for those put before the window
    rows: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)
    window_version: int = sum_by(max, 0)  # the newest at which the history of a partition begins
    first_known: int = sum_by(max, 0)  # the newest of the oldest versions whose changes are known
    # of the rule's event-time field over all live rows; None without one
    oldest_ms: int | None = sum_by(lesser, None)
    # the same, and the version of that row's last put, or BEFORE; empty without one
    newest: tuple[int, ...] = sum_by(max, ())
    keys: int = 0  # those that were there at some version of the window
    born: int = 0  # how often one came, with those that were there when it began
    # untimed, untimed_new: where the rule has such a field, the rows in which it is null, and of
    # these the ones that came in the newer half of the window
    untimed: int = 0
    untimed_new: int = 0

    @classmethod
    def observe(cls, state: StateMap, *, from_snapshot: bool, per_ms: int | None = None) -> Ages:
        """Measure the live rows at the version that was replayed last."""
        # from_snapshot: the history begins with one, whose version's change is not known.
        # per_ms: units of the map's clock in one millisecond, where that is an event time.
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
        """The newest event time over all live rows; None without one."""
        return self.newest[0] if self.newest else None

    @property
    def total(self) -> tuple[int, int]:
        """Rows and bytes."""
        return sum(self.rows.values()), sum(self.bytes.values())


def measure_ages(state: StateMap) -> tuple[Int64s, Int64s, Int64s]:
    """Version of the last put (or BEFORE), rows and bytes of the live rows put then."""
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
    """Oldest and newest clock of the live rows in ms, rounded up, and the version of the newest."""
    # That of the last put of a row of that ms, or BEFORE; nothing where no row has a clock.
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
    """Some columns of the live rows that have a clock, portion by portion."""
    for portion in state.portions():
        timed = state.live[portion] & (state.clock[portion] != NO_CLOCK)
        if timed.any():
            yield rows_of([column[portion] for column in columns], timed)


def newer_half(state: StateMap) -> int:
    """The step at which the newer half of the window begins."""
    return max(BEFORE_WINDOW + 1, (state.base_step + len(state.versions)) // 2)


@fact("oldest_event_time")
@dataclass(frozen=True)
class OldestEventTime(VersionSum):
    """The oldest event time, ms rounded up, of a store's live rows, or None. Adds to the older."""

    oldest_ms: int | None = sum_by(lesser, None)

    @classmethod
    def observe(cls, state: StateMap, per_ms: int) -> OldestEventTime:
        """The oldest clock of the map, in units of which there are ``per_ms`` in a millisecond."""
        oldest = (int(clock.min()) for (clock,) in _rows_with_clock(state, state.clock))
        first = min(oldest, default=None)
        return cls(None if first is None else -(-first // per_ms))


@fact("rows_behind")
@dataclass(frozen=True)
class RowsBehind(VersionSum):
    """Rows that a batch put, by how far they are behind the watermark that it made. Adds."""

    # by the binary digits of the whole minutes, so that 6 is from 32 to 64 minutes; AHEAD for those
    # that it has not passed
    digits: Counter[int] = field(default_factory=Counter)

    @classmethod
    def observe(cls, state: StateMap, per_ms: int, watermark_ms: int) -> RowsBehind:
        """Measure the version that was replayed last, whose clock has ``per_ms`` units in a ms."""
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
    """Number of live keys by how many of the newest versions in a row put them. Adds up."""

    lengths: SizeCounts = field(default_factory=SizeCounts)


class Rewrites:
    """Follows, per key, in how many versions in a row it was put; 8 bytes a key."""

    def __init__(self) -> None:
        self._step = 1  # of a key that was never put the last one is 0
        self._last: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._run: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def update(self, change: Change, state: StateMap) -> None:
        """Apply one version's change; one that a snapshot brought ends every run."""
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
        """The runs of the live keys at the version that was replayed last."""
        count = len(state)
        fresh = state.live[:count] & (self._last[:count] == self._step)
        return RewriteRuns(SizeCounts.of(self._run[:count][fresh].astype(np.int64)))
