"""Group-state keys whose timeout fired: by hand, and against queries that keep an account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.expired import Clocks, LeftoverClass, Leftovers, Needs, StateChange
from inspector.facts.timed_out import (
    AMONG_DATA,
    BEFORE,
    HELD_BACK,
    NO_LOG_ENTRY,
    UNSEEN,
    TimerView,
    timeout_leftovers,
)
from inspector.facts.timers import TimerPremises
from inspector.light_dataclasses import replace
from inspector.model import BatchClock, Certainty, TimeoutKind
from inspector.state.replay import NO_CLOCK, StateMap
from tests import cases
from tests.cases import Step, put, replay
from tests.encode import Record
from tests.queries import (
    EVENT,
    LAGS,
    NO_TIMER,
    PANDAS,
    PROCESSING,
    SCALA,
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
PROVEN, UNDECIDED = Certainty.PROVEN, Certainty.UNDECIDED
BOTH = (EVENT, PROCESSING)
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
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kinds: Sequence[TimeoutKind] = (EVENT,),
    premises: TimerPremises = PANDAS,
    empty_size: int = -1,
) -> tuple[StateMap, list[Leftovers]]:
    """Replay a history; its leftovers, class by class, by what an audit knows of its timers."""
    state, calls, runs = follow(steps, clocks, premises, kinds)
    view = TimerView(tuple(kinds), premises, calls, runs, empty_size)
    return state, list(timeout_leftovers(state, clocks_by_step(state, clocks), view))


def judge(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kinds: Sequence[TimeoutKind] = (EVENT,),
    premises: TimerPremises = PANDAS,
) -> set[Found]:
    """The same, key by key; without what would be told as ignored by the only clock."""
    state, leftovers = view_of(steps, clocks, kinds, premises)
    if len(kinds) == 1:
        unless = {EVENT: Needs.UNLESS_EVENT, PROCESSING: Needs.UNLESS_PROCESSING}[kinds[0]]
        leftovers = [leftover for leftover in leftovers if leftover.needs is not unless]
    return {
        Found(
            key,
            item.kind,
            item.certainty,
            state.versions[item.expired_step[i]],
            int(item.clock_ms[i]),
            int(item.threshold_ms[i]),
            int(item.fired[i]),
        )
        for item in leftovers
        for i, key in enumerate(state.keys(item.ids))
    }


def classes(result: set[Found]) -> dict[bytes, tuple[LeftoverClass, Certainty, int]]:
    assert len({item.key for item in result}) == len(result), "a key is told twice"
    return {element.key: (element.kind, element.certainty, element.version) for element in result}


def conditions(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kind: TimeoutKind,
    premises: TimerPremises = PANDAS,
) -> dict[bytes, tuple[LeftoverClass, int, bool]]:
    """By one of two clocks: class, the version whose clock matters, and whether by both."""
    state, leftovers = view_of(steps, clocks, BOTH, premises)
    return {
        key: (leftover.kind, state.versions[leftover.kind_step[i]], bool(leftover.either[i]))
        for leftover in leftovers
        if leftover.timeout_kind is kind
        and leftover.kind_step is not None
        and leftover.either is not None
        for i, key in enumerate(state.keys(leftover.ids))
    }


def test_timer_at_the_watermark_has_not_expired() -> None:
    steps = [Step([put(A, 50), put(B, 49)]), Step([])]
    findings = judge(steps, [clock(1), clock(2, 50)])
    assert findings == {Found(B, IGNORED, PROVEN, 2, 49, 50, 1)}


def test_ignored_timer_fires_in_every_batch_since_expiry() -> None:
    steps = [Step([put(A, 10)]), *(Step([]) for _ in range(4))]
    findings = judge(steps, [clock(v, mark) for v, mark in enumerate((5, 10, 11, 11, 30), 1)])
    assert findings == {Found(A, IGNORED, PROVEN, 3, 10, 11, 3)}


def test_no_data_batch_that_clears_a_due_timer_kept_the_key() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([])]
    findings = judge(steps, [clock(1), clock(2, 20, data=False), clock(3, 30)])
    assert findings == {Found(A, KEPT, PROVEN, 2, 10, 20, 1)}


@pytest.mark.parametrize("visits", [1, 2])
def test_no_data_batch_that_rearms_a_due_timer_kept_the_key(visits: int) -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 99, visits)])]
    findings = judge(steps, [clock(1), clock(2, 20, data=False)])
    assert findings == {Found(A, REARMED, PROVEN, 2, 10, 20, 1)}


@pytest.mark.parametrize("premises", [PANDAS, SCALA])
@pytest.mark.parametrize("cuts", [(), (1,)])
@pytest.mark.parametrize("first", [[], [put(A, 99), put(B, 99)]])
def test_timer_set_in_the_past_times_out_in_the_same_delta(
    premises: TimerPremises, cuts: Sequence[int], first: list[Record]
) -> None:
    """Data sets A's timer to a duration that overflows, and the timeout of the batch answers it."""
    records = [put(A, -5, 2), put(B, 99, 2), put(A, NO_TIMER, 2)]
    steps = [Step(first), Step([]), Step(records, cuts=cuts)]
    clocks = [clock(1, now=5), clock(2, now=10), clock(3, now=20)]
    assert judge(steps, clocks, [PROCESSING], premises) == {Found(A, KEPT, PROVEN, 3, -5, 20, 1)}
    rearmed = [Step(first), Step([]), Step([*records[:2], put(A, 99, 2)], cuts=cuts)]
    assert judge(rearmed, clocks, [PROCESSING], premises) == {
        Found(A, REARMED, PROVEN, 3, -5, 20, 1)
    }
    removed = [Step(first), Step([]), Step([*records[:2], (A, None)], cuts=cuts)]
    assert judge(removed, clocks, [PROCESSING], premises) == set()


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)])
def test_last_record_of_a_key_replaces_the_previous_timer(
    cuts: Sequence[int],
) -> None:
    records = [put(A, -5), put(B, 99), put(A, -4), put(A, NO_TIMER)]
    steps = [Step([put(A, 70), put(B, 80)]), Step(records, cuts=cuts)]
    state, _, _ = follow(steps, [clock(1), clock(2)], PANDAS, BOTH)
    touched = state.list_touched_keys()
    over = dict(zip(state.keys(touched.ids), touched.was_clock.tolist(), strict=True))
    assert over == {A: -4, B: 80}
    assert state.keys(touched.ids[touched.again]) == [A]
    assert state.put_over_clock[touched.ids].tolist() == touched.was_clock.tolist()


