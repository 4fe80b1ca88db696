"""Which clock timers follow, and who set them: what a history proves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.measure.clocks import Clocks
from inspector.measure.timers import (
    NO_TIMEOUT_SEEN,
    RecordOrder,
    TimerEvidence,
    TimerPuts,
    overdue_evidence,
    timer_evidence,
)
from inspector.model import BatchClock, BatchId, Certainty, TimeoutKind
from tests import cases
from tests.cases import Step, put, replay
from tests.encode import Record
from tests.queries import (
    EVENT,
    NO_TIMER,
    PROCESSING,
    Query,
    Trigger,
    clock,
    clocks_by_step,
    clocks_of,
    follow,
    triggers,
)

A, B, C, D = (cases.user(name) for name in "abcd")


def possible(steps: Sequence[Step], *clocks: BatchClock) -> tuple[TimeoutKind, ...]:
    return follow(steps, clocks)[1].possible((EVENT, PROCESSING))


@pytest.mark.parametrize(
    ("timer", "expected"),
    [
        (49, (PROCESSING,)),  # setTimeoutTimestamp refuses what is before the watermark
        (50, (PROCESSING, EVENT)),
        (51, (PROCESSING, EVENT)),
        (NO_TIMER, (PROCESSING, EVENT)),
    ],
)
def test_no_event_time_timer_is_armed_before_the_watermark(
    timer: int, expected: tuple[TimeoutKind, ...]
) -> None:
    assert set(possible([Step([put(A, timer)])], clock(1, 50, now=10))) == set(expected)


@pytest.mark.parametrize(("timer", "both"), [(999, False), (1000, False), (1001, True)])
def test_no_processing_time_timer_is_armed_at_or_before_its_batch(timer: int, both: bool) -> None:
    expected = (EVENT, PROCESSING) if both else (EVENT,)
    assert possible([Step([put(A, timer)])], clock(1, 50, now=1000)) == expected


@pytest.mark.parametrize("answer", [[put(A, NO_TIMER)], [(A, None)], [put(A, 9000)]])
def test_a_timer_that_a_quiet_batch_changed_had_run_out(answer: list[Record]) -> None:
    steps = [Step([put(A, 2500)]), Step(answer)]
    quiet = clock(2, 100, now=3000, data=False)
    assert possible(steps, clock(1, 50, now=1000), quiet) == (PROCESSING,)
    quiet = clock(2, 2501, now=2500, data=False)
    assert possible(steps, clock(1, 50, now=1000), quiet) == (EVENT,)
    busy = clock(2, 100, now=3000, data=None)
    assert possible(steps, clock(1, 50, now=1000), busy) == (EVENT, PROCESSING)


def test_evidence_against_every_reading_decides_nothing() -> None:
    assert possible([Step([put(A, 10)])], clock(1, 50, now=1000)) == (EVENT, PROCESSING)
    only = TimerEvidence(not_event=1)
    assert only.possible((EVENT,)) == (EVENT,)
    assert only.possible((EVENT, PROCESSING)) == (PROCESSING,)


def test_the_puts_of_a_version_tell_which_timers_they_replaced() -> None:
    first = [put(A, 50), put(B, NO_TIMER), put(C, 70)]
    state, changes, _ = replay(
        [Step(first), Step([put(B, 80), put(A, NO_TIMER), (C, None), put(D, 90)])],
        cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE),
    )
    puts = TimerPuts.of(changes[1], state)
    assert state.keys(puts.ids) == [B, A, D]
    assert (puts.timers.tolist(), puts.records.tolist()) == ([80, NO_TIMER, 90], [0, 1, 3])
    assert (puts.over.tolist(), puts.over_timers.tolist()) == ([1], [50])
    assert puts.removed_timers.tolist() == [70]


def test_without_the_clocks_of_a_batch_it_gives_no_evidence() -> None:
    for missing in (None, clock(1, None), BatchClock(BatchId(0), None, 50)):
        state, (change,), _ = replay(
            [Step([put(A, 10)])], cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
        )
        assert timer_evidence(TimerPuts.of(change, state), missing) == TimerEvidence()


def test_evidence_adds() -> None:
    one = TimerEvidence(1, 2, {EVENT: {1: RecordOrder(0, 5)}, PROCESSING: {}})
    two = TimerEvidence(3, 0, {EVENT: {2: RecordOrder(1, 6)}, PROCESSING: {2: RecordOrder(2, 7)}})
    total = one + two
    assert (total.not_event, total.not_processing) == (4, 2)
    assert total.order[EVENT] == {1: RecordOrder(0, 5), 2: RecordOrder(1, 6)}
    assert total.order[PROCESSING] == {2: RecordOrder(2, 7)}
    assert reduce(TimerEvidence.__add__, [two, TimerEvidence()]).order == two.order


def test_a_timer_that_stands_though_it_ran_out_speaks_against_its_clock() -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(A, 1500), put(B, NO_TIMER)]), Step([put(C, 9)])], track)
    found = overdue_evidence(state, Clocks.of([1, 2], clocks_of([clock(1), clock(2, 9)])))
    assert (found.not_event, found.not_processing) == (0, 2)
    assert overdue_evidence(state, Clocks.of([], {})) == TimerEvidence()


def test_a_watermark_that_may_lag_contradicts_nothing() -> None:
    found = TimerEvidence(not_event=1)
    assert found.possible((EVENT, PROCESSING), Certainty.INFERRED) == (EVENT, PROCESSING)
    assert TimerEvidence(1, 1).possible((EVENT, PROCESSING), Certainty.INFERRED) == (EVENT,)


def test_the_order_of_a_delta_is_told_under_each_reading() -> None:
    first = Step([put(key, 1500) for key in (A, B, C, D)])
    second = Step([put(A, NO_TIMER), put(D, NO_TIMER), put(B, NO_TIMER)])
    _, found, _ = follow([first, second], [clock(1, 50), clock(2, 60)])
    # Under the watermark no timer was due: all was data, and its order is not the one we know.
    assert found.order[EVENT][2] == RecordOrder(2, NO_TIMEOUT_SEEN)
    assert found.order[PROCESSING][2] == RecordOrder(-1, 2)
    assert found.order[EVENT][1] == RecordOrder(3, NO_TIMEOUT_SEEN)


@settings(max_examples=150, deadline=None)
@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    history=st.lists(triggers, min_size=1, max_size=8),
)
def test_no_query_gives_evidence_against_the_clock_that_it_follows(
    pandas: bool, kind: TimeoutKind, history: list[Trigger]
) -> None:
    query = Query(pandas, kind)
    for trigger in history:
        query.run(trigger)
    state, evidence, _ = follow(query.deltas, query.clocks)
    if not pandas:
        evidence += overdue_evidence(state, clocks_by_step(state, query.clocks))
    assert (evidence.not_event if kind is EVENT else evidence.not_processing) == 0
    assert kind in evidence.possible((EVENT, PROCESSING))
