"""Group-state keys whose timeout fired and that still exist, and what the function did.

All of it is read from the final :class:`~inspector.state.replay.StateMap` at once. All partitions
together decide which clock the timers followed, batch by batch. So each leftover is judged under
both clocks. It names the batch whose clock matters (``kind_step``), and says if it is a leftover
under the other clock too (``either``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from inspector.arrays import Bools, Int64s, distinct
from inspector.facts.expired import Clocks, LeftoverClass, Leftovers, Needs, StateChange, first_due
from inspector.facts.inherited import RecordMakers
from inspector.facts.timer_runs import TimerRuns
from inspector.facts.timers import EVENT, PROCESSING, Calls, TimerPremises, is_timer
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import NO_TIMEOUT, Certainty, TimeoutKind
from inspector.operators.inferences import INFERENCES
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap

# Reason: the position of the record does not show if data or a timeout made it.
AMONG_DATA = "in a batch with new data, where the place of its record leaves both calls possible"
# Reason: the clock of the operator may be behind the known one.
HELD_BACK = "the operator's own watermark may lag behind that of the query"
# Reason: the clock of the batch is not known.
NO_LOG_ENTRY = "the log entry of its batch is gone, so that the clock at that time is not known"
# Reason: later data may have put the value again unseen.
UNSEEN = "no delta shows whether later data had its value put again as it was"
# Reason of keys that are leftovers by both clocks.
BY_BOTH = "both the watermark and the processing time had passed its timer, whichever it follows"
# Reason of all leftovers after a disputed snapshot.
DISPUTED = "a snapshot differs from its deltas, and the query may have gone on from either"
# Reason of keys that had no timer when the window began.
BEFORE = "no timeout when the window of proof began, in which each call for data set one"
_SAME_STATE, _KEPT, _KNOWN, _SURE, _AGAIN_BY_OURS, _AGAIN_BY_OTHER, _UNSETTLED, _HIDDEN = (
    1 << bit for bit in range(8)
)
"""Bits of a group of leftovers. The call left the state unchanged; it left no timer; the clock is
known; a timeout surely made the put. The new timer has run out again by this clock alone; or by the
other clock alone. It may have run out again by a clock that is not known. A later put of the same
value would not be seen.
"""


@dataclass(frozen=True)
class TimerView:
    """Knowledge about a store's timers by which its leftovers are judged."""

    kinds: tuple[TimeoutKind, ...] = (EVENT, PROCESSING)  # clocks that the timers may follow
    # premises that hold for the operator
    premises: TimerPremises = field(default_factory=TimerPremises)
    # calls that made the records, by version
    calls: Mapping[int, Calls] = field(default_factory=dict)
    runs: TimerRuns | None = None  # runs of timeouts of each key; None if not followed
    empty_size: int = -1  # size of a value whose state is null; -1 if its size does not show it
    # True if the map began with a snapshot that differs from its deltas, so that the timer that a
    # key's first put replaced is not known
    disputed: bool = False


def timeout_leftovers(state: StateMap, clocks: Clocks, view: TimerView) -> Iterator[Leftovers]:
    """Yield the leftovers of a group state, under each clock that its timers may follow."""
    if not len(clocks.versions):
        return
    for kind in view.kinds:
        result = _TimedOut(state, clocks, kind, view)
        yield from result.timers_that_stand()
        yield from result.timers_with_call()
        yield from result.of_unknown_timers() if view.disputed else result.before_window()


class _Puts(NamedTuple):
    """Last puts of keys that replaced a timer; arrays run parallel to ``ids``."""

    ids: Int64s  # the keys
    timer: Int64s  # timer that the put left
    put: Int64s  # step of the put
    over: Int64s  # timer that it replaced
    position: Int64s  # position of its record
    kept: Bools  # the put left no timer
    sure: Bools  # a timeout surely made the put


def _proof_of(group: int) -> tuple[Certainty, str]:
    """Return the certainty of a group of leftovers, and the reason for it."""
    if group & _UNSETTLED or (not group & _SURE and not group & _KNOWN):
        return Certainty.UNDECIDED, NO_LOG_ENTRY
    if not group & _SURE:
        return Certainty.UNDECIDED, AMONG_DATA
    if group & _HIDDEN:
        return INFERENCES["unseen-rewrites"].certainty, UNSEEN
    return Certainty.PROVEN, "" if group & _KNOWN else NO_LOG_ENTRY