def test_initial_state_without_timer_is_no_timeout() -> None:
    """As Spark 3.2 and later put an initial state before the first call of its key."""
    steps = [Step([put(A, NO_TIMER), put(B, 99), put(A, NO_TIMER, 2)])]
    assert judge(steps, [clock(1, now=20)], [PROCESSING]) == set()


def test_rearmed_timer_that_expired_again_is_ignored() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([])]
    findings = judge(steps, [clock(1), clock(2, 20, data=False), clock(3, 40)])
    assert classes(findings) == {A: (IGNORED, PROVEN, 3)}


def test_removed_state_with_rearmed_timer_is_a_leftover() -> None:
    steps = [Step([put(A, 10)]), Step([(A, cases.group_state(None, 99))])]
    findings = judge(steps, [clock(1), clock(2, 20, data=False)])
    assert classes(findings) == {A: (REARMED, PROVEN, 2)}


def test_removed_key_and_key_without_timer_are_no_leftovers() -> None:
    steps = [Step([put(A, 10), put(B, NO_TIMER)]), Step([(A, None)]), Step([put(B, 99)])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30)]
    assert judge(steps, clocks) == set()


def test_timer_cleared_before_expiry_is_no_leftover() -> None:
    steps = [Step([put(A, 20)]), Step([put(A, NO_TIMER)])]
    assert judge(steps, [clock(1), clock(2, 20)]) == set()


def test_key_put_again_after_removal_is_no_leftover() -> None:
    steps = [Step([put(A, 10)]), Step([(A, None)]), Step([put(A, NO_TIMER)])]
    assert judge(steps, [clock(1), clock(2, 20), clock(3, 30)]) == set()


def test_last_put_decides_the_leftover_class() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([put(A, 99)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30), clock(4, 40)]
    assert judge(steps, clocks) == set()
    assert classes(judge(steps[:2], clocks)) == {A: (KEPT, PROVEN, 2)}


def test_record_order_distinguishes_data_from_timeouts() -> None:
    """Data ascends by key; the first key below the one before it was called by its timeout."""
    first = Step([put(key, 10) for key in (A, B, C, D)])
    # A: before a record that only data can have made; C: no timer was due; B: behind the descent.
    second = Step([put(A, NO_TIMER), put(cases.user("bb"), 99), put(D, NO_TIMER), put(B, NO_TIMER)])
    findings = judge([first, second], [clock(1), clock(2, 20)])
    assert classes(findings) == {
        B: (KEPT, PROVEN, 2),
        C: (IGNORED, PROVEN, 2),
        D: (KEPT, UNDECIDED, 2),
    }


