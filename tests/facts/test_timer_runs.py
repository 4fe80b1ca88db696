"""How often timers fired, which stood though run out, and what the function's habits are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.timer_runs import TimerCalls, TimerRuns
from inspector.facts.timers import TimerPremises
from inspector.model import BatchClock, TimeoutKind
from inspector.state.replay import NO_CLOCK
from tests import cases
from tests.cases import Step, put
from tests.queries import (
    EVENT,
    LAGS,
    NO_TIMER,
    PANDAS,
    PROCESSING,
    SCALA,
    Query,
    Trigger,
    Workload,
    clock,
    follow,
    triggers,
    workloads,
)

A, B, C, D, E, F = (cases.user(name) for name in "abcdef")
counts = st.builds(TimerCalls, *[st.integers(0, 99) for _ in fields(TimerCalls)])


# --- habits ----------------------------------------------------------------------------------


@given(counts, counts, counts)
def test_timer_calls_add(a: TimerCalls, b: TimerCalls, c: TimerCalls) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + TimerCalls() == a


def habits(
    steps: Sequence[Step], clocks: Sequence[BatchClock], kind: TimeoutKind = EVENT
) -> dict[str, int]:
    """The counts that are not zero."""
    calls = follow(steps, clocks).runs.by_kind[kind].calls
    return {
        name: count
        for name in [f.name for f in fields(TimerCalls)]
        if (count := getattr(calls, name))
    }


def test_puts_by_data_are_counted_as_armed_or_unarmed() -> None:
    steps = [Step([put(A, 50), put(B, NO_TIMER)]), Step([put(A, 60)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1, 0), clock(2, 10), clock(3, 70)]
    result = habits(steps, clocks)
    # The last may have been the timeout of A.
    assert (result["armed_by_data"], result["unarmed_by_data"]) == (2, 1)


def test_puts_by_data_are_counted_as_changed_or_untouched() -> None:
    steps = [
        Step([put(A, 5000), put(B, 5000), put(C, 5000)]),
        Step([put(A, 6000), put(B, 6000, 2), put(C, NO_TIMER, 2)]),
    ]
    assert habits(steps, [clock(1, 10), clock(2, 20)]) == {
        "armed_by_data": 5,
        "unarmed_by_data": 1,
        "changed_by_data": 2,
        "untouched_by_data": 1,
    }


def test_timeout_calls_are_counted_as_kept_rearmed_or_removed() -> None:
    keys = (A, B, C, D, E, F)
    answers = [put(A, NO_TIMER), put(B, 99), put(C, 99), (D, None), (E, None), (F, None)]
    steps = [Step([put(key, 10) for key in keys]), Step(answers)]
    clocks = [clock(1), clock(2, 20, data=False)]
    answered = {"timeout_kept": 1, "timeout_rearmed": 2, "timeout_removed": 3}
    assert habits(steps, clocks) == {"armed_by_data": 6} | answered
    # With data in the batch, only what lies behind the descent.
    busy = [steps[0], Step([put(C, 99), put(A, NO_TIMER), put(B, 99), (D, None)])]
    result = habits(busy, [clock(1), clock(2, 20)])
    assert result == {
        "armed_by_data": 6,
        "timeout_kept": 1,
        "timeout_rearmed": 1,
        "timeout_removed": 1,
    }


def test_live_rows_without_their_former_timer_are_counted() -> None:
    steps = [
        Step([put(A, 5000), put(B, 5000), put(C, 5000), put(D, NO_TIMER)]),
        Step([put(A, NO_TIMER, 2), put(B, 6000, 2), (C, None)]),
    ]
    state, _, runs = follow(steps, [clock(1, 10), clock(2, 20)])
    (by_event, by_processing) = (fact.calls for fact in runs.observe(state))
    assert (by_event.cleared_rows, by_event.never_armed_rows) == (1, 1)
    assert (by_event.lost_rows, by_event.lost_bytes) == (1, by_event.never_armed_bytes)
    assert by_processing.cleared_rows == 1


def test_timer_cleared_by_timeout_or_rearmed_is_not_lost() -> None:
    steps = [
        Step([put(A, 15), put(B, 5000), put(C, 5000)]),
        Step([put(B, NO_TIMER), put(C, NO_TIMER), put(A, NO_TIMER)]),
        Step([put(B, 6000), (C, None)]),
        Step([put(C, NO_TIMER)]),
    ]
    for versions, lost in ((1, 0), (2, 2), (3, 0), (4, 0)):
        clocks = [clock(1, 10), clock(2, 20), clock(3, 30), clock(4, 40)][:versions]
        state, _, runs = follow(steps[:versions], clocks)
        assert [fact.calls.lost_rows for fact in runs.observe(state)] == [lost, lost]


def test_lost_timers_after_a_possible_change_of_the_clock() -> None:
    clocks = [clock(1, 0, 10_000), clock(2, 100, 20_000)]
    armed = Step([put(B, 5000)])  # which shows that the timers follow event time
    # The second batch may follow processing time, by which the timer of B had run out.
    for timer, lost in ((NO_TIMER, 0), (6000, 1)):
        state, _, runs = follow([armed, Step([put(A, timer), put(B, NO_TIMER)])], clocks)
        by_event, by_processing = (fact.calls for fact in runs.observe(state))
        assert (by_event.lost_rows, by_processing.lost_rows) == (lost, 0)


def test_calls_by_data_are_counted_per_clock() -> None:
    steps = [Step([put(A, 1500)]), Step([put(A, 9000)])]
    clocks = [clock(1, 10), clock(2, 20)]
    # By the processing time the timer had run out, and a timeout may have set it anew.
    by_event = {"armed_by_data": 2, "untouched_by_data": 1}
    assert habits(steps, clocks) == by_event
    assert habits(steps, clocks, PROCESSING) == {"armed_by_data": 1}


def test_snapshot_has_no_timer_calls() -> None:
    steps = [Step([put(A, 50), put(B, NO_TIMER)], rebase=True)]
    assert habits(steps, [clock(1)]) == {}


@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    history=st.lists(triggers, min_size=1, max_size=8),
)
def test_puts_by_data_never_exceed_those_of_a_simulated_query(
    pandas: bool, kind: TimeoutKind, history: list[Trigger]
) -> None:
    query = Query(pandas, kind)
    for trigger in history:
        query.run(trigger)
    state, _, runs = follow(query.deltas, query.clocks)
    calls = runs.by_kind[kind].calls
    assert calls.armed_by_data <= query.armed_by_data
    assert calls.unarmed_by_data <= query.unarmed_by_data
    assert calls.changed_by_data + calls.untouched_by_data <= query.armed_by_data + (
        query.unarmed_by_data
    )
    for name, (_, timer) in query.state.items():
        if timer != NO_TIMER:
            assert runs.ever_armed[state.interner.find(cases.user(name))]


def test_snapshot_resets_ever_armed() -> None:
    base = Step([put(A, NO_TIMER), put(B, 50)], rebase=True)
    state, _, runs = follow([Step([put(A, 50)]), base], [clock(1, 0), clock(2, 10)])
    armed = {key: bool(runs.ever_armed[state.interner.find(key)]) for key in (A, B)}
    assert armed == {A: False, B: True}


# --- timers that stood though they had run out -----------------------------------------------


def standing(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    premises: TimerPremises = SCALA,
    kind: TimeoutKind = EVENT,
) -> list[bool]:
    """By version, whether a timer outlived it that had run out by a clock."""
    state, _, runs = follow(steps, clocks, premises)
    runs.mark_standing_at_end(state)
    return runs.by_kind[kind].standing.tolist()  # type: ignore[no-any-return]


def test_timer_live_after_expiry_contradicts_the_clock() -> None:
    steps = [Step([put(A, 15)]), Step([]), Step([]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1, 10), clock(2, 15), clock(3, 16), clock(4, 20)]
    # What ended it in version 4 may have been its timeout.
    assert standing(steps, clocks) == [False, False, True, False]
    assert standing(steps[:3], clocks) == [False, False, True]
    assert standing(steps[:2], clocks) == [False, False]
    assert standing([*steps[:3], Step([])], clocks) == [False, False, True, True]
    # By processing time it had run out in the batch that set it, which proves nothing alone.
    assert standing(steps[:2], clocks, kind=PROCESSING) == [False, True]


def test_live_expired_timer_contradicts_the_clock_only_in_scala() -> None:
    steps, clocks = [Step([put(A, 15)]), Step([])], [clock(1, 10), clock(2, 50)]
    assert standing(steps, clocks) == [False, True]
    assert standing(steps, clocks, PANDAS) == [False, False]


def test_lagging_watermark_is_not_contradicted() -> None:
    lags = LAGS._replace(clears_timers=True)
    steps, clocks = [Step([put(A, 15)]), Step([])], [clock(1, 10), clock(2, 50)]
    assert standing(steps, clocks, lags) == [False, False]
    # The processing time lags behind nothing.
    assert standing(steps, clocks, lags, PROCESSING) == [False, True]


def test_no_contradiction_after_the_clock_went_back() -> None:
    steps = [Step([put(A, 1500)]), Step([]), Step([]), Step([]), Step([])]
    times = (1000, 1600, 1400, 1550, 1700)
    clocks = [clock(version, 10, now=now) for version, now in enumerate(times, 1)]
    result = standing(steps, clocks, kind=PROCESSING)
    assert result == [False, True, False, False, True]


def test_timer_of_a_snapshot_is_live_from_the_snapshot_on() -> None:
    steps = [Step([]), Step([put(A, 15)], rebase=True), Step([])]
    clocks = [clock(1, 50), clock(2, 60), clock(3, 70)]
    assert standing(steps, clocks) == [False, True, True]


def test_unknown_clock_is_not_contradicted() -> None:
    steps = [Step([put(A, 15)]), Step([]), Step([])]
    assert standing(steps, [clock(1, 10), clock(3, 50)]) == [False, False, True]
    runs = follow(steps, [clock(1, 10), clock(3, 50)]).runs
    assert runs.thresholds[EVENT] == [10, NO_CLOCK, 50]


@given(workloads())
def test_clock_of_a_simulated_query_is_never_contradicted(workload: Workload) -> None:
    for _ in workload.run():
        pass
    for query in workload.partitions:
        premises = TimerPremises(not workload.below, not workload.lags, not query.pandas)
        state, _, runs = follow(query.deltas, query.clocks, premises)
        runs.mark_standing_at_end(state)
        for step, kind in enumerate(query.kinds):
            stood = runs.by_kind[kind].standing
            assert not (step < len(stood) and stood[step])


# --- timeouts in a row -----------------------------------------------------------------------


def run_of(
    key: bytes,
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    premises: TimerPremises = PANDAS,
) -> tuple[int, int]:
    """How often in a row a key's timeout fired by the watermark, and the first version of it."""
    state, _, runs = follow(steps, clocks, premises)
    run, key_id = runs.by_kind[EVENT], state.interner.find(key)
    return int(run.fired[key_id]), state.versions[run.first[key_id]]


