"""How often timers fired, and what new data does with them."""

from __future__ import annotations

from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.measure.timer_runs import TimerCalls
from inspector.model import TimeoutKind
from tests import cases
from tests.cases import Step, put
from tests.queries import EVENT, NO_TIMER, Query, Trigger, clock, follow, triggers

A, B, C = (cases.user(name) for name in "abc")
counts = st.builds(TimerCalls, *[st.integers(0, 99) for _ in range(5)])


@given(counts, counts, counts)
def test_calls_add(a: TimerCalls, b: TimerCalls, c: TimerCalls) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + TimerCalls() == a


def test_data_always_arms_if_it_was_seen_to_and_never_seen_not_to() -> None:
    assert TimerCalls(armed_by_data=1).data_always_arms
    assert not TimerCalls(armed_by_data=9, unarmed_by_data=1).data_always_arms
    assert not TimerCalls().data_always_arms
    total = reduce(TimerCalls.__add__, [TimerCalls(armed_by_data=1), TimerCalls(unarmed_by_data=1)])
    assert not total.data_always_arms


def test_calls_come_from_the_row_of_a_partition() -> None:
    row = {
        "armed_by_data": 1,
        "unarmed_by_data": 2,
        "armed_keys": 3,
        "rows": 4,
        "key_bytes": 5,
        "value_bytes": 6,
        "kind": "calls",
    }
    assert TimerCalls.from_columns(row) == TimerCalls(1, 2, 3, 4, 11)


@settings(max_examples=100, deadline=None)
@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    history=st.lists(triggers, min_size=1, max_size=8),
)
def test_no_put_is_laid_to_data_that_data_did_not_make(
    pandas: bool, kind: TimeoutKind, history: list[Trigger]
) -> None:
    query = Query(pandas, kind)
    for trigger in history:
        query.run(trigger)
    state, _, runs = follow(query.deltas, query.clocks)
    run = runs.by_kind[kind]
    assert run.armed_by_data <= query.armed_by_data
    assert run.unarmed_by_data <= query.unarmed_by_data
    for name, (_, timer) in query.state.items():
        if timer != NO_TIMER:
            assert runs.ever_armed[state.interner.find(cases.user(name))]


def test_puts_that_only_data_can_have_made_are_counted_by_their_timer() -> None:
    steps = [Step([put(A, 50), put(B, NO_TIMER)]), Step([put(A, 60)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1, 0), clock(2, 10), clock(3, 70)]
    run = follow(steps, clocks)[2].by_kind[EVENT]
    # The last may have been the timeout of A.
    assert (run.armed_by_data, run.unarmed_by_data) == (2, 1)


def test_a_snapshot_begins_anew() -> None:
    base = Step([put(A, NO_TIMER), put(B, 50)], rebase=True)
    state, _, runs = follow([Step([put(A, 50)]), base], [clock(1, 0), clock(2, 10)])
    armed = {key: bool(runs.ever_armed[state.interner.find(key)]) for key in (A, B)}
    assert armed == {A: False, B: True}