def test_rearmed_timer_in_a_data_batch_is_undecided() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, 99), put(B, 99, visits=2)])]
    findings = judge(steps, [clock(1), clock(2, 20)])
    assert classes(findings) == dict.fromkeys((A, B), (REARMED, UNDECIDED, 2))


def test_undecided_leftovers_have_needs() -> None:
    first = Step([put(key, 10) for key in (A, B, C, D)])
    second = Step([put(A, 9000), put(B, 9000, visits=2), put(C, NO_TIMER), put(D, 99)])
    state, result = view_of([first, second], [clock(1), clock(2, 20)])
    needs = {
        key: (item.reason, item.needs, item.certainty)
        for item in result
        for key in state.keys(item.ids)
    }
    assert needs == {
        A: (AMONG_DATA, Needs.REARMED_BY_HABIT, UNDECIDED),
        B: (AMONG_DATA, None, UNDECIDED),
        C: (AMONG_DATA, Needs.KEPT_BY_HABIT, UNDECIDED),
        # By the other clock it has run out again, and would be told as ignored.
        D: (AMONG_DATA, Needs.UNLESS_PROCESSING, UNDECIDED),
    }


def test_key_descent_before_data_records_proves_nothing() -> None:
    first = Step([put(key, 10) for key in (A, B)])
    second = Step([put(D, 99), put(C, 99), put(B, NO_TIMER), put(A, NO_TIMER)])
    found = judge([first, second], [clock(1), clock(2, 20)])
    assert {item.certainty for item in found} == {UNDECIDED}


def test_leftovers_by_event_time_and_by_processing_time() -> None:
    steps = [Step([put(A, 1500), put(B, 30)]), Step([])]
    clocks = [clock(1, 10, now=1000), clock(2, 40, now=2000)]
    assert {item.key for item in judge(steps, clocks, (EVENT,))} == {B}
    assert {finding.key for finding in judge(steps, clocks, (PROCESSING,))} == {A, B}
    assert judge(steps, clocks, ()) == set()
    assert conditions(steps, clocks, EVENT) == {B: (IGNORED, 2, True)}
    assert conditions(steps, clocks, PROCESSING) == {
        A: (IGNORED, 2, False),
        B: (IGNORED, 2, True),
    }


def test_cleared_timer_is_judged_by_the_clock_of_its_batch() -> None:
    first = Step([put(A, 1500), put(B, 30), put(C, 2500)])
    steps = [first, Step([put(key, NO_TIMER) for key in (A, B, C)]), Step([])]
    clocks = [clock(1, 10), clock(2, 2600, data=False), clock(3, 2700)]
    for premises in (PANDAS, SCALA):
        assert conditions(steps, clocks, EVENT, premises) == {
            A: (KEPT, 2, True),
            B: (KEPT, 2, True),
            C: (KEPT, 2, False),
        }
        assert set(conditions(steps, clocks, PROCESSING, premises)) == set()
    # A batch without data whose watermark had not reached C says which clock it was.
    slow = [clock(1, 10), clock(2, 1600, now=2600, data=False), clock(3, 1700)]
    assert conditions(steps, slow, EVENT) == {}
    assert {kind for kind, *_ in conditions(steps, slow, PROCESSING).values()} == {KEPT}