def test_consecutive_timeouts_are_counted_from_the_first() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([put(A, 50)]), Step([put(A, NO_TIMER)])]
    marks = (0, 20, 40, 60)
    clocks = [clock(v, mark, data=v == 1) for v, mark in enumerate(marks, 1)]
    assert [run_of(A, steps[:n], clocks)[0] for n in (1, 2, 3, 4)] == [0, 1, 2, 3]
    assert run_of(A, steps, clocks) == (3, 2)


@pytest.mark.parametrize(
    ("premises", "expected"), [(PANDAS, (3, 2)), (SCALA, (1, 4)), (LAGS, (1, 4))]
)
def test_ignored_timer_fired_in_every_batch_for_pandas_only(
    premises: TimerPremises, expected: tuple[int, int]
) -> None:
    steps = [Step([put(A, 10)]), Step([]), Step([]), Step([put(A, 99)])]
    clocks = [clock(1, 0), clock(2, 20), clock(3, 30), clock(4, 40, data=False)]
    assert run_of(A, steps, clocks, premises) == expected


def test_call_for_data_ends_a_run_of_timeouts() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([put(A, 50)])]
    clocks = [clock(1, 0), clock(2, 20, data=False), clock(3, 40)]
    assert run_of(A, steps, clocks)[0] == 0
    assert run_of(A, steps[:2], clocks) == (1, 2)


def test_timer_runs_track_only_requested_kinds() -> None:
    runs = TimerRuns([PROCESSING])
    assert list(runs.by_kind) == list(runs.thresholds) == [PROCESSING]
