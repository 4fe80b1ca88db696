"""What the history of a group state's timers tells: which clock they follow, who set them last.

The function is called for new data and for timers that have run out; which of the two made a put
is told by the batch (one without new data only calls for timeouts), by the timer that was replaced,
and by the place of the record in its delta (:class:`RecordOrder`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.measure.clocks import Clocks
from inspector.model import NO_TIMEOUT, BatchClock, Certainty, TimeoutKind
from inspector.state.change import Bools, Change, Int64s
from inspector.state.replay import NO_CLOCK, StateMap


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
class TimerPuts:
    """What the puts of one version did with timers; arrays run parallel to ``ids``.

    Gathered once, because the keys lie anywhere in the map; what is asked of the timers that were
    replaced is asked of those alone.

    Attributes:
        change: the version's change. touched: every key that it names.
        ids: the keys that it put and that are there.
        timers: their timers now; NO_TIMEOUT for none, NO_CLOCK where it cannot be read.
        records: positions of the puts in the delta.
        over: places in ``ids`` of the keys whose put replaced a timer; over_timers: that timer.
        removed_timers: timers that went with their keys.
    """

    change: Change
    touched: Int64s
    ids: Int64s
    timers: Int64s
    records: npt.NDArray[np.int32]
    over: Int64s
    over_timers: Int64s
    removed_timers: Int64s

    @classmethod
    def of(cls, change: Change, state: StateMap) -> TimerPuts:
        """Of one version's change; ``state`` is the map after it."""
        touched = state.touched_keys()
        ids, before, removed = touched.ids, touched.was_clock, touched.was_clock[:0]
        if not touched.written.all():
            removed = before[~touched.written]
            ids, before = ids[touched.written], before[touched.written]
        over = np.flatnonzero(_set(before))
        return cls(
            change,
            touched.ids,
            ids,
            state.clock[ids],
            state.put_record[ids],
            over,
            before[over],
            removed[_set(removed)],
        )


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

    def possible(
        self, kinds: Sequence[TimeoutKind], watermark: Certainty = Certainty.PROVEN
    ) -> tuple[TimeoutKind, ...]:
        """Those of some readings that nothing speaks against; all, if something does against all.

        (Bytes that contradict every reading come from another version's clock or a foreign writer.)

        Args:
            kinds: the readings.
            watermark: whether the operator sees that of the query; one that may lag behind it
                contradicts nothing.
        """
        against = {
            TimeoutKind.EVENT_TIME: self.not_event if watermark is Certainty.PROVEN else 0,
            TimeoutKind.PROCESSING_TIME: self.not_processing,
        }
        return tuple(kind for kind in kinds if not against[kind]) or tuple(kinds)


def timer_evidence(puts: TimerPuts, clock: BatchClock | None) -> TimerEvidence:
    """The evidence that one version adds; none where its batch's clocks are not known."""
    if clock is None or clock.timestamp_ms is None or clock.watermark_ms is None:
        return TimerEvidence()
    watermark, now = clock.watermark_ms, clock.timestamp_ms
    armed = _set(puts.timers)
    quiet = clock.has_new_data is False
    gone = (puts.over_timers, puts.removed_timers) if quiet else ()
    return TimerEvidence(
        not_event=_count(
            armed & (puts.timers < watermark), *(timers >= watermark for timers in gone)
        ),
        not_processing=_count(armed & (puts.timers <= now), *(timers >= now for timers in gone)),
        order={
            TimeoutKind.EVENT_TIME: {puts.change.version: _order(puts, watermark)},
            TimeoutKind.PROCESSING_TIME: {puts.change.version: _order(puts, now)},
        },
    )


def _order(puts: TimerPuts, threshold: int) -> RecordOrder:
    by_data = puts.records.copy()
    by_data[puts.over[puts.over_timers < threshold]] = -1
    last_data = int(by_data.max(initial=-1))
    descent = puts.change.first_descent
    # A descent among the records of new data: their order is not the one we know.
    known = NO_TIMEOUT_SEEN if descent is None or descent <= last_data else descent
    return RecordOrder(last_data, known)


def overdue_evidence(state: StateMap, clocks: Clocks) -> TimerEvidence:
    """The evidence of timers that stand though they have run out; holds for Scala and Java only."""
    if not len(clocks.versions):
        return TimerEvidence()
    event = processing = 0
    for some in state.portions():
        timers = state.clock[some]
        armed = state.live[some] & _set(timers)
        event += _count(armed & (timers < clocks.watermark_ms[-1]))
        processing += _count(armed & (timers < clocks.timestamp_ms[-1]))
    return TimerEvidence(not_event=event, not_processing=processing)


def _set(timers: Int64s) -> Bools:
    """Which of some clocks are timers."""
    is_set: Bools = (timers != NO_TIMEOUT) & (timers != NO_CLOCK)
    return is_set


def _count(*masks: Bools) -> int:
    return sum(int(np.count_nonzero(mask)) for mask in masks)
