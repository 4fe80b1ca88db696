"""Rows that the clock of a batch that ran covered and that are still there, but of group state."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s
from inspector.facts.clocks import Clocks, first_step_at, running_max
from inspector.light_dataclasses import dataclass
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField
from inspector.state.replay import NO_CLOCK, StateMap

WAITS = (
    "set by the judged batch for a time that had passed already, so that the next batch fires it"
)
"""Why a timer that is due is no leftover, if nothing else happens."""


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


class Needs(enum.Enum):
    """What all partitions together have to show for an undecided leftover.

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
"""The clocks by which it is reported otherwise."""


@dataclass(frozen=True)
class Leftovers:
    """Leftover keys of one store and class; arrays run parallel to ``ids``."""

    kind: LeftoverClass
    certainty: Certainty  # of all of them
    # the clock that their timers are taken to follow; None for rules without any
    timeout_kind: TimeoutKind | None
    ids: Int64s  # key ids in the StateMap
    expired_step: Int64s  # step whose batch proves that the key had expired
    clock_ms: Int64s  # the field at that batch, ms; NO_CLOCK where it is not known any more
    threshold_ms: Int64s  # what it was held against
    # batches in which the timer fired in a row, up to the judged version, at least; 1 for rules
    # without a timer; 0 where it is not known
    fired: Int64s
    # step of the first of those; None where it is ``expired_step``
    first_step: Int64s | None = None
    # a :class:`StateChange` each; None for rules without a timer
    change: npt.NDArray[np.int8] | None = None
    reason: str = ""  # why it is no more than inferred; what the judgement rests on
    needs: Needs | None = None  # what makes an undecided one inferred; None if nothing does
    # step of the batch whose clock matters; None where there is no timer
    kind_step: Int64s | None = None
    either: Bools | None = None  # it is a leftover of this class by the other clock too
    group: int = 0  # tells them from others of which all but the arrays is the same

    @property
    def before_window(self) -> bool:
        """Whether they expired before the oldest version that can be restored."""
        return self.needs is Needs.BEFORE_WINDOW


def past_clock(
    state: StateMap, expiry: ExpiryField, clocks: Clocks, certainty: Certainty, reason: str = ""
) -> Iterator[Leftovers]:
    """Rows whose field the watermark, or the processing time, of a processed batch covered.

    Every step of the map is a processed batch. A row counts from the first one that covered it and
    had it from its start or put it. With ``expiry.previous_bound`` a batch is sure to remove only
    what the watermark of the batch before it covers: with
    ``statefulOperator.incrementalCleanupFactor``, which no log records, the rest waits for the next
    (``StreamingDeduplicateExec`` of Spark 4.3). With ``expiry.after_put`` a row counts from the
    batch behind the one that put it; one that the last batch put, and covered, is undecided.
    """
    by_watermark = expiry.clock is Clock.WATERMARK
    times = clocks.watermark_ms if by_watermark else clocks.timestamp_ms
    if not len(times):
        return
    # The watermark never goes back: where its log entry is gone, it was at least that of the batch
    # before. The processing time may, on a machine whose clock was set.
    risen = running_max(times)
    if expiry.previous_bound:
        risen = np.concatenate([[NO_CLOCK], risen[:-1]])
    # A watermark of zero is none yet.
    reached = np.where((risen > 0) & clocks.ran, risen - expiry.delay_ms, NO_CLOCK)
    # In Python's numbers: the clock in units of the field could overflow.
    least, most = NO_CLOCK + 1, int(reached.max()) * expiry.per_ms - (not expiry.inclusive)
    if most < least:
        return
    most = min(most, -least)
    ids = state.where(
        lambda portion: (
            state.live[portion] & (state.clock[portion] >= least) & (state.clock[portion] <= most)
        )
    )
    if not len(ids):
        return
    clock = state.clock[ids]
    # Rounded so that the comparison in milliseconds says what the one in the field's units does.
    clock_ms = -(-clock // expiry.per_ms) if expiry.inclusive else clock // expiry.per_ms + 1
    since = (state.born_step if expiry.part.value == "key" else state.put_step)[ids]
    begin = np.maximum(since.astype(np.int64), state.base_step) + expiry.after_put
    if not by_watermark:
        reached = np.where(times > 0, times - expiry.delay_ms, NO_CLOCK)
    step = first_step_at(reached, begin, clock_ms)
    kind = LeftoverClass.PAST_WATERMARK if by_watermark else LeftoverClass.PAST_PROCESSING_TIME
    last = len(times) - 1
    waits = (begin > last) & (reached[last] >= clock_ms)
    for portion, at, sure, why in (
        (step >= 0, step, certainty, reason),
        (waits, np.full(len(ids), last), Certainty.UNDECIDED, WAITS),
    ):
        if portion.any():
            yield Leftovers(
                *(kind, sure, None, ids[portion], at[portion], -(-clock[portion] // expiry.per_ms)),
                *(reached[at[portion]] + expiry.delay_ms, np.ones(int(portion.sum()), np.int64)),
                reason=why,
            )
