"""Runs of consecutive timeouts of each key under each clock, and habits of the function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from inspector.arrays import Bools, Int32s, Int64s, longer
from inspector.facts.expired import first_due
from inspector.facts.fact import Fact, fact
from inspector.facts.timers import Calls, TimerPremises, TimerRecords, is_timer
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import NO_TIMEOUT, BatchClock, TimeoutKind
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap
from inspector.sums import Sums, first_non_zero, sum_by

# For some keys: how often their timers fired in a row, and the step of the first time.
Runs = tuple[Int64s, Int64s]


@dataclass(frozen=True)
class TimerCalls(Sums):
    """Calls of a store's function if its timers followed one clock. Adds up; the zero is empty."""

    armed_by_data: int = 0  # puts that a call for data surely made and that left a timer
    unarmed_by_data: int = 0  # puts that a call for data surely made and that left no timer
    # puts over an existing row that a call for data surely made and that changed its state
    changed_by_data: int = 0
    # puts over an existing row that a call for data surely made and that left its state unchanged
    untouched_by_data: int = 0
    timeout_kept: int = 0  # puts that a timeout surely made and that left no timer
    timeout_rearmed: int = 0  # puts that a timeout surely made and that left another timer
    timeout_removed: int = 0  # removals that a timeout surely made
    armed_keys: int = 0  # keys that had a timer at some version of the window
    never_armed_rows: int = 0  # live rows of keys that never had a timer in the window
    never_armed_bytes: int = 0  # key and value bytes of these rows
    cleared_rows: int = 0  # live rows of keys that had a timer and have none now
    lost_rows: int = 0  # of ``cleared_rows``, those whose timer a call for data surely removed
    lost_bytes: int = 0  # key and value bytes of these rows


@fact("timer_calls")
@dataclass(frozen=True)
class CallsByClock(Sums, Fact):
    """Calls of a store's function if its timers followed one clock. Adds up."""

    timeout_kind: TimeoutKind | None = sum_by(first_non_zero, None)  # the clock
    calls: TimerCalls = field(default_factory=TimerCalls)  # the calls under that clock

    def merge_key(self, _version: int) -> tuple[TimeoutKind | None]:
        """Return the clock: facts under one clock add up."""
        return (self.timeout_kind,)


@dataclass
class Run:
    """Runs of timeouts that end each key's history under one clock, and the function's habits."""

    # least number of timeouts in the run, by key id; 0 after what may be a call for data
    fired: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    # step of the first timeout of the run, by key id
    first: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    # True if a call for data removed the timer, by key id
    lost: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    # True if a timer outlived the step although it had run out by this clock, by step
    standing: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    calls: TimerCalls = field(default_factory=TimerCalls)  # calls so far under this clock


