"""Rows that the clock of a processed batch had passed and that still exist, except group state.

The module also has the clocks of the batches of a replay, by which all rows are judged.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s, distinct
from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock, BatchId, Certainty, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField
from inspector.state.replay import NO_CLOCK, StateMap


@dataclass(frozen=True)
class Clocks:
    """Clocks of the batches that made the versions of a replay, as arrays by step."""

    versions: Int64s  # state version of each step (batch + 1)
    watermark_ms: Int64s  # watermark of each batch; NO_CLOCK if its log entry is gone
    timestamp_ms: Int64s  # processing time of each batch; NO_CLOCK if its log entry is gone
    ran: Bools  # True if a query made the version, False if a tool wrote or changed it

    @classmethod
    def of(cls, versions: Sequence[int], batches: Mapping[int, BatchClock]) -> Clocks:
        """Return the clocks of the batches that made ``versions``, from clocks by batch id."""
        clocks = [batches.get(v - 1) or BatchClock(BatchId(v - 1)) for v in versions]
        pairs = [(clock.watermark_ms, clock.timestamp_ms) for clock in clocks]
        times = [NO_CLOCK if time is None else time for pair in pairs for time in pair]
        watermark_ms, timestamp_ms = np.array(times, np.int64).reshape(-1, 2).T
        ran = np.array([not clock.has_foreign_rows for clock in clocks], np.bool_)
        return cls(np.array(versions, np.int64), watermark_ms, timestamp_ms, ran)

    def threshold_ms(self, kind: TimeoutKind) -> Int64s:
        """Return the clock that timers of a kind are compared with, in ms by step."""
        return self.watermark_ms if kind is TimeoutKind.EVENT_TIME else self.timestamp_ms


def first_step_at(times: Int64s, starts: Int64s, targets: Int64s) -> Int64s:
    """Return for each target time the first step at which the clock reached it; -1 if it never did.

    ``times`` is the clock by step, very low where not known; it may go back. ``starts`` has for
    each of ``targets`` the first step that counts.
    """
    steps = np.full(len(targets), -1, np.int64)
    for start in distinct(starts).tolist():
        chosen, latest = np.flatnonzero(starts == start), np.maximum.accumulate(times[start:])
        positions = np.searchsorted(latest, targets[chosen], side="left")
        steps[chosen] = np.where(positions < len(latest), positions + start, -1)
    return steps


def first_due(times: Int64s, starts: Int64s, timers: Int64s) -> tuple[Int64s, Int64s]:
    """Return for each timer the first step at which it had run out, and the number of such steps.

    ``times`` is the clock by step, NO_CLOCK where not known. ``starts`` has the step of the put
    that set each timer; only later steps count. Each timer must have run out at the last step.
    """
    # A clock may go back (the processing time of a machine that was set right), so each batch
    # counts by its own time. A timer cannot run out in the batch that sets it.
    first = np.full(len(timers), len(times) - 1, np.int64)
    often = np.ones(len(timers), np.int64)
    for put in distinct(starts).tolist():
        chosen, later = np.flatnonzero(starts == put), times[put + 1 :]
        if not len(later):
            continue
        reached, ordered = np.maximum.accumulate(later), np.sort(later)
        positions = np.searchsorted(reached, timers[chosen], side="right")
        first[chosen] = np.minimum(positions, len(later) - 1) + put + 1
        often[chosen] = len(later) - np.searchsorted(ordered, timers[chosen], side="right")
    return first, np.maximum(often, 1)


WAITS = (
    "set by the judged batch for a time that had passed already, so that the next batch fires it"
)
"""Reason why a timer that is due is no leftover, if nothing else happens."""


class LeftoverClass(enum.Enum):
    """Reason why an expired key is still in the state."""

    PAST_WATERMARK = "past_watermark"  # the watermark has passed the row's time
    PAST_PROCESSING_TIME = "past_processing_time"  # the processing time has passed the row's time
    # the function kept the state at a timeout and set no new timer
    KEPT_WITHOUT_TIMEOUT = "kept_without_timeout"
    IGNORED_TIMEOUT = "ignored_timeout"  # the timer has run out and is still set
    REARMED = "rearmed"  # the function answered a timeout with a new timer


class StateChange(enum.IntEnum):
    """Effect that the call for a timeout had on the state, apart from the timer."""

    UNTOUCHED = 0  # the state is as before
    CHANGED = 1  # the state has changed
    EMPTY = 2  # the state is null

    @property
    def word(self) -> str:
        """The name in lower case, as reports have it."""
        return self.name.lower()


class Needs(enum.Enum):
    """Evidence of all partitions together that an undecided leftover needs.

    * ``..._BY_HABIT``, ``BEFORE_WINDOW``: habits of the function, for it to be inferred; the value
      names the inference in :mod:`inspector.operators.inferences`.
    * ``UNLESS_...``: that the last batch went by the other clock; by this one its new timer has run
      out again, and it is reported as ignored.
    """

    KEPT_BY_HABIT = "kept-by-habit"
    REARMED_BY_HABIT = "rearmed-by-habit"
    BEFORE_WINDOW = "kept-before-window"
    UNLESS_EVENT = "unless_event"
    UNLESS_PROCESSING = "unless_processing"


UNLESS = {
    Needs.UNLESS_EVENT: TimeoutKind.EVENT_TIME,
    Needs.UNLESS_PROCESSING: TimeoutKind.PROCESSING_TIME,
}
"""The clock of each ``UNLESS_...``: the last batch must have followed the other one."""


@dataclass(frozen=True)
class Leftovers:
    """Leftover keys of one store, class and certainty; arrays run parallel to ``ids``."""

    kind: LeftoverClass  # why the keys are still in the state
    certainty: Certainty  # of all of them
    # the clock that their timers are taken to follow; None for rules without any
    timeout_kind: TimeoutKind | None
    ids: Int64s  # key ids in the StateMap
    expired_step: Int64s  # step whose batch proves that the key had expired
    clock_ms: Int64s  # the key's time that had passed, in ms; NO_CLOCK if it is not known any more
    threshold_ms: Int64s  # the clock of that batch in ms, which had passed the time
    # least number of batches in a row, up to the judged version, in which the timer fired; 1 for
    # rules without a timer, 0 if not known
    fired: Int64s
    # step of the first of these batches; None if it is ``expired_step``
    first_step: Int64s | None = None
    # a :class:`StateChange` for each key; None without a timer
    change: npt.NDArray[np.int8] | None = None
    # evidence for the judgement, or why it is not proven; empty for a plain proof
    reason: str = ""
    # evidence that makes an undecided leftover an inferred one; None if nothing does
    needs: Needs | None = None
    # step of the batch that must have followed ``timeout_kind``; None without a timer
    kind_step: Int64s | None = None
    # True if the key is a leftover of this class by the other clock too
    either: Bools | None = None
    group: int = 0  # distinguishes leftovers that are equal in all but their arrays


def past_clock(
    state: StateMap, expiry: ExpiryField, clocks: Clocks, certainty: Certainty, reason: str = ""
) -> Iterator[Leftovers]:
    """Yield the live rows whose time the clock of a processed batch had passed, as leftovers.

    The clock is the watermark or the processing time, by the rule. A row counts from the first
    batch that passed its time and saw it from its start or put it. With ``expiry.previous_bound`` a
    batch is sure to remove only rows that the previous batch's watermark had passed: with
    ``statefulOperator.incrementalCleanupFactor``, which no log records, later rows wait
    (``StreamingDeduplicateExec`` of Spark 4.3). With ``expiry.after_put`` a row counts from the
    batch after its put; a row that the last batch put with a passed time is undecided.
    """
    is_watermark = expiry.clock is Clock.WATERMARK
    times = clocks.watermark_ms if is_watermark else clocks.timestamp_ms
    if not len(times):
        return
    # The watermark never goes back: if its log entry is gone, it was at least the watermark of the
    # batch before. The processing time may go back, on a machine whose clock was set.
    risen = np.maximum.accumulate(times)
    if expiry.previous_bound:
        risen = np.concatenate([[NO_CLOCK], risen[:-1]])
    # A watermark of zero is none yet.
    reached = np.where((risen > 0) & clocks.ran, risen - expiry.delay_ms, NO_CLOCK)
    # In Python's numbers: the clock in units of the field could overflow.
    lower, upper = NO_CLOCK + 1, int(reached.max()) * expiry.per_ms - (not expiry.inclusive)
    if upper < lower:
        return
    upper = min(upper, -lower)
    ids = state.where(
        lambda places: (
            state.live[places] & (state.clock[places] >= lower) & (state.clock[places] <= upper)
        )
    )
    if not len(ids):
        return
    clock = state.clock[ids]
    # Rounded so that the comparison in milliseconds says what the one in the field's units does.
    clock_ms = -(-clock // expiry.per_ms) if expiry.inclusive else clock // expiry.per_ms + 1
    starts = (state.born_step if expiry.part.value == "key" else state.put_step)[ids]
    begin = np.maximum(starts.astype(np.int64), state.base_step) + expiry.after_put
    if not is_watermark:
        reached = np.where(times > 0, times - expiry.delay_ms, NO_CLOCK)
    step = first_step_at(reached, begin, clock_ms)
    kind = LeftoverClass.PAST_WATERMARK if is_watermark else LeftoverClass.PAST_PROCESSING_TIME
    last = len(times) - 1
    waits = (begin > last) & (reached[last] >= clock_ms)
    for portion, places, sure, why in (
        (step >= 0, step, certainty, reason),
        (waits, np.full(len(ids), last), Certainty.UNDECIDED, WAITS),
    ):
        if portion.any():
            yield Leftovers(
                *(
                    kind,
                    sure,
                    None,
                    ids[portion],
                    places[portion],
                    -(-clock[portion] // expiry.per_ms),
                ),
                *(
                    reached[places[portion]] + expiry.delay_ms,
                    np.ones(int(portion.sum()), np.int64),
                ),
                reason=why,
            )
