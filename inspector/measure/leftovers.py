"""Expired keys that are still there, each with the batch that proves it.

The version of batch N is judged with batch N's own clocks. Two families of rules:

* *Watermark*: a row whose field the watermark of a processed batch covered, and that outlived it.
* *Timeout* (group state): what the last put did with a timer that had run out. The functions that
  Spark calls leave one of three traces, see :mod:`inspector.operators.group_state`.

All of it is read off the final :class:`~inspector.state.replay.StateMap` at once: the clock, the
version of the last put and the clock that it replaced are kept per key while the versions pass.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from inspector.model import NO_TIMEOUT, BatchClock
from inspector.operators.rule import Clock, ExpiryField
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, Bools, Change, Int64s, StateMap


class LeftoverClass(enum.Enum):
    """Why an expired key is still there."""

    PAST_WATERMARK = "past_watermark"
    KEPT_WITHOUT_TIMEOUT = "kept_without_timeout"
    IGNORED_TIMEOUT = "ignored_timeout"
    REARMED = "rearmed"


class Certainty(enum.Enum):
    """How sure a statement is: read off the bytes, or by a rule that had to be guessed."""

    PROVEN = "proven"
    INFERRED = "inferred"


class TimeoutKind(enum.Enum):
    """Which clock a query's timeouts follow (``GroupStateTimeout``); not in the checkpoint."""

    EVENT_TIME = "event"
    PROCESSING_TIME = "processing"


@dataclass(frozen=True)
class Clocks:
    """The clocks of the batches behind a replay's steps, as arrays by step.

    Attributes:
        versions: state version of each step (batch + 1).
        watermark_ms, timestamp_ms: of the batch; NO_CLOCK where its log entry is gone.
        no_new_data: the batch had the source offsets of the one before, so that the only calls it
            made were for timeouts.
    """

    versions: Int64s
    watermark_ms: Int64s
    timestamp_ms: Int64s
    no_new_data: Bools

    @classmethod
    def of(cls, versions: Sequence[int], batches: Mapping[int, BatchClock]) -> Clocks:
        """The clocks of each version's batch."""
        found = [batches.get(version - 1) for version in versions]

        def column(values: list[int | None]) -> Int64s:
            return np.array([NO_CLOCK if v is None else v for v in values], np.int64)

        return cls(
            np.array(versions, np.int64),
            column([b.watermark_ms if b else None for b in found]),
            column([b.timestamp_ms if b else None for b in found]),
            np.array([b is not None and b.has_new_data is False for b in found], np.bool_),
        )

    def threshold_ms(self, kind: TimeoutKind) -> Int64s:
        """What timers are held against, by step."""
        return self.watermark_ms if kind is TimeoutKind.EVENT_TIME else self.timestamp_ms


@dataclass(frozen=True)
class Leftovers:
    """Leftover keys of one store and class; arrays run parallel to ``ids``.

    Attributes:
        kind: class; certainty: of all of them; timeout_kind: under which reading, if it matters.
        ids: key ids in the StateMap.
        expired_step: step whose batch proves that the key had expired.
        clock_ms: the field at that batch, ms. threshold_ms: what it was held against.
        fired: batches in which the timer fired up to the judged version; 1 where it fired once.
    """

    kind: LeftoverClass
    certainty: Certainty
    timeout_kind: TimeoutKind | None
    ids: Int64s
    expired_step: Int64s
    clock_ms: Int64s
    threshold_ms: Int64s
    fired: Int64s


class RecordOrder(NamedTuple):
    """What the positions of a delta's records tell about the calls that made them.

    A batch first calls the function for new data, in ascending order of keys, and then for the
    timers that have run out, in the order of its hash map
    (``FlatMapGroupsWithStateExec.processDataWithPartition``).

    Attributes:
        last_data: position of the last record that only new data can have made: nothing up to it
            came from a timeout.
        first_timeout: position from which on the keys do not ascend as those of new data do: all
            from it on came from timeouts.
    """

    last_data: int
    first_timeout: int


