"""Group-state keys whose timeout fired: by hand, and against queries that keep an account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.measure.clocks import Clocks
from inspector.measure.expired import LeftoverClass, Leftovers, StateChange
from inspector.measure.timed_out import AMONG_DATA, BEFORE, HELD_BACK, TimerView, timed_out
from inspector.measure.timers import TimerEvidence
from inspector.model import BatchClock, Certainty, TimeoutKind
from inspector.state.replay import StateMap
from tests import cases
from tests.cases import Step, put
from tests.queries import (
    EVENT,
    NO_TIMER,
    PROCESSING,
    Call,
    Query,
    Trigger,
    clock,
    clocks_by_step,
    follow,
    quiet_triggers,
    triggers,
)

KEPT, IGNORED, REARMED = (
    LeftoverClass.KEPT_WITHOUT_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT,
    LeftoverClass.REARMED,
)
PROVEN, INFERRED = Certainty.PROVEN, Certainty.INFERRED
A, B, C, D = (cases.user(name) for name in "abcd")


class Found(NamedTuple):
    """One leftover key, by name and version."""

    key: bytes
    kind: LeftoverClass
    certainty: Certainty
    version: int
    clock_ms: int
    threshold_ms: int
    fired: int


def view_of(
    steps: Sequence[Step], clocks: Sequence[BatchClock], kind: TimeoutKind, **view: object
) -> tuple[StateMap, list[Leftovers]]:
    """Replay a history; its leftovers, class by class, by what an audit knows of its timers."""
    state, evidence, runs = follow(steps, clocks)
    both = bool(view.pop("open_question", False))
    known = replace(TimerView(evidence, runs), **view)  # type: ignore[arg-type]
    by_step = clocks_by_step(state, clocks)
    return state, list(timed_out(state, by_step, kind, known, open_question=both))


def judge(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kinds: Sequence[TimeoutKind] = (EVENT,),
    **view: object,
) -> set[Found]:
    """The same, key by key; of each firing by itself unless the view has the runs of them."""
    found = set()
    for kind in kinds:
        asked = {"runs": None, "open_question": len(kinds) > 1} | view
        state, leftovers = view_of(steps, clocks, kind, **asked)
        found |= {
            Found(
                key,
                one.kind,
                one.certainty,
                state.versions[one.expired_step[i]],
                int(one.clock_ms[i]),
                int(one.threshold_ms[i]),
                int(one.fired[i]),
            )
            for one in leftovers
            for i, key in enumerate(state.keys(one.ids))
        }
    return found


def classes(found: set[Found]) -> dict[bytes, tuple[LeftoverClass, Certainty, int]]:
    assert len({one.key for one in found}) == len(found), "a key is told twice"
    return {one.key: (one.kind, one.certainty, one.version) for one in found}


def test_a_timer_at_the_threshold_has_not_run_out() -> None:
    steps = [Step([put(A, 50), put(B, 49)]), Step([])]
    found = judge(steps, [clock(1), clock(2, 50)])
    assert found == {Found(B, IGNORED, PROVEN, 2, 49, 50, 1)}


def test_a_timer_that_stands_fires_in_every_batch_since_the_first_above_it() -> None:
    steps = [Step([put(A, 10)]), *(Step([]) for _ in range(4))]
    found = judge(steps, [clock(v, mark) for v, mark in enumerate((5, 10, 11, 11, 30), 1)])
    assert found == {Found(A, IGNORED, PROVEN, 3, 10, 11, 3)}


def test_a_quiet_batch_that_clears_a_due_timer_kept_the_key() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([])]
    found = judge(steps, [clock(1), clock(2, 20, data=False), clock(3, 30)])
    assert found == {Found(A, KEPT, PROVEN, 2, 10, 20, 1)}


@pytest.mark.parametrize("visits", [1, 2])
def test_a_quiet_batch_that_arms_a_due_timer_anew_kept_the_key(visits: int) -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 99, visits)])]
    found = judge(steps, [clock(1), clock(2, 20, data=False)])
    assert found == {Found(A, REARMED, PROVEN, 2, 10, 20, 1)}


def test_a_timer_armed_anew_that_ran_out_again_is_told_once_as_ignored() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([])]
    found = judge(steps, [clock(1), clock(2, 20, data=False), clock(3, 40)])
    assert classes(found) == {A: (IGNORED, PROVEN, 3)}


def test_a_state_that_was_removed_while_its_timer_was_armed_anew_is_a_leftover() -> None:
    steps = [Step([put(A, 10)]), Step([(A, cases.group_state(None, 99))])]
    found = judge(steps, [clock(1), clock(2, 20, data=False)])
    assert classes(found) == {A: (REARMED, PROVEN, 2)}


def test_a_removed_key_and_one_without_timer_are_no_leftovers() -> None:
    steps = [Step([put(A, 10), put(B, NO_TIMER)]), Step([(A, None)]), Step([put(B, 99)])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30)]
    assert judge(steps, clocks) == set()


def test_a_timer_cleared_before_it_ran_out_was_cleared_by_data() -> None:
    steps = [Step([put(A, 20)]), Step([put(A, NO_TIMER)])]
    assert judge(steps, [clock(1), clock(2, 20)]) == set()


def test_a_key_that_came_back_after_its_removal_answers_no_timer() -> None:
    steps = [Step([put(A, 10)]), Step([(A, None)]), Step([put(A, NO_TIMER)])]
    assert judge(steps, [clock(1), clock(2, 20), clock(3, 30)]) == set()


def test_the_last_put_decides() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([put(A, 99)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30), clock(4, 40)]
    assert judge(steps, clocks) == set()
    assert classes(judge(steps[:2], clocks)) == {A: (KEPT, PROVEN, 2)}


def test_in_a_batch_with_data_the_order_of_the_records_decides() -> None:
    """Data ascends by key; the first key below the one before it was called by its timeout."""
    first = Step([put(key, 10) for key in (A, B, C, D)])
    # A: before a record that only data can have made; C: no timer was due; B: behind the descent.
    second = Step([put(A, NO_TIMER), put(cases.user("bb"), 99), put(D, NO_TIMER), put(B, NO_TIMER)])
    found = judge([first, second], [clock(1), clock(2, 20)])
    assert classes(found) == {
        B: (KEPT, PROVEN, 2),
        C: (IGNORED, PROVEN, 2),
        D: (KEPT, INFERRED, 2),
    }


def test_armed_anew_by_data_or_by_timeout_is_told_by_the_state() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, 99), put(B, 99, visits=2)])]
    found = judge(steps, [clock(1), clock(2, 20)])
    # New data that updates the state and arms the timer is the life a key should have.
    assert classes(found) == {A: (REARMED, INFERRED, 2)}


def test_what_the_function_never_answers_a_timeout_with_was_made_for_data() -> None:
    """D is kept behind the data, as a timeout may leave it; but this function arms timers anew."""
    known = [cases.user(f"c{i}") for i in range(6)]
    first = Step([put(key, 10) for key in (A, *known, D)])
    answers = [put(key, 99) for key in reversed(known)]
    second = Step([put(A, 99, visits=2), put(D, NO_TIMER), *answers])
    clocks = [clock(1), clock(2, 20)]
    rearmed = dict.fromkeys(known, (REARMED, PROVEN, 2))
    assert classes(judge([first, second], clocks)) == rearmed
    # One answer fewer, and the function is not known well enough.
    fewer = [first, Step(second.records[:-1])]
    assert classes(judge(fewer, clocks))[D] == (KEPT, INFERRED, 2)


def test_a_descent_among_the_records_of_data_proves_nothing() -> None:
    first = Step([put(key, 10) for key in (A, B)])
    second = Step([put(D, 99), put(C, 99), put(B, NO_TIMER), put(A, NO_TIMER)])
    found = judge([first, second], [clock(1), clock(2, 20)])
    assert {one.certainty for one in found} == {INFERRED}


def test_each_reading_has_its_own_leftovers() -> None:
    steps = [Step([put(A, 1500), put(B, 30)]), Step([])]
    clocks = [clock(1, 10, now=1000), clock(2, 40, now=2000)]
    assert {one.key for one in judge(steps, clocks, (EVENT,))} == {B}
    assert {one.key for one in judge(steps, clocks, (PROCESSING,))} == {A, B}
    # What the watermark passed has run out under both readings, and is told once.
    both = [(one.key, one.threshold_ms) for one in judge(steps, clocks, (EVENT, PROCESSING))]
    assert sorted(both) == [(A, 2000), (B, 40)]
    ahead = [clock(1, 10, now=1000), clock(2, 3000, now=2000)]
    both = [(one.key, one.threshold_ms) for one in judge(steps, ahead, (EVENT, PROCESSING))]
    assert sorted(both) == [(A, 2000), (A, 3000), (B, 2000), (B, 3000)]
    assert judge(steps, clocks, ()) == set()


def test_a_timer_of_a_snapshot_has_fired_since_the_snapshot_at_least() -> None:
    steps = [Step([put(A, 10), put(B, 30)], rebase=True), Step([]), Step([])]
    found = judge(steps, [clock(v, mark) for v, mark in enumerate((20, 30, 40), 1)])
    assert found == {
        Found(A, IGNORED, PROVEN, 1, 10, 20, 3),
        Found(B, IGNORED, PROVEN, 3, 30, 40, 1),
    }


def test_nothing_is_said_of_what_was_put_before_the_snapshot() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([put(A, NO_TIMER)], rebase=True)]
    assert judge(steps, [clock(v, 10 * v, data=False) for v in (1, 2, 3)]) == set()


@pytest.mark.parametrize("gone", [1, 2])
def test_without_the_clock_of_a_batch_nothing_is_said_of_it(gone: int) -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20, data=False)]
    left = [one for one in clocks if one.batch_id != gone - 1]
    assert bool(judge(steps, left)) == (gone == 1)
    assert judge([*steps[:1], Step([])], [clock(1), clock(2, None)]) == set()


def test_a_null_timer_is_no_timer() -> None:
    null = (A, cases.group_state(1, None))
    steps = [Step([null]), Step([put(A, NO_TIMER)]), Step([null])]
    assert judge(steps, [clock(v, 10 * v, data=False) for v in (1, 2, 3)]) == set()


def test_no_versions_have_no_leftovers() -> None:
    view = TimerView(TimerEvidence())
    assert list(timed_out(StateMap(), Clocks.of([], {}), EVENT, view)) == []


# --- what is told beside ---------------------------------------------------------------------


def test_what_the_answer_did_with_the_state_is_told() -> None:
    keys = (A, B, C, D)
    answers = [put(A, 99), put(B, 99, visits=2), (C, cases.group_state(None, 99))]
    steps = [Step([put(key, 10) for key in keys]), Step(answers)]
    clocks = [clock(1), clock(2, 20, data=False)]
    state, found = view_of(steps, clocks, EVENT, empty_size=len(cases.group_state(None, 0)))
    told = {
        key: StateChange(int(one.change[i])).word
        for one in found
        if one.change is not None
        for i, key in enumerate(state.keys(one.ids))
    }
    assert told == {A: "untouched", B: "changed", C: "empty", D: "untouched"}


def test_where_the_watermark_may_lag_only_quiet_batches_prove_an_answer() -> None:
    first = Step([put(key, 10) for key in (A, B, C, D)])
    quiet = [first, Step([put(B, NO_TIMER), put(A, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20, data=False)]
    found = classes(judge(quiet, clocks, certainty=INFERRED))
    assert found == {
        **dict.fromkeys((A, B), (KEPT, PROVEN, 2)),
        **dict.fromkeys((C, D), (IGNORED, INFERRED, 2)),
    }
    found = classes(judge(quiet, [clock(1), clock(2, 20)], certainty=INFERRED))
    assert {of_key[1] for of_key in found.values()} == {INFERRED}
    # The time of a batch lags behind nothing.
    by_time = judge(quiet, [clock(1), clock(2, 20)], (PROCESSING,), certainty=INFERRED)
    assert {one.certainty for one in by_time if one.kind is IGNORED} == {PROVEN}


def test_an_inferred_leftover_says_what_it_rests_on() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20)]
    _, found = view_of(steps, clocks, EVENT)
    assert {one.kind: one.reason for one in found} == {KEPT: AMONG_DATA, IGNORED: ""}
    _, found = view_of(steps, clocks, EVENT, certainty=INFERRED)
    assert {one.reason for one in found} == {HELD_BACK}


def test_keys_that_had_no_timer_when_the_window_began_are_told_with_a_proviso() -> None:
    base = Step([put(A, NO_TIMER), put(B, 99), put(C, NO_TIMER), put(D, NO_TIMER)], rebase=True)
    steps = [base, Step([put(C, 99), (D, None)]), Step([put(C, NO_TIMER)])]
    state, found = view_of(steps, [clock(v, 10) for v in (1, 2, 3)], EVENT)
    (one,) = found
    assert state.keys(one.ids) == [A]
    assert (one.kind, one.certainty, one.before_window) == (KEPT, INFERRED, True)
    assert (one.reason, one.fired.tolist()) == (BEFORE, [0])


# --- queries that keep their own account -----------------------------------------------------


@settings(max_examples=250, deadline=None)
@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    history=st.lists(triggers, min_size=2, max_size=8),
    base=st.sampled_from([0, 0, 1, 3]),
    purged=st.sampled_from([0, 0, 2]),
)
def test_what_is_proven_is_what_the_query_says_and_nothing_else(
    pandas: bool, kind: TimeoutKind, history: list[Trigger], base: int, purged: int
) -> None:
    query = Query(pandas, kind)
    for trigger in history:
        query.run(trigger)
    base, purged = min(base, len(history) - 1), min(purged, len(history) - 1)
    truth = query.account(base, purged + 1)
    found = judge(query.on_disk(base), query.clocks[purged:], (kind,))
    assert len({one.key for one in found}) == len(found)
    said = {one.key: (one.kind, one.version, one.fired) for one in found}
    proven = {one.key for one in found if one.certainty is PROVEN}

    assert {key: said[key] for key in proven} == {key: truth[key] for key in proven & set(truth)}
    for key, (of_kind, version, _) in truth.items():
        if of_kind is IGNORED or version in query.quiet:
            assert key in proven
        if of_kind is KEPT:
            assert said[key] == truth[key]


@settings(max_examples=150, deadline=None)
@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    start=triggers,
    history=st.lists(quiet_triggers, min_size=1, max_size=8),
)
def test_without_new_data_every_firing_in_a_row_is_counted(
    pandas: bool, kind: TimeoutKind, start: Trigger, history: list[Trigger]
) -> None:
    query = Query(pandas, kind)
    for trigger in (start, *history):
        query.run(trigger)
    state, found = view_of(query.deltas, query.clocks, kind)
    said = {
        key: (int(one.fired[i]), state.versions[one.first_step[i]])
        for one in found
        if one.first_step is not None
        for i, key in enumerate(state.keys(one.ids))
    }
    account = query.account(0, 1)
    answered = {cases.user(name): query.streak[name] for name in query.answered}
    assert said == {
        key: (len(answered[key]), answered[key][0])
        for key, (of_kind, _, _) in account.items()
        if of_kind is not IGNORED
    }


def test_no_scala_query_leaves_a_timer_that_has_run_out() -> None:
    """The account itself, held against Spark's table of what a timeout leaves behind."""
    leaves = {}
    for call, name in (
        (Call(), "nothing"),
        (Call(update=True), "update"),
        (Call(arm=5), "arm"),
        (Call(update=True, arm=5), "update+arm"),
        (Call(remove=True), "remove"),
        (Call(remove=True, arm=5), "remove+arm"),
    ):
        for pandas in (False, True):
            query = Query(pandas, EVENT)
            query.run(Trigger(0, 1, {"a": Call(update=True, arm=1)}, {}, []))
            query.run(Trigger(9, 1, None, {"a": call}, ["a"]))
            leaves[name, pandas] = query.deltas[1].records, query.account(0, 1).get(A, (None,))[0]
    state = cases.group_state
    assert leaves == {
        ("nothing", False): ([(A, state(1, -1))], KEPT),
        ("nothing", True): ([], IGNORED),
        **dict.fromkeys([("update", False), ("update", True)], ([(A, state(2, -1))], KEPT)),
        **dict.fromkeys([("arm", False), ("arm", True)], ([(A, state(1, 14))], REARMED)),
        **dict.fromkeys(
            [("update+arm", False), ("update+arm", True)], ([(A, state(2, 14))], REARMED)
        ),
        **dict.fromkeys([("remove", False), ("remove", True)], ([(A, None)], None)),
        **dict.fromkeys(
            [("remove+arm", False), ("remove+arm", True)], ([(A, state(None, 14))], REARMED)
        ),
    }