class TimerRuns:
    """Runs of timeouts of all keys of a store, kept up to date version by version.

    Attributes:
        by_kind: run of each key under each clock.
        ever_armed: by key id, True if the key had a timer at some version of the window.
        thresholds: under each clock, by step, the time in ms that timers were compared with;
            NO_CLOCK where it is not known.
    """

    def __init__(
        self, kinds: Iterable[TimeoutKind] = (), premises: TimerPremises | None = None
    ) -> None:
        self.by_kind = {kind: Run() for kind in kinds}  # the run of each key under each clock
        # keys that had a timer at some version of the window
        self.ever_armed: Bools = np.zeros(0, np.bool_)
        # under each clock, by step, what timers were compared with; NO_CLOCK where it is not known
        self.thresholds: dict[TimeoutKind, list[int]] = {kind: [] for kind in self.by_kind}
        self._premises = premises or TimerPremises()
        self._put: Int32s = np.zeros(0, np.int32)

    def update(
        self, records: TimerRecords, state: StateMap, clock: BatchClock | None, calls: Calls
    ) -> None:
        """Add one version's records.

        ``state`` is the map after the version. ``clock`` has the clocks of its batch; None if the
        log has no entry for it. ``calls`` are the calls of the function that made the records.
        """
        rebased = records.change.rebased
        if rebased:
            self._put, self.ever_armed = np.zeros(0, np.int32), np.zeros(0, np.bool_)
        step = len(state.versions) - 1
        self._reserve(len(state), rebased)
        timed, again = records.timed, records.ids[records.again]
        self._put[again] = step
        put_before = np.maximum(self._put[records.ids[timed]], state.base_step - 1).astype(np.int64)
        for kind, run in self.by_kind.items():
            is_known = None if clock is None else clock.time_ms(kind)
            times = self.thresholds[kind]
            run.fired[again] = 0
            times += [NO_CLOCK if is_known is None else is_known] * (step + 1 - len(times))
            if rebased:
                continue
            self._mark_standing(kind, records.before[timed], put_before, step)
            self._advance(kind, records, put_before, (step, calls))
            if calls.last_data and len(records.ids):
                run.calls += _habits(records, calls, kind)
            cleared = records.put & records.timed & ~records.armed
            run.lost[records.ids[cleared | records.armed | ~records.put]] = False
            run.lost[records.ids[cleared & self._surely_by_data(records, calls, kind)]] = True
        put = records.ids[records.put]
        self._put[put] = BEFORE_WINDOW if rebased else step
        self.ever_armed[put[records.after[records.put] != NO_TIMEOUT]] = True

    def renumber(
        self, steps: Mapping[int, int], versions: Sequence[int], batches: Mapping[int, BatchClock]
    ) -> None:
        """Replace the steps by those of ``versions``, which include versions of other partitions.

        ``steps`` has the new number of each old step that stays; ``batches`` has the clocks by
        batch id.
        """
        for kind, run in self.by_kind.items():
            times = (batches[v - 1].time_ms(kind) if v - 1 in batches else None for v in versions)
            self.thresholds[kind] = [NO_CLOCK if time is None else time for time in times]
            standing, run.standing = run.standing, np.zeros(len(versions), np.bool_)
            for old, new in steps.items():
                run.standing[new] = old < len(standing) and standing[old]

    def inherit(self, state: StateMap, ids: Int64s, fired: Mapping[TimeoutKind, Runs]) -> None:
        """Take over the runs and last puts that some keys had in other partitions.

        ``fired`` has under each clock how often their timers fired, and the first step of it.
        """
        self._put[ids] = state.put_step[ids]
        for kind, (often, first) in fired.items():
            self.by_kind[kind].fired[ids], self.by_kind[kind].first[ids] = often, first

    def observe(self, state: StateMap) -> Iterator[CallsByClock]:
        """Yield the calls over the whole history, by clock; ``state`` is the map at its end."""
        armed = self.ever_armed[: len(state)]
        bare = state.where(lambda ids: state.live[ids] & (state.clock[ids] == NO_TIMEOUT))
        never = bare[~armed[bare]]
        for kind, run in self.by_kind.items():
            lost = bare[run.lost[bare]]
            calls = replace(
                run.calls,
                armed_keys=_count(armed),
                never_armed_rows=len(never),
                never_armed_bytes=int(state.row_size(never).sum()),
                cleared_rows=len(bare) - len(never),
                lost_rows=len(lost),
                lost_bytes=int(state.row_size(lost).sum()),
            )
            yield CallsByClock(kind, calls)

    def mark_standing_at_end(self, state: StateMap) -> None:
        """Mark the steps that timers outlived which are still set in the last version."""
        for portion in state.portions():
            timers = state.clock[portion]
            armed = np.flatnonzero(state.live[portion] & is_timer(timers))
            starts = np.maximum(state.put_step[portion][armed], state.base_step - 1).astype(
                np.int64
            )
            for kind in self.by_kind:
                self._mark_standing(kind, timers[armed], starts, len(state.versions))

    def _reserve(self, keys: int, anew: bool) -> None:
        """Make room for a number of keys; ``anew`` forgets all runs first."""
        if anew:
            for run in self.by_kind.values():
                run.fired, run.first = np.zeros(0, np.int32), np.zeros(0, np.int32)
                run.lost = np.zeros(0, np.bool_)
        room = keys + (keys >> 3) if keys > len(self._put) else len(self._put)
        _lengthen(self, "_put", room, BEFORE_WINDOW)
        _lengthen(self, "ever_armed", room, False)
        for run in self.by_kind.values():
            for name in ("fired", "first", "lost"):
                _lengthen(run, name, room, 0)

    def _surely_by_data(self, records: TimerRecords, calls: Calls, kind: TimeoutKind) -> Bools:
        """Return a mask of the records that a call for data surely made.

        They must be by this clock if the batch shows it, and by both clocks otherwise.
        """
        # A restart may have changed the clock (premise one-clock speaks of one batch).
        is_shown = kind.other in calls.against and kind not in calls.against
        kinds = {kind} if is_shown else {kind} | (self.by_kind.keys() & {kind.other})
        sure: Bools = np.all([_by_data(records, calls, of) for of in kinds], axis=0)
        return sure

    def _mark_standing(self, kind: TimeoutKind, timers: Int64s, since: Int64s, end: int) -> None:
        """Mark the steps that timers outlived although they had run out by this clock.

        ``since`` has the step of the put that set each timer; ``end`` is the first step after it.
        """
        # It is proof against the clock where no timer outlives its batch (premise clears-timers),
        # and where the clock is the operator's own. Each was set by the put of the step since,
        # which it outlived by nature, and ended by the step until.
        run, thresholds = self.by_kind[kind], self.thresholds[kind]
        if len(run.standing) < len(thresholds):
            run.standing = longer(run.standing, len(thresholds))
        if not self._premises.clears_timers or self._premises.lags(kind) or not len(timers):
            return
        if timers.min() >= max(thresholds[:end], default=NO_CLOCK):
            return  # none has run out
        times = np.array(thresholds, np.int64)
        reached = np.maximum.accumulate(times[:end])
        first = np.maximum(np.searchsorted(reached, timers, side="right"), since + 1)
        starts = np.bincount(first[first < end], minlength=end)[:end]
        # Nothing is known for steps at which the clock had gone back.
        run.standing[:end] |= (np.cumsum(starts) > 0) & (times[:end] == reached)

    def _advance(
        self,
        kind: TimeoutKind,
        records: TimerRecords,
        put_before: Int64s,
        step_calls: tuple[int, Calls],
    ) -> None:
        """Lengthen the runs of keys whose timer surely fired; end the runs of other keys.

        ``put_before`` has the step of each key's previous put; ``step_calls`` the step and its
        calls.
        """
        run, (step, calls) = self.by_kind[kind], step_calls
        times = self.thresholds[kind][: step + 1]
        timed = records.timed
        fires = records.put[timed] & (records.before[timed] < times[-1])
        fires &= records.positions[timed] >= calls.sure_from
        ids = records.ids[timed][fires]
        fired = run.fired[ids]
        run.fired[records.ids] = 0
        if not len(ids):
            return
        if self._premises.clears_timers or self._premises.lags(kind):
            # In this batch alone it is known to have fired.
            started = np.full(len(ids), step, np.int64)
            often = np.ones(len(ids), np.int64)
        else:
            due = records.before[timed][fires]
            started, often = first_due(np.array(times, np.int64), put_before[fires], due)
        run.first[ids] = np.where(fired > 0, run.first[ids], started)
        run.fired[ids] = fired + often