class _TimedOut:
    """Leftovers of a group state if its timers follow one clock."""

    # A timer is due by the operator's own clock. If the operator's watermark may lag behind the
    # query's, the query's is its upper bound: a timer that it has not reached is not due, and the
    # others are undecided.

    def __init__(self, state: StateMap, clocks: Clocks, kind: TimeoutKind, view: TimerView) -> None:
        self._state, self._kind, self._view = state, kind, view
        self._lags = view.premises.lags(kind)
        self._due_at = clocks.threshold_ms(kind)
        self._other_due_at = clocks.threshold_ms(kind.other)
        calls = [view.calls.get(version, Calls()) for version in clocks.versions.tolist()]
        self._makers = RecordMakers(state, calls)
        self._excluded = np.array([kind in call.against for call in calls], np.bool_)
        self._excluded &= ~np.array([kind.other in call.against for call in calls], np.bool_)
        self._last_unseen = int(
            np.flatnonzero([call.may_rewrite_unseen for call in calls]).max(initial=-1)
        )
        self._single = len(view.kinds) == 1
        self._last = int(np.flatnonzero(clocks.ran).max(initial=-1))

    def timers_that_stand(self) -> Iterator[Leftovers]:
        """Yield keys whose timer has run out and is still set, so that it fires in every batch.

        Only applyInPandasWithState leaves such timers.
        """
        state, last = self._state, self._last
        if last < 0 or self._view.premises.clears_timers or self._excluded[last]:
            return
        ids = state.where(
            lambda places: (
                state.live[places]
                & is_timer(state.clock[places])
                & (state.clock[places] < self._due_at[last])
                & (state.put_step[places] <= last)  # no batch has run since a later one
            )
        )
        if not len(ids):
            return
        is_either = (state.clock[ids] < self._other_due_at[last]) & (not self._single)
        due_at, other_due_at = self._due_at[: last + 1], self._other_due_at[: last + 1]
        how = (Certainty.UNDECIDED, HELD_BACK) if self._lags else (Certainty.PROVEN, "")
        yield self._timers_without_effect(ids, is_either, due_at, how)
        if not self._lags and self._kind is EVENT and is_either.any():
            # If the clock stays unknown, the version since which both had passed them.
            ids, earlier = ids[is_either], np.minimum(due_at, other_due_at)
            how = Certainty.PROVEN, BY_BOTH
            ignored = self._timers_without_effect(ids, is_either[is_either], earlier, how)
            yield replace(ignored, timeout_kind=None)

    def _timers_without_effect(
        self, ids: Int64s, mask: Bools, due_at: Int64s, how: tuple[Certainty, str]
    ) -> Leftovers:
        """Return keys whose timer is still set as leftovers; ``due_at`` is the clock by step.

        ``mask`` marks keys that are leftovers by the other clock too. ``how`` has certainty and
        reason.
        """
        state, (certainty, reason) = self._state, how
        put = np.maximum(state.put_step[ids], state.base_step - 1).astype(np.int64)
        step, often = first_due(due_at, put, state.clock[ids])
        return Leftovers(
            *(LeftoverClass.IGNORED_TIMEOUT, certainty, self._kind, ids, step, state.clock[ids]),
            *(np.full(len(ids), NO_CLOCK) if self._lags else due_at[step], often),
            change=np.full(len(ids), StateChange.UNTOUCHED, np.int8),
            reason=reason,
            kind_step=np.full(len(ids), len(due_at) - 1),
            either=mask,
        )

    def timers_with_call(self) -> Iterator[Leftovers]:
        """Yield keys whose last put a timeout made or may have made, in groups.

        The call kept the state without a timer (KEPT_WITHOUT_TIMEOUT) or set a new timer (REARMED).
        Keys of one group have equal class, certainty and reason. Timers that ran out and are still
        set are left to :meth:`timers_that_stand`.
        """
        # Surely made by one (inspector.facts.timers.Calls), the key is a leftover by whatever clock
        # its timer ran out. In between new data may have made it as well: undecided, unless the
        # function's habits speak for the timeout.
        puts = self._puts()
        groups, kind_step, is_either, is_timeout = self._groups(puts)
        for group in distinct(groups[is_timeout]).tolist():
            portion = np.flatnonzero(is_timeout & (groups == group))
            yield self._answer(puts.ids[portion], kind_step[portion], is_either[portion], group)

    def _puts(self) -> _Puts:
        """Return the last puts of the keys that :meth:`_replaces_timer` selects."""
        state = self._state
        ids = state.where(self._replaces_timer)
        put, timer = state.put_step[ids].astype(np.int64), state.clock[ids]
        return _Puts(
            *(ids, timer, put, state.put_over_clock[ids], state.record[ids].astype(np.int64)),
            *(timer == NO_TIMEOUT, self._makers.is_sure(put, state.record[ids])),
        )

    def _groups(self, puts: _Puts) -> tuple[Int64s, Int64s, Bools, Bools]:
        """Judge each put.

        Returns arrays: the group (see :meth:`_answer`), the step whose batch's clock matters,
        whether the other clock agrees, and whether this clock makes it a leftover.
        """
        _, timer, put, replaced, _, without_timer, sure = puts
        last = self._last
        # If a timer was set again, the clock of the last batch matters, too: a timer that has run
        # out again is reported as ignored, once.
        rearmed = ~without_timer & (not self._view.premises.clears_timers)
        again, other_again = (
            rearmed & (timer < due_at[last]) for due_at in (self._due_at, self._other_due_at)
        )
        answers_last = rearmed & sure
        kind_step = np.where(answers_last, last, put)
        likely, other_likely = self._likely(puts)
        other_due = replaced < _bound(self._other_due_at)[put]
        is_either = np.where(answers_last, ~other_again, other_due)
        is_either &= (sure | other_likely) & (not self._single)
        is_timeout = likely | (sure & (answers_last | (replaced < _bound(self._due_at)[put])))
        is_timeout &= ~(again & (sure | other_again)) & ~self._excluded[kind_step]
        again_by = np.where(sure, 0, (again & ~other_again) + 2 * (other_again & ~again))
        is_known = self._due_at[put] != NO_CLOCK
        is_unsettled = answers_last & (put < last) & (self._due_at[last] == NO_CLOCK)
        is_same_state = self._state.put_same_state[puts.ids]
        is_hidden = sure & (put < self._last_unseen)
        group = _HIDDEN * is_hidden + _UNSETTLED * is_unsettled + _AGAIN_BY_OURS * again_by
        return (
            group
            + _SURE * sure
            + _KNOWN * is_known
            + _KEPT * without_timer
            + _SAME_STATE * is_same_state,
            kind_step,
            is_either,
            is_timeout,
        )

    def _likely(self, puts: _Puts) -> tuple[Bools, Bools]:
        """Return masks of the puts that a timeout may have made, by this clock and by the other."""
        due_at, possible = self._due_at[puts.put], self._makers.is_possible
        # By a clock that is not known any timer may have run out; said of those that are left none.
        due = np.where(due_at == NO_CLOCK, puts.kept, puts.over < due_at)
        other_due = puts.over < _bound(self._other_due_at)[puts.put]
        return (
            ~puts.sure & due & possible(self._kind, puts.put, puts.position),
            ~puts.sure & other_due & possible(self._kind.other, puts.put, puts.position),
        )

    def _replaces_timer(self, portion: slice) -> Bools:
        """Return a mask of the live keys of a portion whose last put a timeout may have made.

        The put must have replaced a timer within the window.
        """
        state = self._state
        put, over = state.put_step[portion], state.put_over_clock[portion]
        replaced: Bools = state.live[portion] & (put != BEFORE_WINDOW) & is_timer(over)
        result = np.flatnonzero(replaced)
        put, over, position = put[result], over[result], state.record[portion][result]
        likely = self._makers.is_sure(put, position)
        for due_at, kind in ((self._due_at, self._kind), (self._other_due_at, self._kind.other)):
            likely |= (over < _bound(due_at)[put]) & self._makers.is_possible(kind, put, position)
        replaced[result] = likely
        return replaced

    def _answer(self, ids: Int64s, kind_step: Int64s, mask: Bools, group: int) -> Leftovers:
        """Return the keys of one group as leftovers, with the function's answer to their timeout.

        ``mask`` marks keys that are leftovers by the other clock too.
        """
        state, (certainty, reason) = self._state, _proof_of(group)
        step = state.put_step[ids].astype(np.int64)
        fired, first = self._runs_of(ids, step)
        replaced = state.put_over_clock[ids]
        own_due, other_due = self._due_at[step], self._other_due_at[step]
        if self._lags and not (group & _SURE and self._view.premises.all_or_nothing):
            own_due = np.full(len(ids), NO_CLOCK)
        change = np.where(state.put_same_state[ids], StateChange.UNTOUCHED, StateChange.CHANGED)
        if self._view.empty_size >= 0:
            change[state.value_size[ids] == self._view.empty_size] = StateChange.EMPTY
        return Leftovers(
            LeftoverClass.KEPT_WITHOUT_TIMEOUT if group & _KEPT else LeftoverClass.REARMED,
            *(certainty, self._kind, ids, step, replaced),
            *(np.where(replaced < self._due_at[step], own_due, other_due), fired),
            first_step=first,
            change=change.astype(np.int8),
            reason=reason,
            needs=None if group & _SURE else self._needs(group),
            kind_step=kind_step,
            either=mask,
            group=group,
        )

    def _needs(self, group: int) -> Needs | None:
        """Return the evidence that a group without proof needs; None if nothing would infer it."""
        if group & (_AGAIN_BY_OURS | _AGAIN_BY_OTHER):
            kind = self._kind if group & _AGAIN_BY_OURS else self._kind.other
            return Needs.UNLESS_EVENT if kind is EVENT else Needs.UNLESS_PROCESSING
        if group & _KEPT:
            return Needs.KEPT_BY_HABIT
        return Needs.REARMED_BY_HABIT if group & _SAME_STATE else None

    def _runs_of(self, ids: Int64s, step: Int64s) -> tuple[Int64s, Int64s]:
        """Return by key the least number of timeouts in a row, and the first step of that run.

        ``step`` has the step of each key's last put.
        """
        run = self._view.runs.by_kind.get(self._kind) if self._view.runs is not None else None
        if run is None:
            return np.ones(len(ids), np.int64), step
        counted = run.fired[ids].astype(np.int64)
        first = np.where(counted > 0, run.first[ids].astype(np.int64), step)
        return np.maximum(counted, 1), first

    def of_unknown_timers(self) -> Iterator[Leftovers]:
        """Yield keys of which only a disputed snapshot shows the timer their last put replaced."""
        # By the deltas the timer may have been another one, which had run out. So a timeout may
        # have made each of these puts, and any older than the snapshot.
        state, answered = self._state, np.zeros(len(self._state), np.bool_)
        puts = self._puts()
        answered[puts.ids[self._groups(puts)[-1]]] = True
        ids = state.where(
            lambda slots: state.live[slots] & (state.puts[slots] <= 1) & ~answered[slots]
        )
        timer, stands = state.clock[ids], is_timer(state.clock[ids])
        if self._view.premises.clears_timers or self._excluded[self._last]:
            reported = np.zeros(len(ids), np.bool_)
        else:
            reported = stands & (state.put_step[ids] <= self._last)
        ignored, other_ignored = (
            reported & (timer < due_at[self._last]) for due_at in (self._due_at, self._other_due_at)
        )
        unknown = np.full(len(ids), NO_CLOCK)
        step = np.maximum(state.put_step[ids].astype(np.int64), state.base_step)
        for kind, mask in (
            (LeftoverClass.KEPT_WITHOUT_TIMEOUT, timer == NO_TIMEOUT),
            (LeftoverClass.REARMED, stands & ~ignored),
        ):
            yield Leftovers(
                *(kind, Certainty.UNDECIDED, self._kind, ids[mask], step[mask], unknown[mask]),
                *(unknown[mask], np.zeros(np.count_nonzero(mask), np.int64)),
                reason=DISPUTED,
                kind_step=step[mask],
                either=~other_ignored[mask] & (not self._single),
            )

    def before_window(self) -> Iterator[Leftovers]:
        """Yield keys that have had no timer since before the window, as undecided leftovers."""
        # If every call for data leaves a timer, only a timeout can have taken it. All partitions
        # together decide if that is so.
        state = self._state
        if self._view.runs is None:
            return
        ever_armed = self._view.runs.ever_armed

        def never(ids: slice) -> Bools:
            """Return a mask of the live keys that have no timer and had none in the window."""
            is_bare: Bools = state.put_step[ids] == BEFORE_WINDOW
            if is_bare.any():
                is_bare &= ~ever_armed[ids] & state.live[ids] & (state.clock[ids] == NO_TIMEOUT)
            return is_bare

        ids = state.where(never)
        if not len(ids):
            return
        unknown = np.full(len(ids), NO_CLOCK)
        base = np.full(len(ids), state.base_step, np.int64)
        yield Leftovers(
            *(LeftoverClass.KEPT_WITHOUT_TIMEOUT, Certainty.UNDECIDED, self._kind, ids, base),
            *(unknown, unknown, np.zeros(len(ids), np.int64)),
            reason=BEFORE,
            needs=Needs.BEFORE_WINDOW,
            kind_step=base,
            either=np.full(len(ids), not self._single),
        )


def _bound(times: Int64s) -> Int64s:
    """Return the times with unknown ones (NO_CLOCK) replaced by the largest number."""
    bound: Int64s = np.where(times == NO_CLOCK, np.iinfo(np.int64).max, times)
    return bound