def test_contradicted_clock_has_no_leftovers() -> None:
    steps = [Step([put(A, 1500)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1, 10), clock(2, 20, data=False)]
    assert conditions(steps, clocks, EVENT) == {}
    assert conditions(steps, clocks, PROCESSING) == {A: (KEPT, 2, False)}


def test_live_timer_ignores_a_clock_contradicted_by_the_last_batch() -> None:
    steps = [Step([put(A, 10)]), Step([put(B, 15)])]  # before the watermark
    clocks = [clock(1), clock(2, 20, now=12)]
    assert conditions(steps, clocks, EVENT) == {}
    assert conditions(steps, clocks, PROCESSING) == {A: (IGNORED, 2, True)}
    # Contradicted both, neither is known.
    both = [clock(1), clock(2, 20)]
    assert set(conditions(steps, both, EVENT)) == {A, B}
    assert set(conditions(steps, both, PROCESSING)) == {A, B}


def test_rearmed_pandas_timer_is_judged_by_the_last_batch() -> None:
    """By the one clock it has run out again, and is ignored; by the other it stands rearmed."""
    steps = [Step([put(A, 10)]), Step([put(A, 2500)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30)]
    assert conditions(steps, clocks, EVENT) == {A: (REARMED, 3, False)}
    assert conditions(steps, clocks, PROCESSING) == {A: (IGNORED, 3, False)}
    early = [*clocks[:2], clock(3, 30, now=2500)]
    assert conditions(steps, early, EVENT) == {A: (REARMED, 3, True)}
    assert conditions(steps, early, PROCESSING) == {A: (REARMED, 3, True)}
    # Scala clears what runs out: what stands was set anew, by whatever clock.
    assert conditions(steps, clocks, EVENT, SCALA) == {A: (REARMED, 2, True)}
    assert conditions(steps, clocks, PROCESSING, SCALA) == {A: (REARMED, 2, True)}


def test_rearmed_pandas_timer_is_undecided_after_a_missing_log_entry() -> None:
    """Then it is ignored and not rearmed; Scala clears it, so that what stands was set anew."""
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False)]
    assert classes(judge(steps, clocks)) == {A: (REARMED, UNDECIDED, 2)}
    assert classes(judge(steps, clocks, premises=SCALA)) == {A: (REARMED, PROVEN, 2)}
    # In the batch that set it, it cannot run out.
    assert classes(judge(steps[:2], clocks)) == {A: (REARMED, PROVEN, 2)}


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_unseen_rewrite_between_snapshots_makes_a_leftover_inferred(batch: int) -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 40)]
    state, calls, runs = follow(steps, clocks, SCALA, [EVENT])
    calls = {**calls, batch: replace(calls[batch], may_rewrite_unseen=True)}
    view = TimerView((EVENT,), SCALA, calls, runs)
    (found,) = timeout_leftovers(state, clocks_by_step(state, clocks), view)
    later = batch == 3
    assert found.certainty is (Certainty.INFERRED if later else PROVEN)
    assert found.reason == (UNSEEN if later else "")


def test_rearmed_timer_in_a_data_batch_needs_the_clock() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 2500)]), Step([])]
    clocks = [clock(1), clock(2, 20), clock(3, 30)]
    assert classes(judge(steps, clocks)) == {A: (REARMED, UNDECIDED, 2)}
    # By processing time it stands, and has run out.
    assert classes(judge(steps, clocks, (PROCESSING,))) == {A: (IGNORED, PROVEN, 3)}
    _, found = view_of(steps, clocks, BOTH)
    of_clock = {element.timeout_kind: element.needs for element in found if element.kind is REARMED}
    assert of_clock[EVENT] is Needs.UNLESS_PROCESSING
    early = [*clocks[:2], clock(3, 30, now=2500)]
    _, found = view_of(steps, early, BOTH)
    assert {item.needs for item in found} == {Needs.REARMED_BY_HABIT}


def test_leftover_by_either_clock_needs_both_clocks_past_the_timer() -> None:
    first = Step([put(A, 10), put(B, 1500)])
    steps = [first, Step([put(A, NO_TIMER), put(B, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20)]
    # By the watermark data made both: B's timer had not run out, and A stands before it.
    assert conditions(steps, clocks, EVENT) == {}
    assert conditions(steps, clocks, PROCESSING) == {A: (KEPT, 2, False), B: (KEPT, 2, False)}
    late = [clock(1), clock(2, 1600)]
    both = {A: (KEPT, 2, True), B: (KEPT, 2, True)}
    assert conditions(steps, late, EVENT) == conditions(steps, late, PROCESSING) == both


def test_single_clock_has_no_either_flag() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, NO_TIMER)])]
    _, found = view_of(steps, [clock(1), clock(2, 20, data=False)])
    assert [item.either is not None and item.either.any() for item in found] == [False, False]


@pytest.mark.parametrize("data", [True, False])
def test_scala_function_has_no_ignored_timeouts(data: bool) -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, 15)]), Step([])]
    clocks = [clock(1), clock(2, 11, data=data), clock(3, 2500)]
    kinds = {item.kind for item in judge(steps, clocks, BOTH, SCALA)}
    assert kinds == {REARMED}
    assert IGNORED in {finding.kind for finding in judge(steps, clocks, BOTH, PANDAS)}


