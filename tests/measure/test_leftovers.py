"""Which family of rules judges a store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.measure.leftovers import LeftoverClass, TimerEvidence, TimerView, find_leftovers
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
def test_timers_are_judged_under_each_reading_that_is_left(kinds: tuple[TimeoutKind, ...]) -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 15)]), Step([])], track)
    clocks = clocks_by_step(state, CLOCKS)
    for known in (TimerEvidence(), TimerView(TimerEvidence())):
        found = list(find_leftovers(state, cases.TIMER, clocks, timers=(known, kinds)))
        # What has run out by the watermark has under both readings, and is told once, under none.
        told = kinds if len(kinds) < 2 else (None,)
        assert tuple(one.timeout_kind for one in found) == told
        assert {one.kind for one in found} <= {LeftoverClass.IGNORED_TIMEOUT}
