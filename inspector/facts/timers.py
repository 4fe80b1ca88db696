"""Calls that made the records of one version, and the clock of its timers.

A group-state function is called for new data and for timers that have run out. Each batch is judged
on its own: which of the two calls made a record, and which clock the timers follow. A restart may
have changed the function and its timeout. The documentation has the reasons
(``explanation/proofs``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import or_
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s
from inspector.facts.fact import VersionSum, fact
from inspector.light_dataclasses import dataclass, field
from inspector.model import NO_TIMEOUT, BatchClock, BatchId, TimeoutKind
from inspector.state.change import Change
from inspector.state.replay import NO_CLOCK, StateMap
from inspector.sums import sum_by

# The two clocks that timers may follow.
EVENT, PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME
NO_RECORD = int(np.iinfo(np.int64).max)
"""Position after every record: no record of the version was surely made by a timeout."""


class TimerPremises(NamedTuple):
    """Premises on timers that hold for an operator, by its position in the query."""

    # True if only new data of the sources calls the function for data (premise ``only-data-calls``)
    only_sources_feed: bool = True
    # True if the operator sees the query's watermark, False if its own may lag behind
    exact_watermark: bool = True
    # True if no timer that has run out outlives its batch (premise ``clears-timers``)
    clears_timers: bool = False
    # True if the operator sees the query's watermark or none, never one that lags: if a timer fired
    # by a watermark, it was the query's
    all_or_nothing: bool = False

    def lags(self, kind: TimeoutKind) -> bool:
        """Return True if the query's clock is only an upper bound of the operator's clock."""
        return kind is EVENT and not self.exact_watermark


@dataclass(frozen=True)
class TimerRecords:
    """Last record of each key that one version names, with its timers."""

    change: Change  # change of the version
    ids: Int64s  # ids of the keys
    put: Bools  # True if the record puts the key, False if it removes it
    positions: Int64s  # position of the record in its file
    # timer that the key had: NO_TIMEOUT for none, NO_CLOCK if there was no row or its timer cannot
    # be read
    before: Int64s
    after: Int64s  # timer that the put left; NO_CLOCK for a removal
    same_state: Bools  # True if the put left the state unchanged, except for the timer
    timed: Bools  # True if the key had a timer
    armed: Bools  # True if the put left a timer
    fresh: Bools  # True if the key had no timer before, so that no timeout can have called for it
    # indexes of the keys whose record replaced one of the same version, which had put the timer in
    # ``before``. A call for data had set a timer that had run out at once, such as one of
    # ``Long.MaxValue`` milliseconds, which overflows
    again: Int64s

    @classmethod
    def of(cls, change: Change, state: StateMap) -> TimerRecords:
        """Return the records of one version's change; ``state`` is the map after it."""
        touched = state.list_touched_keys()
        ids, old_timers, put = touched.ids, touched.was_clock, touched.written
        absent = ~touched.was_live
        absent[touched.again] = False
        new_timers = np.where(put, state.clock[ids], NO_CLOCK)
        return cls(
            *(change, ids, put, state.record[ids].astype(np.int64), old_timers, new_timers),
            *(touched.same_state, is_timer(old_timers), is_timer(new_timers)),
            *(absent | (old_timers == NO_TIMEOUT), touched.again),
        )


@fact("clock_evidence")
@dataclass(frozen=True)
class ClockEvidence(VersionSum):
    """Clocks that a group state's timers cannot have followed in one batch. Adds up."""

    against: frozenset[TimeoutKind] = sum_by(or_, frozenset())  # the excluded clocks


