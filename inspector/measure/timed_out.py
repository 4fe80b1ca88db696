"""Group-state keys whose timeout fired and that are still there, and what the function did.

All of it is read off the final :class:`~inspector.state.replay.StateMap` at once: the timer, the
step of the last put and the timer that it replaced are kept per key while the versions pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inspector.measure.clocks import Clocks
from inspector.measure.expired import LeftoverClass, Leftovers, StateChange
from inspector.measure.timer_runs import TimerRuns
from inspector.measure.timers import NO_TIMEOUT_SEEN, RecordOrder, TimerEvidence
from inspector.model import NO_TIMEOUT, Certainty, TimeoutKind
from inspector.state.change import Bools, Int64s
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap

AMONG_DATA = "in a batch with new data, where the place of its record leaves both calls possible"
HELD_BACK = "the operator's own watermark may lag behind that of the query"
BY_WATERMARK = "by the watermark; if its timer follows processing time, earlier"
BEFORE = "no timeout when the window of proof began, in which each call for data set one"


KNOWN_ANSWERS = 6
"""Proven answers to timeouts from which on the function counts as known."""


@dataclass(frozen=True)
class TimerView:
    """What is known of a store's timers when its leftovers are told.

    Attributes:
        evidence: of the store's whole history.
        runs: how often in a row each timer fired; None if it was not followed.
        empty_size: size of a value whose state is null; -1 where none can be told by its size.
        certainty: of the watermark that the operator sees.
    """

    evidence: TimerEvidence
    runs: TimerRuns | None = None
    empty_size: int = -1
    certainty: Certainty = Certainty.PROVEN


def timed_out(
    state: StateMap,
    clocks: Clocks,
    kind: TimeoutKind,
    view: TimerView,
    *,
    open_question: bool = False,
) -> Iterator[Leftovers]:
    """The leftovers under one reading of the timers.

    With an ``open_question`` the other reading is possible too: what has run out by the watermark,
    which never was ahead of the processing time, has run out under both, and is told as such once.
    """
    if not len(clocks.versions):
        return
    both = open_question and bool((clocks.watermark_ms <= clocks.timestamp_ms).all())
    yield from _ignored(state, clocks, kind, view, both=both)
    yield from _answered(state, clocks, kind, view)
    yield from _before_window(state, kind, view)


def _ignored(
    state: StateMap, clocks: Clocks, kind: TimeoutKind, view: TimerView, *, both: bool
) -> Iterator[Leftovers]:
    """Timers that have run out and still stand: only applyInPandasWithState leaves them.

    Such a timer fires again in every batch. A timer set in batch b cannot run out in b itself:
    ``setTimeoutTimestamp`` refuses what is below the watermark, a duration is positive.
    """
    threshold = clocks.threshold_ms(kind)
    from_ms = clocks.watermark_ms[-1] if both and kind is TimeoutKind.PROCESSING_TIME else None

    def overdue(some: slice) -> Bools:
        timer = state.clock[some]
        due: Bools = (timer < threshold[-1]) & (timer != NO_TIMEOUT) & (timer != NO_CLOCK)
        due &= state.live[some]
        if from_ms is not None:
            due &= timer >= from_ms
        return due

    ids = state.where(overdue)
    if not len(ids):
        return
    timer = state.clock[ids]
    reached = np.maximum.accumulate(threshold)
    put = state.put_step[ids]
    since = np.where(put == BEFORE_WINDOW, state.base_step, put + 1)
    step = np.maximum(np.searchsorted(reached, timer, side="right"), since)
    step = np.minimum(step, len(threshold) - 1)
    lags = kind is TimeoutKind.EVENT_TIME and view.certainty is Certainty.INFERRED
    yield Leftovers(
        LeftoverClass.IGNORED_TIMEOUT,
        view.certainty if lags else Certainty.PROVEN,
        None if both and kind is TimeoutKind.EVENT_TIME else kind,
        ids,
        step,
        timer,
        reached[step],
        len(threshold) - step,
        change=np.full(len(ids), StateChange.UNTOUCHED, np.int8),
        reason=HELD_BACK if lags else BY_WATERMARK if both else "",
    )


def _answered(
    state: StateMap, clocks: Clocks, kind: TimeoutKind, view: TimerView
) -> Iterator[Leftovers]:
    """Keys whose last put answered a timer that had run out: kept without one, or armed anew.

    In a batch without new data only a timeout can have called the function: proven. In a batch with
    data, new data for the key may have called it instead; then the place of its record decides
    (:class:`RecordOrder`): among the records of data it is no leftover, behind them all it is
    proven. In between, a key that was kept without timeout, or armed anew with its state untouched,
    is inferred: new data that updates the state and arms the timer is the life a key should have;
    unless the function is known to answer its timeouts in another way.
    """
    threshold = clocks.threshold_ms(kind)

    def answered(some: slice) -> Bools:
        over, put = state.put_over_clock[some], state.put_step[some]
        replaced: Bools = (over != NO_TIMEOUT) & (over != NO_CLOCK) & (put != BEFORE_WINDOW)
        replaced &= state.live[some]
        asked = np.flatnonzero(replaced)
        # Where the clock is not known it is NO_CLOCK, which nothing is below.
        replaced[asked] = over[asked] < threshold[put[asked]]
        return replaced

    every = state.where(answered)
    timer = state.clock[every]
    # One that has run out again is told as ignored, once.
    ours = (timer == NO_TIMEOUT) | (timer >= threshold[-1])
    ids, kept = every[ours], timer[ours] == NO_TIMEOUT
    if not len(ids):
        return
    proven, inferred = _certain(state, clocks, ids, every, view.evidence.order.get(kind, {}))
    why = AMONG_DATA
    if kind is TimeoutKind.EVENT_TIME and view.certainty is Certainty.INFERRED:
        quiet = clocks.no_new_data[state.put_step[ids]]
        proven, inferred, why = proven & quiet, inferred | (proven & ~quiet), HELD_BACK
    for cls, of_class in (
        (LeftoverClass.KEPT_WITHOUT_TIMEOUT, kept),
        (LeftoverClass.REARMED, ~kept),
    ):
        for certainty, sure in ((Certainty.PROVEN, proven), (Certainty.INFERRED, inferred)):
            chosen = ids[of_class & sure]
            if len(chosen):
                reason = "" if certainty is Certainty.PROVEN else why
                yield _answer(state, (cls, certainty, kind), chosen, threshold, view, reason)


def _answer(
    state: StateMap,
    what: tuple[LeftoverClass, Certainty, TimeoutKind],
    ids: Int64s,
    threshold: Int64s,
    view: TimerView,
    reason: str,
) -> Leftovers:
    step = state.put_step[ids].astype(np.int64)
    fired, first = np.ones(len(ids), np.int64), step
    run = view.runs.by_kind.get(what[2]) if view.runs is not None else None
    if run is not None:
        counted = run.fired[ids].astype(np.int64)
        fired = np.maximum(counted, 1)
        first = np.where(counted > 0, run.first[ids].astype(np.int64), step)
    return Leftovers(
        *what,
        ids,
        step,
        state.put_over_clock[ids],
        threshold[step],
        fired,
        first_step=first,
        change=_change(state, ids, view),
        reason=reason,
    )


def _change(state: StateMap, ids: Int64s, view: TimerView) -> npt.NDArray[np.int8]:
    change = np.where(state.put_same_state[ids], StateChange.UNTOUCHED, StateChange.CHANGED)
    if view.empty_size >= 0:
        change = np.where(state.value_size[ids] == view.empty_size, StateChange.EMPTY, change)
    return change.astype(np.int8)


def _certain(
    state: StateMap, clocks: Clocks, ids: Int64s, every: Int64s, order: Mapping[int, RecordOrder]
) -> tuple[Bools, Bools]:
    """Of keys whose last put answered a due timer: surely called by the timeout; likely so.

    Args:
        state: the map.
        clocks: by step of it.
        ids: the keys.
        every: all keys whose last put answered a due timer.
        order: by version, what the order of its records tells.
    """
    unknown = RecordOrder(-1, NO_TIMEOUT_SEEN)
    orders = [order.get(version, unknown) for version in clocks.versions.tolist()]
    last_data = np.array([one.last_data for one in orders], np.int64)
    first_timeout = np.array([one.first_timeout for one in orders], np.int64)
    first_timeout[clocks.no_new_data] = -1  # every record is that of a timeout
    proven = _proven(state, ids, first_timeout)
    inferred = np.zeros(len(ids), np.bool_)
    rest = np.flatnonzero(~proven)
    rest = rest[state.put_record[ids[rest]] > last_data[state.put_step[ids[rest]]]]
    answers = _answers(state, ids[rest])
    rest, answers = rest[answers > 0], answers[answers > 0]
    if len(rest):
        known = _answers(state, every[_proven(state, every, first_timeout)])
        if len(known) >= KNOWN_ANSWERS:
            # A call that did what no timeout is known to have made it do was made for data.
            rest = rest[(np.bincount(known, minlength=4) > 0)[answers]]
    inferred[rest] = True
    return proven, inferred


def _proven(state: StateMap, ids: Int64s, first_timeout: Int64s) -> Bools:
    """Whether the last put stands where only timeouts do."""
    proven: Bools = state.put_record[ids] >= first_timeout[state.put_step[ids]]
    return proven


def _answers(state: StateMap, ids: Int64s) -> Int64s:
    """What the last put did: 2 if it left no timer, and 1 more if it left the state untouched."""
    answers: Int64s = 2 * (state.clock[ids] == NO_TIMEOUT) + state.put_same_state[ids]
    return answers


def _before_window(state: StateMap, kind: TimeoutKind, view: TimerView) -> Iterator[Leftovers]:
    """Keys without a timer since before the window.

    Where every call for data leaves a timer, only a timeout can have taken it. Whether it is so,
    all partitions together decide.
    """
    if view.runs is None:
        return
    ever_armed = view.runs.ever_armed

    def never(some: slice) -> Bools:
        before: Bools = state.put_step[some] == BEFORE_WINDOW
        if before.any():
            before &= ~ever_armed[some] & state.live[some] & (state.clock[some] == NO_TIMEOUT)
        return before

    ids = state.where(never)
    if not len(ids):
        return
    unknown = np.full(len(ids), NO_CLOCK)
    yield Leftovers(
        LeftoverClass.KEPT_WITHOUT_TIMEOUT,
        Certainty.INFERRED,
        kind,
        ids,
        np.full(len(ids), state.base_step, np.int64),
        unknown,
        unknown,
        np.zeros(len(ids), np.int64),
        reason=BEFORE,
        before_window=True,
    )