def _habits(records: TimerRecords, calls: Calls, kind: TimeoutKind) -> TimerCalls:
    """Return the calls of the function that the records of one version show."""
    is_timeout = records.positions >= calls.sure_from
    is_data = records.put & _by_data(records, calls, kind)
    left, had_row = records.armed[is_data], records.before[is_data] != NO_CLOCK
    armed, changed = _count(left), _count(had_row & ~records.same_state[is_data])
    timed_out = is_timeout & records.timed
    put, left_again = records.put[timed_out], records.armed[timed_out]
    puts, rearmed = _count(put), _count(put & left_again)
    return TimerCalls(
        armed_by_data=armed,
        unarmed_by_data=len(left) - armed,
        changed_by_data=changed,
        untouched_by_data=_count(had_row) - changed,
        timeout_kept=puts - rearmed,
        timeout_rearmed=rearmed,
        timeout_removed=len(put) - puts,
    )


def _by_data(records: TimerRecords, calls: Calls, kind: TimeoutKind) -> Bools:
    """Return a mask of the records that only a call for data can have made by this clock."""
    last = calls.last_data.get(kind, -1)
    is_data: Bools = (records.positions < calls.sure_from) & (records.positions <= last)
    return is_data


def _count(mask: Bools) -> int:
    """Return the number of True entries of a mask."""
    return int(np.count_nonzero(mask))


def _lengthen(owner: object, name: str, room: int, fill: int) -> None:
    """Extend an array attribute of ``owner`` to ``room`` entries, and set new ones to ``fill``.

    It is resized in place if no other object refers to it.
    """
    had = len(getattr(owner, name))
    try:
        getattr(owner, name).resize(room)
    except ValueError:
        setattr(owner, name, longer(getattr(owner, name), room))
    getattr(owner, name)[had:] = fill
