"""Expired keys that are still there, each with the batch that proves it.

The version of batch N is judged with batch N's own clocks. Two families of rules:

* *Clock*: a row whose field the watermark of a processed batch covered, and that outlived it
  (:mod:`inspector.facts.expired`).
* *Timeout* (group state): what the last put did with a timer that had run out
  (:mod:`inspector.facts.timed_out`). The functions that Spark calls leave one of three traces,
  see :mod:`inspector.operators.group_state`.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.clocks import Clocks
from inspector.facts.expired import Leftovers, past_clock
from inspector.facts.timed_out import TimerView, timed_out
from inspector.model import Certainty
from inspector.operators.rule import Clock, ExpiryField
from inspector.state.replay import StateMap


def find_leftovers(
    state: StateMap,
    expiry: ExpiryField,
    clocks: Clocks,
    *,
    certainty: Certainty = Certainty.PROVEN,
    timers: TimerView | None = None,
    reason: str = "",
) -> Iterator[Leftovers]:
    """The leftovers of a store at the version that was replayed last, class by class.

    Args:
        state: the map; every step of it is a processed batch.
        expiry: the operator's rule.
        clocks: by step of ``state``.
        certainty: of the watermark that the operator sees (inferred downstream of a join).
        timers: for group state, what the store's whole history shows of its timers.
        reason: what the judgement rests on, if not on the operator's own rule alone.
    """
    if expiry.clock is Clock.TIMEOUT:
        yield from timed_out(state, clocks, timers or TimerView())
    else:
        yield from past_clock(state, expiry, clocks, certainty, reason)
