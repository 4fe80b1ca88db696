"""Rows that outlived the clock of a batch that ran: the rules of every operator but group state.

A row whose field the watermark of a processed batch covered, and that is still there.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inspector.measure.clocks import Clocks
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField
from inspector.state.change import Int64s
from inspector.state.replay import NO_CLOCK, StateMap


class LeftoverClass(enum.Enum):
    """Why an expired key is still there."""

    PAST_WATERMARK = "past_watermark"
    PAST_PROCESSING_TIME = "past_processing_time"
    KEPT_WITHOUT_TIMEOUT = "kept_without_timeout"
    IGNORED_TIMEOUT = "ignored_timeout"
    REARMED = "rearmed"


class StateChange(enum.IntEnum):
    """What the call that answered a timeout did with the state beside the timer."""

    UNTOUCHED = 0
    CHANGED = 1
    EMPTY = 2

    @property
    def word(self) -> str:
        """The name as reports have it."""
        return self.name.lower()


@dataclass(frozen=True)
class Leftovers:
    """Leftover keys of one store and class; arrays run parallel to ``ids``.

    Attributes:
        kind: class; certainty: of all of them; timeout_kind: under which reading, if it matters.
        ids: key ids in the StateMap.
        expired_step: step whose batch proves that the key had expired.
        clock_ms: the field at that batch, ms; NO_CLOCK where it is not known any more.
        threshold_ms: what it was held against.
        fired: batches in which the timer fired in a row, up to the judged version, at least; 1 for
            rules without a timer; 0 where it is not known.
        first_step: step of the first of those; None where it is ``expired_step``.
        change: a :class:`StateChange` each; None for rules without a timer.
        reason: why it is no more than inferred; what the judgement rests on.
        before_window: it expired before the oldest version that can be restored, and counts only
            if the function always arms a timer when data calls it.
    """

    kind: LeftoverClass
    certainty: Certainty
    timeout_kind: TimeoutKind | None
    ids: Int64s
    expired_step: Int64s
    clock_ms: Int64s
    threshold_ms: Int64s
    fired: Int64s
    first_step: Int64s | None = None
    change: npt.NDArray[np.int8] | None = None
    reason: str = ""
    before_window: bool = False


PREVIOUS_BOUND = (
    "with incrementalCleanupFactor (Spark 4.3) the batch evicts by the watermark of the one before"
)


def past_clock(
    state: StateMap,
    expiry: ExpiryField,
    clocks: Clocks,
    certainty: Certainty,
    reason: str = "",
    fields: Int64s | None = None,
) -> Iterator[Leftovers]:
    """Rows whose field the watermark, or the processing time, of a processed batch covered.

    A row counts from the first batch that covered it and had it from its start or put it; the
    judged version shows that it outlived that batch. With ``expiry.previous_bound`` only what the
    watermark of the batch before covers is as certain as the rule.

    Args:
        state: the map; every step of it is a processed batch.
        expiry: the rule.
        clocks: by step of ``state``.
        certainty: of the rule.
        reason: what it rests on, if not on the operator's own rule alone.
        fields: the rule's field by key id, NO_CLOCK where it is null; None for the clock that
            ``state`` has followed.
    """
    by_watermark = expiry.clock is Clock.WATERMARK
    times = clocks.watermark_ms if by_watermark else clocks.timestamp_ms
    if not len(times):
        return
    # The clocks never go back; a batch whose log entry is gone had at least that of the one before.
    risen = np.maximum.accumulate(times)
    # A watermark of zero is none yet.
    reached = np.where(risen > 0, risen - expiry.delay_ms, NO_CLOCK)
    field = state.clock if fields is None else fields
    # In Python's numbers: the clock in units of the field could overflow.
    least, most = NO_CLOCK + 1, int(reached[-1]) * expiry.per_ms - (not expiry.inclusive)
    if most < least:
        return
    most = min(most, -least)
    ids = state.where(
        lambda some: state.live[some] & (field[some] >= least) & (field[some] <= most)
    )
    clock = field[ids]
    # Rounded so that the comparison in milliseconds says what the one in the field's units does.
    clock_ms = -(-clock // expiry.per_ms) if expiry.inclusive else clock // expiry.per_ms + 1
    since = (state.born_step if expiry.side.value == "key" else state.put_step)[ids]
    covered = np.searchsorted(reached, clock_ms, side="left")
    step = np.maximum(covered, np.maximum(since, state.base_step))
    sure = np.ones(len(ids), np.bool_)
    if expiry.previous_bound:
        before = reached[-2] if len(reached) > 1 else NO_CLOCK
        sure = clock_ms <= before
    kind = LeftoverClass.PAST_WATERMARK if by_watermark else LeftoverClass.PAST_PROCESSING_TIME
    for chosen, of_these, why in (
        (sure, certainty, reason),
        (~sure, Certainty.INFERRED, reason or PREVIOUS_BOUND),
    ):
        if chosen.any():
            yield Leftovers(
                kind,
                of_these,
                None,
                ids[chosen],
                step[chosen],
                -(-clock[chosen] // expiry.per_ms),
                reached[step[chosen]] + expiry.delay_ms,
                np.ones(int(chosen.sum()), np.int64),
                reason=why,
            )