NO_TIMEOUT_SEEN = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class TimerEvidence:
    """What the history of one store tells about its timers; adds version by version.

    The kind of a query's timeouts is not in the checkpoint. But each kind forbids something:

    * a timer is armed after its clock: ``setTimeoutDuration`` adds a positive duration to the
      batch's processing time, ``setTimeoutTimestamp`` refuses what is before the watermark
      (``GroupStateImpl``);
    * in a batch without new data only a timer that has run out calls the function, so nothing else
      changes;
    * in Scala and Java a timer that has run out is gone after the batch.

    Attributes:
        not_event, not_processing: keys that break one of these rules, so that the timers cannot
            follow that clock. One is proof.
        order: under each reading and for each version, what the order of the records in its delta
            tells.
    """

    not_event: int = 0
    not_processing: int = 0
    order: Mapping[TimeoutKind, Mapping[int, RecordOrder]] = field(default_factory=dict)

    def __add__(self, other: TimerEvidence) -> TimerEvidence:
        return TimerEvidence(
            self.not_event + other.not_event,
            self.not_processing + other.not_processing,
            {
                kind: {**self.order.get(kind, {}), **other.order.get(kind, {})}
                for kind in TimeoutKind
            },
        )

    def possible(self, kinds: Sequence[TimeoutKind]) -> tuple[TimeoutKind, ...]:
        """Those of some readings that nothing speaks against; all, if something does against all.

        (Bytes that contradict every reading come from another version's clock or a foreign writer.)
        """
        against = {
            TimeoutKind.EVENT_TIME: self.not_event,
            TimeoutKind.PROCESSING_TIME: self.not_processing,
        }
        return tuple(kind for kind in kinds if not against[kind]) or tuple(kinds)


def timer_evidence(change: Change, state: StateMap, clock: BatchClock | None) -> TimerEvidence:
    """The evidence that one version adds; none where its batch's clocks are not known."""
    if clock is None or clock.timestamp_ms is None or clock.watermark_ms is None:
        return TimerEvidence()
    timers, over = state.clock[change.ids], change.was_clock
    ran = (over != NO_TIMEOUT) & (over != NO_CLOCK)
    armed = change.written & (timers != NO_TIMEOUT) & (timers != NO_CLOCK)
    quiet = ran & (change.written | ~change.now_live) & (clock.has_new_data is False)
    watermark, now = clock.watermark_ms, clock.timestamp_ms
    records = state.put_record[change.ids]

    def order(threshold: int) -> dict[int, RecordOrder]:
        by_data = records[change.written & ~(ran & (over < threshold))]
        last_data = int(by_data.max(initial=-1))
        descent = change.first_descent
        # A descent among the records of new data: their order is not the one we know.
        known = NO_TIMEOUT_SEEN if descent is None or descent <= last_data else descent
        return {change.version: RecordOrder(last_data, known)}

    return TimerEvidence(
        not_event=_count(armed & (timers < watermark), quiet & (over >= watermark)),
        not_processing=_count(armed & (timers <= now), quiet & (over >= now)),
        order={
            TimeoutKind.EVENT_TIME: order(watermark),
            TimeoutKind.PROCESSING_TIME: order(now),
        },
    )


def overdue_evidence(state: StateMap, clocks: Clocks) -> TimerEvidence:
    """The evidence of timers that stand though they have run out; holds for Scala and Java only."""
    if not len(clocks.versions):
        return TimerEvidence()
    timer = state.clock[: len(state)]
    armed = state.live[: len(state)] & (timer != NO_TIMEOUT) & (timer != NO_CLOCK)
    return TimerEvidence(
        not_event=_count(armed & (timer < clocks.watermark_ms[-1])),
        not_processing=_count(armed & (timer < clocks.timestamp_ms[-1])),
    )


def _count(*masks: Bools) -> int:
    return sum(int(mask.sum()) for mask in masks)


def find_leftovers(
    state: StateMap,
    expiry: ExpiryField,
    clocks: Clocks,
    *,
    certainty: Certainty = Certainty.PROVEN,
    timers: tuple[TimerEvidence, Sequence[TimeoutKind]] = (TimerEvidence(), ()),
) -> Iterator[Leftovers]:
    """The leftovers of a store at the version that was replayed last, class by class.

    Args:
        state: the map; every step of it is a processed batch.
        expiry: the operator's rule.
        clocks: by step of ``state``.
        certainty: of the watermark that the operator sees (inferred downstream of a join).
        timers: for group state, the evidence of the store's whole history, and the readings of its
            timers that are still possible.
    """
    if expiry.clock is Clock.WATERMARK:
        yield from _past_watermark(state, expiry, clocks, certainty)
        return
    evidence, kinds = timers
    for kind in kinds:
        yield from _ignored(state, clocks, kind)
        yield from _answered(state, clocks, kind, evidence)