@fact("call_bounds")
@dataclass(frozen=True)
class CallBounds(VersionSum):
    """Bounds on the records of a version that data or timers made. Adds up over key ranges."""

    # The order of all records shows who made them: a pass over a part of a partition's keys has to
    # be told what the other parts show.

    # position of the last record that no timeout by any clock can have made; -1 for none
    by_any: int = sum_by(max, -1)
    # position of the last record that no timeout by the watermark can have made; -1 for none, or if
    # records are not ordered, because it then says nothing of the records before it
    by_event: int = sum_by(max, -1)
    # position of the last record that no timeout by the processing time can have made; -1 as for
    # the watermark
    by_processing: int = sum_by(max, -1)
    # position of the last record whose timer had not run out by the watermark; -1 for none
    ahead_of_event: int = sum_by(max, -1)
    # position of the last record whose timer had not run out by the processing time; -1 for none
    ahead_of_processing: int = sum_by(max, -1)
    set_before_event: int = sum_by(max, 0)  # 1 if a record set a timer before the watermark
    # 1 if a record set a timer that is not after the processing time
    set_before_processing: int = sum_by(max, 0)

    @classmethod
    def of(cls, records: TimerRecords, clock: BatchClock | None) -> CallBounds:
        """Return the bounds of one version, whose batch had the clock ``clock``."""
        if records.change.rebased:
            return cls()
        clock = clock or BatchClock(BatchId(records.change.version - 1))
        event, processing = (due_before(records, clock, kind) for kind in (EVENT, PROCESSING))
        any_bound, event_bound, processing_bound = (
            _last(records.positions, records.fresh | (records.timed & ~due))
            for due in (event | processing, event, processing)
        )
        if not records.change.ordered:
            event_bound = processing_bound = -1
        ahead_of_event, ahead_of_processing = (
            _last(records.positions, records.timed & ~due) for due in (event, processing)
        )
        armed, watermark, now = records.after[records.armed], clock.watermark_ms, clock.timestamp_ms
        return cls(
            *(any_bound, event_bound, processing_bound, ahead_of_event, ahead_of_processing),
            int(watermark is not None and (armed < watermark).any()),
            int(now is not None and (armed <= now).any()),
        )

    @property
    def last_data(self) -> dict[TimeoutKind, int]:
        """Position of the last record that only data can have made, by clock; -1 for none."""
        return {EVENT: self.by_event, PROCESSING: self.by_processing}


@dataclass(frozen=True)
class Calls:
    """Calls, for data or for timers, that made the records of one version."""

    # position from which on timeouts made every record, by whatever clock
    sure_from: int = NO_RECORD
    # position by clock up to which new data made every record; a timeout may have made the records
    # between it and ``sure_from``
    last_data: Mapping[TimeoutKind, int] = field(default_factory=dict)
    # clocks that the batch's timers cannot have followed
    against: frozenset[TimeoutKind] = frozenset()
    # True if new data may have put values again unchanged, which snapshots alone do not show
    may_rewrite_unseen: bool = False


def calls_of(
    records: TimerRecords,  # of the version
    clock: BatchClock | None,  # of its batch; None if its log entry is gone
    premises: TimerPremises,  # of the operator
    bounds: CallBounds | None = None,  # of all records, if these are of a part of the keys
) -> Calls:
    """Return the calls that made the records of one version.

    They are empty, so that nothing is sure, for a version from a snapshot or with foreign rows.
    """
    if records.change.rebased or (clock is not None and clock.has_foreign_rows):
        return Calls()
    clock = clock or BatchClock(BatchId(records.change.version - 1))
    bounds = bounds or CallBounds.of(records, clock)
    sure_from = _sure_from(records, clock, premises, bounds)
    against = frozenset(_against(premises, bounds, sure_from))
    return Calls(sure_from, bounds.last_data, against, not records.change.ordered and sure_from > 0)


def _sure_from(
    records: TimerRecords, clock: BatchClock, premises: TimerPremises, bounds: CallBounds
) -> int:
    """Return the position from which on timeouts made all records; NO_RECORD if none."""
    # Spark calls for data first, in ascending order of keys (premise data-first); in a batch
    # without data it calls for timeouts only. Bytes that contradict a premise end its use: a record
    # of a key that had no timer, or one that had not run out by any clock, was made for data.
    if premises.only_sources_feed and clock.has_new_data is False and bounds.by_any < 0:
        return 0
    descent = records.change.first_descent
    return NO_RECORD if descent is None or descent <= bounds.by_any else descent


def due_before(records: TimerRecords, clock: BatchClock, kind: TimeoutKind) -> Bools:
    """Return a mask of the keys whose timer may have run out in the batch by the clock ``kind``.

    All timers may have if the clock is not known.
    """
    now = clock.time_ms(kind)
    return records.timed if now is None else records.timed & (records.before < now)


def _against(premises: TimerPremises, bounds: CallBounds, sure_from: int) -> Iterator[TimeoutKind]:
    """Yield the clocks that the timers of a batch cannot have followed.

    ``sure_from`` is the position from which on timeouts made every record.
    """
    # A timer that fired had run out (premise due-by-clock); one that was set lies at or after the
    # watermark, and after the processing time (premise set-after-clock).
    set_before = premises.exact_watermark and bounds.set_before_event
    if bounds.ahead_of_event >= sure_from or set_before:
        yield EVENT
    if bounds.ahead_of_processing >= sure_from or bounds.set_before_processing:
        yield PROCESSING


def is_timer(clocks: Int64s) -> Bools:
    """Return a mask of the clocks that are timers: neither NO_TIMEOUT nor NO_CLOCK."""
    timers: Bools = (clocks != NO_TIMEOUT) & (clocks != NO_CLOCK)
    return timers


def _last(positions: npt.NDArray[np.int64], mask: Bools) -> int:
    """Return the highest position under a mask; -1 if there is none."""
    return int(positions[mask].max(initial=-1))