def test_timer_of_a_snapshot_fires_since_the_snapshot() -> None:
    steps = [Step([put(A, 10), put(B, 30)], rebase=True), Step([]), Step([])]
    found = judge(steps, [clock(v, mark) for v, mark in enumerate((20, 30, 40), 1)])
    assert found == {
        Found(A, IGNORED, PROVEN, 1, 10, 20, 3),
        Found(B, IGNORED, PROVEN, 3, 30, 40, 1),
    }


def test_keys_put_before_the_snapshot_have_no_threshold() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([put(A, NO_TIMER)], rebase=True)]
    found = judge(steps, [clock(v, 10 * v, data=False) for v in (1, 2, 3)])
    assert found == {Found(A, KEPT, UNDECIDED, 3, NO_CLOCK, NO_CLOCK, 0)}


def test_timer_cleared_in_a_batch_without_log_entry_has_no_threshold() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(B, NO_TIMER), put(A, NO_TIMER)]), Step([])]
    state, found = view_of(steps, [clock(1), clock(3, 40)])
    told = {
        key: (item.kind, item.certainty, item.reason, int(item.threshold_ms[i]))
        for item in found
        for i, key in enumerate(state.keys(item.ids))
    }
    # A lies behind the descent of the keys; B may have been called for data as well.
    assert told == {
        A: (KEPT, PROVEN, NO_LOG_ENTRY, NO_CLOCK),
        B: (KEPT, UNDECIDED, NO_LOG_ENTRY, NO_CLOCK),
    }
    # Of the last batch nothing is known without its entry.
    assert judge([*steps[:1], Step([])], [clock(1), clock(2, None)]) == set()


def test_null_timer_is_no_timer() -> None:
    null = (A, cases.group_state(1, None))
    steps = [Step([null]), Step([put(A, NO_TIMER)]), Step([null])]
    assert judge(steps, [clock(v, 10 * v, data=False) for v in (1, 2, 3)]) == set()


def test_no_versions_have_no_timeout_leftovers() -> None:
    assert list(timeout_leftovers(StateMap(), Clocks.of([], {}), TimerView())) == []


# --- what is told beside ---------------------------------------------------------------------


def test_state_change_of_the_timeout_call() -> None:
    keys = (A, B, C, D)
    answers = [put(A, 99), put(B, 99, visits=2), (C, cases.group_state(None, 99))]
    steps = [Step([put(key, 10) for key in keys]), Step(answers)]
    clocks = [clock(1), clock(2, 20, data=False)]
    state, found = view_of(steps, clocks, empty_size=len(cases.group_state(None, 0)))
    told = {
        key: StateChange(int(item.change[i])).word
        for item in found
        if item.change is not None
        for i, key in enumerate(state.keys(item.ids))
    }
    assert told == {A: "untouched", B: "changed", C: "empty", D: "untouched"}


def test_lagging_watermark_makes_ignored_timers_undecided() -> None:
    first = Step([put(key, 10) for key in (A, B, C, D)])
    quiet = [first, Step([put(B, NO_TIMER), put(A, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20, data=False)]
    found = judge(quiet, clocks, premises=LAGS)
    assert classes(found) == {
        **dict.fromkeys((A, B), (KEPT, PROVEN, 2)),
        **dict.fromkeys((C, D), (IGNORED, UNDECIDED, 2)),
    }
    # What they were held against is not known.
    assert {entry.threshold_ms for entry in found} == {NO_CLOCK}
    _, leftovers = view_of(quiet, clocks, premises=LAGS)
    assert {leftover.kind: leftover.reason for leftover in leftovers} == {
        KEPT: "",
        IGNORED: HELD_BACK,
    }
    # The time of a batch lags behind nothing.
    by_time = judge(quiet, clocks, (PROCESSING,), LAGS)
    assert {element.certainty for element in by_time} == {PROVEN}
    assert {item.threshold_ms for item in by_time} == {2000}
    # What the query's watermark has not reached, the operator's has not either.
    assert judge(quiet[:1], clocks[:1], premises=LAGS) == set()


def test_undecided_leftover_has_a_reason() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20)]
    _, found = view_of(steps, clocks)
    assert {element.kind: element.reason for element in found} == {KEPT: AMONG_DATA, IGNORED: ""}
    _, found = view_of(steps, clocks, premises=LAGS)
    assert {item.kind: item.reason for item in found} == {KEPT: AMONG_DATA, IGNORED: HELD_BACK}