def _past_watermark(
    state: StateMap, expiry: ExpiryField, clocks: Clocks, certainty: Certainty
) -> Iterator[Leftovers]:
    count = len(state)
    # 0 is no watermark yet; it covers nothing, not even times before 1970.
    there = np.where(clocks.watermark_ms > 0, clocks.watermark_ms, NO_CLOCK)
    watermark = np.maximum.accumulate(there)
    if not len(watermark) or watermark[-1] == NO_CLOCK:
        return
    clock = state.clock[:count]
    # floor(clock / per_ms) <= W and clock <= W * per_ms agree only rounded up; and W * per_ms may
    # not overflow, so the field is what is divided.
    clock_ms = -(-clock // expiry.per_ms)
    ids = np.flatnonzero(state.live[:count] & (clock != NO_CLOCK) & (clock_ms <= watermark[-1]))
    since = (state.born_step if expiry.side.value == "key" else state.put_step)[ids]
    covered = np.searchsorted(watermark, clock_ms[ids], side="left")
    step = np.maximum(covered, np.maximum(since, state.base_step))
    yield Leftovers(
        LeftoverClass.PAST_WATERMARK,
        certainty,
        None,
        ids,
        step,
        clock_ms[ids],
        watermark[step],
        np.ones(len(ids), np.int64),
    )


def _ignored(state: StateMap, clocks: Clocks, kind: TimeoutKind) -> Iterator[Leftovers]:
    """Timers that have run out and still stand: only applyInPandasWithState leaves them.

    Such a timer fires again in every batch. A timer set in batch b cannot run out in b itself:
    ``setTimeoutTimestamp`` refuses what is below the watermark, a duration is positive.
    """
    count, threshold = len(state), clocks.threshold_ms(kind)
    if not len(threshold):
        return
    timer = state.clock[:count]
    armed = state.live[:count] & (timer != NO_TIMEOUT) & (timer != NO_CLOCK)
    ids = np.flatnonzero(armed & (timer < threshold[-1]))
    if not len(ids):
        return
    reached = np.maximum.accumulate(threshold)
    put = state.put_step[ids]
    since = np.where(put == BEFORE_WINDOW, state.base_step, put + 1)
    step = np.maximum(np.searchsorted(reached, timer[ids], side="right"), since)
    step = np.minimum(step, len(threshold) - 1)
    yield Leftovers(
        LeftoverClass.IGNORED_TIMEOUT,
        Certainty.PROVEN,
        kind,
        ids,
        step,
        timer[ids],
        reached[step],
        len(threshold) - step,
    )


def _answered(
    state: StateMap, clocks: Clocks, kind: TimeoutKind, evidence: TimerEvidence
) -> Iterator[Leftovers]:
    """Keys whose last put answered a timer that had run out: kept without one, or armed anew.

    In a batch without new data only a timeout can have called the function: proven. In a batch with
    data, new data for the key may have called it instead; then the place of its record decides
    (:class:`RecordOrder`): among the records of data it is no leftover, behind them all it is
    proven. In between, a key that was kept without timeout, or armed anew with its state untouched,
    is inferred: new data that updates the state and arms the timer is the life a key should have.
    """
    count, threshold = len(state), clocks.threshold_ms(kind)
    over, put = state.put_over_clock[:count], state.put_step[:count]
    mask = state.live[:count] & (put != BEFORE_WINDOW) & (over != NO_TIMEOUT) & (over != NO_CLOCK)
    ids = np.flatnonzero(mask)
    due = threshold[put[ids]]
    ids = ids[(due != NO_CLOCK) & (over[ids] < due)]
    kept = state.clock[ids] == NO_TIMEOUT
    # One that has run out again is told as ignored, once.
    ours = kept | (state.clock[ids] >= threshold[-1])
    proven, inferred = _certain(state, clocks, ids, kept, evidence.order.get(kind, {}))
    for cls, of_class in (
        (LeftoverClass.KEPT_WITHOUT_TIMEOUT, kept),
        (LeftoverClass.REARMED, ~kept),
    ):
        for certainty, sure in ((Certainty.PROVEN, proven), (Certainty.INFERRED, inferred)):
            chosen = ids[ours & of_class & sure]
            if len(chosen):
                step = state.put_step[chosen].astype(np.int64)
                fired = np.ones(len(chosen), np.int64)
                yield Leftovers(
                    cls,
                    certainty,
                    kind,
                    chosen,
                    step,
                    state.put_over_clock[chosen],
                    threshold[step],
                    fired,
                )


def _certain(
    state: StateMap, clocks: Clocks, ids: Int64s, kept: Bools, order: Mapping[int, RecordOrder]
) -> tuple[Bools, Bools]:
    """Of keys whose last put answered a due timer: surely called by the timeout; likely so."""
    put, record = state.put_step[ids], state.put_record[ids]
    unknown = RecordOrder(-1, NO_TIMEOUT_SEEN)
    orders = [order.get(version, unknown) for version in clocks.versions.tolist()]
    last_data = np.array([one.last_data for one in orders], np.int64)[put]
    first_timeout = np.array([one.first_timeout for one in orders], np.int64)[put]
    proven = clocks.no_new_data[put] | (record >= first_timeout)
    inferred = ~proven & (record > last_data) & (kept | state.put_same_state[ids])
    return proven, inferred
