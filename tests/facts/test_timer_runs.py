"""Firings of timers, timers that are live after expiry, and counts of a function's calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.timer_runs import TimerCalls, TimerRuns
from inspector.facts.timers import TimerPremises
from inspector.model import BatchClock, TimeoutKind
from inspector.state.replay import NO_CLOCK
from tests import cases
from tests.attributes import attributes
from tests.cases import Step, put
from tests.facts.histories import at_watermarks, puts
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

A, B, C, D, E, F = map(cases.user, "abcdef")
counts = st.builds(TimerCalls, *[st.integers(0, 99) for _ in fields(TimerCalls)])


# --- counts of calls -------------------------------------------------------------------------


@given(counts, counts, counts)
def test_timer_calls_add(a: TimerCalls, b: TimerCalls, c: TimerCalls) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + TimerCalls() == a


def habits(
    steps: Sequence[Step], clocks: Sequence[BatchClock], kind: TimeoutKind = EVENT
) -> dict[str, int]:
    """Return the counts that are not zero."""
    calls = vars(follow(steps, clocks).runs.by_kind[kind].calls)
    return {name: count for name, count in calls.items() if count}


def test_puts_by_data_are_counted_as_armed_or_unarmed() -> None:
    steps = [Step([put(A, 50), put(B, NO_TIMER)]), Step([put(A, 60)]), Step([put(A, NO_TIMER)])]
    clocks = at_watermarks(0, 10, 70)
    result = habits(steps, clocks)
    # The last put of A may be a timeout.
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
    first = Step(puts(10, A, B, C, D, E, F))
    answers = [put(A, NO_TIMER), *puts(99, B, C), (D, None), (E, None), (F, None)]
    assert habits([first, Step(answers)], [clock(1), clock(2, 20, data=False)]) == {
        "armed_by_data": 6,
        "timeout_kept": 1,
        "timeout_rearmed": 2,
        "timeout_removed": 3,
    }
    # In a batch with data, only the records after the descent are timeouts.
    busy = Step([put(C, 99), put(A, NO_TIMER), put(B, 99), (D, None)])
    assert habits([first, busy], [clock(1), clock(2, 20)]) == {
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
    by_event, by_processing = attributes(runs.observe(state), "calls")
    assert (by_event.cleared_rows, by_event.never_armed_rows) == (1, 1)
    assert (by_event.lost_rows, by_event.lost_bytes) == (1, by_event.never_armed_bytes)
    assert by_processing.cleared_rows == 1


def lost_rows(steps: Sequence[Step], clocks: Sequence[BatchClock]) -> list[int]:
    """Return the rows that lost their timer, by event time and by processing time."""
    state, _, runs = follow(steps, clocks)
    return attributes(runs.observe(state), "calls.lost_rows")


@pytest.mark.parametrize(("versions", "lost"), [(1, 0), (2, 2), (3, 0), (4, 0)])
def test_timer_cleared_by_timeout_or_rearmed_is_not_lost(versions: int, lost: int) -> None:
    steps = [
        Step([put(A, 15), put(B, 5000), put(C, 5000)]),
        Step([put(B, NO_TIMER), put(C, NO_TIMER), put(A, NO_TIMER)]),
        Step([put(B, 6000), (C, None)]),
        Step([put(C, NO_TIMER)]),
    ]
    clocks = at_watermarks(10, 20, 30, 40)[:versions]
    assert lost_rows(steps[:versions], clocks) == [lost, lost]


@pytest.mark.parametrize(("timer", "lost"), [(NO_TIMER, 0), (6000, 1)])
def test_lost_timers_after_a_possible_change_of_the_clock(timer: int, lost: int) -> None:
    """The second batch may follow processing time, by which the timer of B has expired."""
    clocks = [clock(1, 0, 10_000), clock(2, 100, 20_000)]
    armed = Step([put(B, 5000)])  # shows that the timers follow event time
    steps = [armed, Step([put(A, timer), put(B, NO_TIMER)])]
    assert lost_rows(steps, clocks) == [lost, 0]


def test_calls_by_data_are_counted_per_clock() -> None:
    steps = [Step([put(A, 1500)]), Step([put(A, 9000)])]
    clocks = [clock(1, 10), clock(2, 20)]
    # By processing time the timer had expired, and a timeout may have rearmed it.
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
    armed = {cases.user(name) for name, (_, timer) in query.state.items() if timer != NO_TIMER}
    assert armed <= set(state.keys(np.flatnonzero(runs.ever_armed[: len(state)])))


def test_snapshot_resets_ever_armed() -> None:
    base = Step([put(A, NO_TIMER), put(B, 50)], rebase=True)
    state, _, runs = follow([Step([put(A, 50)]), base], [clock(1, 0), clock(2, 10)])
    ids = [state.interner.find(A), state.interner.find(B)]
    assert runs.ever_armed[ids].tolist() == [False, True]


# --- timers that are live after they expired -------------------------------------------------


def standing(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    premises: TimerPremises = SCALA,
    kind: TimeoutKind = EVENT,
) -> list[bool]:
    """Return for each version whether a timer that had expired by a clock is still live."""
    state, _, runs = follow(steps, clocks, premises)
    runs.mark_standing_at_end(state)
    return runs.by_kind[kind].standing.tolist()  # type: ignore[no-any-return]


def test_timer_live_after_expiry_contradicts_the_clock() -> None:
    steps = [Step([put(A, 15)]), Step([]), Step([]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1, 10), clock(2, 15), clock(3, 16), clock(4, 20)]
    # The timeout may have cleared the timer in version 4.
    assert standing(steps, clocks) == [False, False, True, False]
    assert standing(steps[:3], clocks) == [False, False, True]
    assert standing(steps[:2], clocks) == [False, False]
    assert standing([*steps[:3], Step([])], clocks) == [False, False, True, True]
    # By processing time the timer expired in the batch that set it, which proves nothing.
    assert standing(steps[:2], clocks, kind=PROCESSING) == [False, True]


def test_live_expired_timer_contradicts_the_clock_only_in_scala() -> None:
    steps, clocks = [Step([put(A, 15)]), Step([])], [clock(1, 10), clock(2, 50)]
    assert standing(steps, clocks) == [False, True]
    assert standing(steps, clocks, PANDAS) == [False, False]


def test_lagging_watermark_is_not_contradicted() -> None:
    lags = LAGS._replace(clears_timers=True)
    steps, clocks = [Step([put(A, 15)]), Step([])], [clock(1, 10), clock(2, 50)]
    assert standing(steps, clocks, lags) == [False, False]
    # Processing time never lags.
    assert standing(steps, clocks, lags, PROCESSING) == [False, True]


def test_no_contradiction_after_the_clock_went_back() -> None:
    steps = [Step([put(A, 1500)]), Step([]), Step([]), Step([]), Step([])]
    clocks = [
        *(clock(1, 10, now=1000), clock(2, 10, now=1600), clock(3, 10, now=1400)),
        *(clock(4, 10, now=1550), clock(5, 10, now=1700)),
    ]
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
    deque(workload.run())
    for query in workload.partitions:
        premises = TimerPremises(not workload.below, not workload.lags, not query.pandas)
        contradicted = {
            EVENT: standing(query.deltas, query.clocks, premises, EVENT),
            PROCESSING: standing(query.deltas, query.clocks, premises, PROCESSING),
        }
        assert not any(contradicted[kind][step] for step, kind in enumerate(query.kinds))


# --- consecutive timeouts --------------------------------------------------------------------


def run_of(
    key: bytes,
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    premises: TimerPremises = PANDAS,
) -> tuple[int, int]:
    """Return the consecutive timeouts of a key by the watermark, and the version of the first."""
    state, _, runs = follow(steps, clocks, premises)
    run, key_id = runs.by_kind[EVENT], state.interner.find(key)
    return int(run.fired[key_id]), state.versions[run.first[key_id]]


def test_consecutive_timeouts_are_counted_from_the_first() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([put(A, 50)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1, 0), *at_watermarks(0, 20, 40, 60, data=False)[1:]]
    assert run_of(A, steps[:1], clocks)[0] == 0
    assert run_of(A, steps[:2], clocks) == (1, 2)
    assert run_of(A, steps[:3], clocks) == (2, 2)
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