def test_keys_without_timer_before_the_window_are_undecided() -> None:
    base = Step([put(A, NO_TIMER), put(B, 9000), put(C, NO_TIMER), put(D, NO_TIMER)], rebase=True)
    steps = [base, Step([put(C, 9000), (D, None)]), Step([put(C, NO_TIMER)])]
    clocks = [clock(v, 10) for v in (1, 2, 3)]
    state, (one,) = view_of(steps, clocks)
    assert state.keys(one.ids) == [A]
    assert (one.kind, one.certainty) == (KEPT, UNDECIDED)
    assert (one.reason, one.needs, one.fired.tolist()) == (BEFORE, Needs.BEFORE_WINDOW, [0])
    # Whatever clock it followed.
    by_both = conditions(steps, clocks, EVENT)
    assert by_both == conditions(steps, clocks, PROCESSING) == {A: (KEPT, 1, True)}


# --- queries that keep their own account -----------------------------------------------------


@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    history=st.lists(triggers, min_size=2, max_size=8),
    base=st.sampled_from([0, 0, 1, 3]),
    purged=st.sampled_from([0, 0, 2]),
)
def test_proven_leftovers_match_a_simulated_query(
    pandas: bool, kind: TimeoutKind, history: list[Trigger], base: int, purged: int
) -> None:
    query = Query(pandas, kind)
    for trigger in history:
        query.run(trigger)
    base, purged = min(base, len(history) - 1), min(purged, len(history) - 1)
    truth, since = query.account(base), query.account(base, purged + 1)
    premises = PANDAS if pandas else SCALA
    found = judge(query.on_disk(base), query.clocks[purged:], (kind,), premises)
    assert len({item.key for item in found}) == len(found)
    said = {one.key: (one.kind, one.version) for one in found}
    proven = {member.key for member in found if member.certainty is PROVEN}

    # A timer that stands is known to have fired since the first clock that is known.
    of_truth = {key: entry[:2] for key, entry in (truth | since).items()}
    assert {key: said[key] for key in proven} == {key: of_truth.get(key) for key in proven}
    times = {element.key: element.fired for element in found}
    for key, one in since.items():
        if one.kind is IGNORED:
            assert times[key] == len(one.fired)
        if one.kind is IGNORED or one.version in query.quiet:
            assert key in proven
        assert said[key] == one[:2]


@given(
    pandas=st.booleans(),
    kind=st.sampled_from(TimeoutKind),
    start=triggers,
    history=st.lists(quiet_triggers, min_size=1, max_size=8),
)
def test_consecutive_firings_without_data_match_a_simulated_query(
    pandas: bool, kind: TimeoutKind, start: Trigger, history: list[Trigger]
) -> None:
    query = Query(pandas, kind)
    for trigger in (start, *history):
        query.run(trigger)
    state, found = view_of(query.deltas, query.clocks, (kind,), PANDAS if pandas else SCALA)
    said = {
        key: (int(element.fired[i]), state.versions[element.first_step[i]])
        for element in found
        if element.first_step is not None
        for i, key in enumerate(state.keys(element.ids))
    }
    assert said == {
        key: (len(item.fired), item.fired[0])
        for key, item in query.account().items()
        if item.kind is not IGNORED
    }


def test_simulated_query_matches_sparks_timeout_table() -> None:
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
            leaves[name, pandas] = query.deltas[1].records, query.account().get(A, (None,))[0]
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


TWO_BATCHES = [clock(1, 10), clock(2, 20, data=False)]


@pytest.mark.parametrize("kinds", [(), (EVENT,), (PROCESSING,), (EVENT, PROCESSING)])
def test_timers_are_judged_by_each_possible_clock(
    kinds: tuple[TimeoutKind, ...],
) -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 1500)]), Step([])], track)
    clocks = clocks_by_step(state, TWO_BATCHES)
    found = list(timeout_leftovers(state, clocks, TimerView(kinds)))
    # Only by the processing time it has run out.
    found_by = [(item.kind, item.timeout_kind) for item in found]
    assert found_by == [(LeftoverClass.IGNORED_TIMEOUT, PROCESSING)] * (PROCESSING in kinds)


def test_timer_of_unknown_kind_is_judged_by_both_clocks() -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 15)]), Step([])], track)
    found = list(timeout_leftovers(state, clocks_by_step(state, TWO_BATCHES), TimerView()))
    assert {EVENT, PROCESSING} <= {item.timeout_kind for item in found}
