"""Which family of rules judges a store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftovers import find_leftovers
from inspector.facts.timed_out import TimerView
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import Clock
from tests import cases
from tests.cases import Step, put, replay
from tests.queries import EVENT, PROCESSING, clock, clocks_by_step

CLOCKS = [clock(1, 10), clock(2, 20, data=False)]


@pytest.mark.parametrize(
    ("by", "kind"),
    [
        (Clock.WATERMARK, LeftoverClass.PAST_WATERMARK),
        (Clock.PROCESSING_TIME, LeftoverClass.PAST_PROCESSING_TIME),
    ],
)
def test_a_rule_by_a_clock_needs_no_timers(by: Clock, kind: LeftoverClass) -> None:
    expiry = replace(cases.KEY_TIME, clock=by)
    track = cases.tracked(expiry, cases.EVENT_TIME, cases.EXPIRES_AT)
    state, _, _ = replay([Step([(cases.micros(5000), b"")]), Step([])], track)
    clocks = clocks_by_step(state, CLOCKS)
    (found,) = find_leftovers(state, expiry, clocks, certainty=Certainty.INFERRED, reason="because")
    assert (found.kind, found.certainty, found.reason) == (kind, Certainty.INFERRED, "because")


@pytest.mark.parametrize("kinds", [(), (EVENT,), (PROCESSING,), (EVENT, PROCESSING)])
def test_timers_are_judged_by_each_clock_that_they_may_follow(
    kinds: tuple[TimeoutKind, ...],
) -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 1500)]), Step([])], track)
    clocks = clocks_by_step(state, CLOCKS)
    found = list(find_leftovers(state, cases.TIMER, clocks, timers=TimerView(kinds)))
    # Only by the processing time it has run out.
    told = [(one.kind, one.timeout_kind) for one in found]
    assert told == [(LeftoverClass.IGNORED_TIMEOUT, PROCESSING)] * (PROCESSING in kinds)


def test_a_timer_of_which_nothing_is_known_may_follow_either_clock() -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 15)]), Step([])], track)
    found = list(find_leftovers(state, cases.TIMER, clocks_by_step(state, CLOCKS)))
    assert {EVENT, PROCESSING} <= {one.timeout_kind for one in found}
