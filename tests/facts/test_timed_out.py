"""Group-state keys whose timeout fired, in short histories and in simulated queries."""

from __future__ import annotations

from collections.abc import Sequence

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
from tests.attributes import attributes
from tests.cases import Step, put, replay
from tests.encode import Record
from tests.facts.histories import KeyLeftover, at_watermarks, leftovers_by_key, puts, rows_of
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
UNLESS: dict[tuple[TimeoutKind, ...], Needs] = {
    (EVENT,): Needs.UNLESS_EVENT,
    (PROCESSING,): Needs.UNLESS_PROCESSING,
}
A, B, C, D = map(cases.user, "abcd")


def view_of(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kinds: Sequence[TimeoutKind] = (EVENT,),
    premises: TimerPremises = PANDAS,
    empty_size: int = -1,
) -> tuple[StateMap, list[Leftovers]]:
    """Replay a history. Return its map and the leftovers of each class."""
    state, calls, runs = follow(steps, clocks, premises, kinds)
    view = TimerView(tuple(kinds), premises, calls, runs, empty_size)
    return state, list(timeout_leftovers(state, clocks_by_step(state, clocks), view))


def leftovers_of(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kinds: Sequence[TimeoutKind] = (EVENT,),
    premises: TimerPremises = PANDAS,
) -> set[KeyLeftover]:
    """Replay a history. Return its leftovers by key.

    With one clock, leftovers that this clock would report as ignored timeouts are left out.
    """
    state, leftovers = view_of(steps, clocks, kinds, premises)
    unless = UNLESS.get(tuple(kinds))
    return leftovers_by_key(
        state, [item for item in leftovers if not unless or item.needs != unless]
    )


def classes(result: set[KeyLeftover]) -> dict[bytes, tuple[LeftoverClass, Certainty, int]]:
    classes = attributes(result, "kind", "certainty", "version")
    by_key = dict(zip(attributes(result, "key"), classes, strict=True))
    assert len(by_key) == len(result), "a key has two leftovers"
    return by_key


def conditions(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kind: TimeoutKind,
    premises: TimerPremises = PANDAS,
) -> dict[bytes, tuple[LeftoverClass, int, bool]]:
    """Return the leftovers by one of two clocks.

    Each key has its class, the version whose clock decides, and whether both clocks agree.
    """
    state, leftovers = view_of(steps, clocks, BOTH, premises)
    return {
        key: (item.kind, state.versions[item.kind_step[i]], bool(item.either[i]))
        for key, item, i in rows_of(state, leftovers)
        if item.timeout_kind is kind and item.kind_step is not None and item.either is not None
    }


def test_timer_at_the_watermark_has_not_expired() -> None:
    steps = [Step([put(A, 50), put(B, 49)]), Step([])]
    findings = leftovers_of(steps, [clock(1), clock(2, 50)])
    assert findings == {KeyLeftover(B, IGNORED, PROVEN, 2, 49, 50, 1)}


def test_ignored_timer_fires_in_every_batch_since_expiry() -> None:
    steps = [Step([put(A, 10)]), *[Step([])] * 4]
    findings = leftovers_of(steps, at_watermarks(5, 10, 11, 11, 30))
    assert findings == {KeyLeftover(A, IGNORED, PROVEN, 3, 10, 11, 3)}


def test_no_data_batch_that_clears_a_due_timer_kept_the_key() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([])]
    findings = leftovers_of(steps, [clock(1), clock(2, 20, data=False), clock(3, 30)])
    assert findings == {KeyLeftover(A, KEPT, PROVEN, 2, 10, 20, 1)}


@pytest.mark.parametrize("visits", [1, 2])
def test_no_data_batch_that_rearms_a_due_timer_kept_the_key(visits: int) -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 99, visits)])]
    findings = leftovers_of(steps, [clock(1), clock(2, 20, data=False)])
    assert findings == {KeyLeftover(A, REARMED, PROVEN, 2, 10, 20, 1)}


@pytest.mark.parametrize("premises", [PANDAS, SCALA])
@pytest.mark.parametrize("cuts", [(), (1,)])
@pytest.mark.parametrize("first", [[], [put(A, 99), put(B, 99)]])
def test_timer_set_in_the_past_times_out_in_the_same_delta(
    premises: TimerPremises, cuts: Sequence[int], first: list[Record]
) -> None:
    """Data sets A's timer to a duration that overflows. A timeout of the same batch follows."""
    by_data = [put(A, -5, 2), put(B, 99, 2)]
    clocks = [clock(1, now=5), clock(2, now=10), clock(3, now=20)]
    kept = [Step(first), Step([]), Step([*by_data, put(A, NO_TIMER, 2)], cuts=cuts)]
    expected = KeyLeftover(A, KEPT, PROVEN, 3, -5, 20, 1)
    assert leftovers_of(kept, clocks, [PROCESSING], premises) == {expected}
    rearmed = [Step(first), Step([]), Step([*by_data, put(A, 99, 2)], cuts=cuts)]
    expected = KeyLeftover(A, REARMED, PROVEN, 3, -5, 20, 1)
    assert leftovers_of(rearmed, clocks, [PROCESSING], premises) == {expected}
    removed = [Step(first), Step([]), Step([*by_data, (A, None)], cuts=cuts)]
    assert leftovers_of(removed, clocks, [PROCESSING], premises) == set()


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
    """Spark 3.2 and later put an initial state before the first call of its key."""
    steps = [Step([put(A, NO_TIMER), put(B, 99), put(A, NO_TIMER, 2)])]
    assert leftovers_of(steps, [clock(1, now=20)], [PROCESSING]) == set()


def test_rearmed_timer_that_expired_again_is_ignored() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([])]
    findings = leftovers_of(steps, [clock(1), clock(2, 20, data=False), clock(3, 40)])
    assert classes(findings) == {A: (IGNORED, PROVEN, 3)}


def test_removed_state_with_rearmed_timer_is_a_leftover() -> None:
    steps = [Step([put(A, 10)]), Step([(A, cases.group_state(None, 99))])]
    findings = leftovers_of(steps, [clock(1), clock(2, 20, data=False)])
    assert classes(findings) == {A: (REARMED, PROVEN, 2)}


def test_removed_key_and_key_without_timer_are_no_leftovers() -> None:
    steps = [Step([put(A, 10), put(B, NO_TIMER)]), Step([(A, None)]), Step([put(B, 99)])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30)]
    assert leftovers_of(steps, clocks) == set()


def test_timer_cleared_before_expiry_is_no_leftover() -> None:
    steps = [Step([put(A, 20)]), Step([put(A, NO_TIMER)])]
    assert leftovers_of(steps, [clock(1), clock(2, 20)]) == set()


def test_key_put_again_after_removal_is_no_leftover() -> None:
    steps = [Step([put(A, 10)]), Step([(A, None)]), Step([put(A, NO_TIMER)])]
    assert leftovers_of(steps, [clock(1), clock(2, 20), clock(3, 30)]) == set()


def test_last_put_decides_the_leftover_class() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([put(A, 99)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30), clock(4, 40)]
    assert leftovers_of(steps, clocks) == set()
    assert classes(leftovers_of(steps[:2], clocks)) == {A: (KEPT, PROVEN, 2)}


def test_record_order_distinguishes_data_from_timeouts() -> None:
    """Keys with data ascend. The first key that descends was called by its timeout."""
    first = Step(puts(10, A, B, C, D))
    # A is before a record that only data can have made. C has no record. B is after the descent.
    second = Step([put(A, NO_TIMER), put(cases.user("bb"), 99), put(D, NO_TIMER), put(B, NO_TIMER)])
    findings = leftovers_of([first, second], [clock(1), clock(2, 20)])
    assert classes(findings) == {
        B: (KEPT, PROVEN, 2),
        C: (IGNORED, PROVEN, 2),
        D: (KEPT, UNDECIDED, 2),
    }


def test_rearmed_timer_in_a_data_batch_is_undecided() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, 99), put(B, 99, visits=2)])]
    findings = leftovers_of(steps, [clock(1), clock(2, 20)])
    assert classes(findings) == dict.fromkeys((A, B), (REARMED, UNDECIDED, 2))


def test_undecided_leftovers_have_needs() -> None:
    first = Step(puts(10, A, B, C, D))
    second = Step([put(A, 9000), put(B, 9000, visits=2), put(C, NO_TIMER), put(D, 99)])
    state, result = view_of([first, second], [clock(1), clock(2, 20)])
    assert set(attributes(result, "reason", "certainty")) == {(AMONG_DATA, UNDECIDED)}
    assert {key: item.needs for key, item, _ in rows_of(state, result)} == {
        A: Needs.REARMED_BY_HABIT,
        B: None,
        C: Needs.KEPT_BY_HABIT,
        D: Needs.UNLESS_PROCESSING,  # by the other clock it expired again, an ignored timeout
    }


def test_key_descent_before_data_records_proves_nothing() -> None:
    first = Step(puts(10, A, B))
    second = Step([*puts(99, D, C), *puts(NO_TIMER, B, A)])
    result = leftovers_of([first, second], [clock(1), clock(2, 20)])
    assert classes(result) == {A: (KEPT, UNDECIDED, 2), B: (KEPT, UNDECIDED, 2)}


def test_leftovers_by_event_time_and_by_processing_time() -> None:
    steps = [Step([put(A, 1500), put(B, 30)]), Step([])]
    clocks = [clock(1, 10, now=1000), clock(2, 40, now=2000)]
    assert classes(leftovers_of(steps, clocks, (EVENT,))).keys() == {B}
    assert classes(leftovers_of(steps, clocks, (PROCESSING,))).keys() == {A, B}
    assert leftovers_of(steps, clocks, ()) == set()
    assert conditions(steps, clocks, EVENT) == {B: (IGNORED, 2, True)}
    assert conditions(steps, clocks, PROCESSING) == {
        A: (IGNORED, 2, False),
        B: (IGNORED, 2, True),
    }


THREE_TIMERS = [put(A, 1500), put(B, 30), put(C, 2500)]


@pytest.mark.parametrize("premises", [PANDAS, SCALA])
def test_cleared_timer_is_judged_by_the_clock_of_its_batch(premises: TimerPremises) -> None:
    steps = [Step(THREE_TIMERS), Step(puts(NO_TIMER, A, B, C)), Step([])]
    clocks = [clock(1, 10), clock(2, 2600, data=False), clock(3, 2700)]
    assert conditions(steps, clocks, EVENT, premises) == {
        A: (KEPT, 2, True),
        B: (KEPT, 2, True),
        C: (KEPT, 2, False),
    }
    assert conditions(steps, clocks, PROCESSING, premises) == {}


def test_watermark_below_a_cleared_timer_shows_processing_time() -> None:
    steps = [Step(THREE_TIMERS), Step(puts(NO_TIMER, A, B, C)), Step([])]
    clocks = [clock(1, 10), clock(2, 1600, now=2600, data=False), clock(3, 1700)]
    assert conditions(steps, clocks, EVENT) == {}
    assert conditions(steps, clocks, PROCESSING) == {
        A: (KEPT, 2, True),
        B: (KEPT, 2, True),
        C: (KEPT, 2, False),
    }


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
    # If the batch contradicts both clocks, the clock is unknown.
    both = [clock(1), clock(2, 20)]
    assert set(conditions(steps, both, EVENT)) == {A, B}
    assert set(conditions(steps, both, PROCESSING)) == {A, B}


def test_rearmed_pandas_timer_is_judged_by_the_last_batch() -> None:
    """By processing time the timer expired again and is ignored. By event time it is rearmed."""
    steps = [Step([put(A, 10)]), Step([put(A, 2500)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 30)]
    assert conditions(steps, clocks, EVENT) == {A: (REARMED, 3, False)}
    assert conditions(steps, clocks, PROCESSING) == {A: (IGNORED, 3, False)}
    early = [*clocks[:2], clock(3, 30, now=2500)]
    assert conditions(steps, early, EVENT) == {A: (REARMED, 3, True)}
    assert conditions(steps, early, PROCESSING) == {A: (REARMED, 3, True)}
    # Scala clears expired timers, so a live timer was rearmed, by any clock.
    assert conditions(steps, clocks, EVENT, SCALA) == {A: (REARMED, 2, True)}
    assert conditions(steps, clocks, PROCESSING, SCALA) == {A: (REARMED, 2, True)}


def test_rearmed_pandas_timer_is_undecided_after_a_missing_log_entry() -> None:
    """A pandas timer may be ignored. Scala clears expired timers, so a live one was rearmed."""
    steps = [Step([put(A, 10)]), Step([put(A, 30)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False)]
    assert classes(leftovers_of(steps, clocks)) == {A: (REARMED, UNDECIDED, 2)}
    assert classes(leftovers_of(steps, clocks, premises=SCALA)) == {A: (REARMED, PROVEN, 2)}
    # A timer cannot expire in the batch that set it.
    assert classes(leftovers_of(steps[:2], clocks)) == {A: (REARMED, PROVEN, 2)}


@pytest.mark.parametrize(
    ("batch", "expected"),
    [(1, (PROVEN, "")), (2, (PROVEN, "")), (3, (Certainty.INFERRED, UNSEEN))],
)
def test_unseen_rewrite_between_snapshots_makes_a_leftover_inferred(
    batch: int, expected: tuple[Certainty, str]
) -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([])]
    clocks = [clock(1), clock(2, 20, data=False), clock(3, 40)]
    state, calls, runs = follow(steps, clocks, SCALA, [EVENT])
    calls = {**calls, batch: replace(calls[batch], may_rewrite_unseen=True)}
    view = TimerView((EVENT,), SCALA, calls, runs)
    (leftovers,) = timeout_leftovers(state, clocks_by_step(state, clocks), view)
    assert (leftovers.certainty, leftovers.reason) == expected


def test_rearmed_timer_in_a_data_batch_needs_the_clock() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, 2500)]), Step([])]
    clocks = [clock(1), clock(2, 20), clock(3, 30)]
    assert classes(leftovers_of(steps, clocks)) == {A: (REARMED, UNDECIDED, 2)}
    # By processing time the timer has expired.
    assert classes(leftovers_of(steps, clocks, (PROCESSING,))) == {A: (IGNORED, PROVEN, 3)}
    _, leftovers = view_of(steps, clocks, BOTH)
    needs = attributes(leftovers, "kind", "timeout_kind", "needs")
    assert (REARMED, EVENT, Needs.UNLESS_PROCESSING) in needs
    early = [*clocks[:2], clock(3, 30, now=2500)]
    _, leftovers = view_of(steps, early, BOTH)
    assert set(attributes(leftovers, "needs")) == {Needs.REARMED_BY_HABIT}


def test_leftover_by_either_clock_needs_both_clocks_past_the_timer() -> None:
    first = Step([put(A, 10), put(B, 1500)])
    steps = [first, Step([put(A, NO_TIMER), put(B, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20)]
    # By event time, data made both records: B's timer had not expired, and A precedes B.
    assert conditions(steps, clocks, EVENT) == {}
    assert conditions(steps, clocks, PROCESSING) == {A: (KEPT, 2, False), B: (KEPT, 2, False)}
    late = [clock(1), clock(2, 1600)]
    both = {A: (KEPT, 2, True), B: (KEPT, 2, True)}
    assert conditions(steps, late, EVENT) == conditions(steps, late, PROCESSING) == both


def test_single_clock_has_no_either_flag() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, NO_TIMER)])]
    _, leftovers = view_of(steps, [clock(1), clock(2, 20, data=False)])
    assert [item.either is not None and item.either.any() for item in leftovers] == [False, False]


@pytest.mark.parametrize("data", [True, False])
def test_scala_function_has_no_ignored_timeouts(data: bool) -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, 15)]), Step([])]
    clocks = [clock(1), clock(2, 11, data=data), clock(3, 2500)]
    assert set(attributes(leftovers_of(steps, clocks, BOTH, SCALA), "kind")) == {REARMED}
    assert IGNORED in attributes(leftovers_of(steps, clocks, BOTH, PANDAS), "kind")


def test_timer_of_a_snapshot_fires_since_the_snapshot() -> None:
    steps = [Step([put(A, 10), put(B, 30)], rebase=True), Step([]), Step([])]
    assert leftovers_of(steps, at_watermarks(20, 30, 40)) == {
        KeyLeftover(A, IGNORED, PROVEN, 1, 10, 20, 3),
        KeyLeftover(B, IGNORED, PROVEN, 3, 30, 40, 1),
    }


def test_keys_put_before_the_snapshot_have_no_threshold() -> None:
    steps = [Step([put(A, 10)]), Step([put(A, NO_TIMER)]), Step([put(A, NO_TIMER)], rebase=True)]
    result = leftovers_of(steps, at_watermarks(10, 20, 30, data=False))
    assert result == {KeyLeftover(A, KEPT, UNDECIDED, 3, NO_CLOCK, NO_CLOCK, 0)}


def test_timer_cleared_in_a_batch_without_log_entry_has_no_threshold() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(B, NO_TIMER), put(A, NO_TIMER)]), Step([])]
    _, leftovers = view_of(steps, [clock(1), clock(3, 40)])
    assert set(attributes(leftovers, "reason")) == {NO_LOG_ENTRY}
    # A is after the descent of the keys. B may have been called for data.
    assert leftovers_of(steps, [clock(1), clock(3, 40)]) == {
        KeyLeftover(A, KEPT, PROVEN, 2, 10, NO_CLOCK, 1),
        KeyLeftover(B, KEPT, UNDECIDED, 2, 10, NO_CLOCK, 1),
    }
    # A last batch without log entry shows nothing.
    assert leftovers_of([*steps[:1], Step([])], [clock(1), clock(2, None)]) == set()


def test_null_timer_is_no_timer() -> None:
    null = (A, cases.group_state(1, None))
    steps = [Step([null]), Step([put(A, NO_TIMER)]), Step([null])]
    assert leftovers_of(steps, at_watermarks(10, 20, 30, data=False)) == set()


def test_no_versions_have_no_timeout_leftovers() -> None:
    assert list(timeout_leftovers(StateMap(), Clocks.of([], {}), TimerView())) == []


# --- reason, change and certainty ------------------------------------------------------------


def test_state_change_of_the_timeout_call() -> None:
    answers = [put(A, 99), put(B, 99, visits=2), (C, cases.group_state(None, 99))]
    steps = [Step(puts(10, A, B, C, D)), Step(answers)]
    clocks = [clock(1), clock(2, 20, data=False)]
    state, leftovers = view_of(steps, clocks, empty_size=len(cases.group_state(None, 0)))
    rows = rows_of(state, leftovers)
    changes = {key: item.change[i] for key, item, i in rows if item.change is not None}
    assert changes == {
        A: StateChange.UNTOUCHED,
        B: StateChange.CHANGED,
        C: StateChange.EMPTY,
        D: StateChange.UNTOUCHED,
    }


def test_lagging_watermark_makes_ignored_timers_undecided() -> None:
    quiet = [Step(puts(10, A, B, C, D)), Step(puts(NO_TIMER, B, A))]
    clocks = [clock(1), clock(2, 20, data=False)]
    # The threshold of the operator is unknown.
    assert leftovers_of(quiet, clocks, premises=LAGS) == {
        KeyLeftover(A, KEPT, PROVEN, 2, 10, NO_CLOCK, 1),
        KeyLeftover(B, KEPT, PROVEN, 2, 10, NO_CLOCK, 1),
        KeyLeftover(C, IGNORED, UNDECIDED, 2, 10, NO_CLOCK, 1),
        KeyLeftover(D, IGNORED, UNDECIDED, 2, 10, NO_CLOCK, 1),
    }
    assert reasons(quiet, clocks, LAGS) == {KEPT: "", IGNORED: HELD_BACK}
    # A watermark that is below the timer for the query is below it for the operator.
    assert leftovers_of(quiet[:1], clocks[:1], premises=LAGS) == set()


def test_processing_time_never_lags() -> None:
    quiet = [Step(puts(10, A, C)), Step(puts(NO_TIMER, A))]
    clocks = [clock(1), clock(2, 20, data=False)]
    assert leftovers_of(quiet, clocks, (PROCESSING,), LAGS) == {
        KeyLeftover(A, KEPT, PROVEN, 2, 10, 2000, 1),
        KeyLeftover(C, IGNORED, PROVEN, 2, 10, 2000, 1),
    }


def reasons(
    steps: Sequence[Step], clocks: Sequence[BatchClock], premises: TimerPremises
) -> dict[LeftoverClass, str]:
    """Return the reason of each class of leftovers."""
    _, leftovers = view_of(steps, clocks, premises=premises)
    return dict(attributes(leftovers, "kind", "reason"))


def test_undecided_leftover_has_a_reason() -> None:
    steps = [Step([put(A, 10), put(B, 10)]), Step([put(A, NO_TIMER)])]
    clocks = [clock(1), clock(2, 20)]
    assert reasons(steps, clocks, PANDAS) == {KEPT: AMONG_DATA, IGNORED: ""}
    assert reasons(steps, clocks, LAGS) == {KEPT: AMONG_DATA, IGNORED: HELD_BACK}


def test_keys_without_timer_before_the_window_are_undecided() -> None:
    base = Step([put(A, NO_TIMER), put(B, 9000), put(C, NO_TIMER), put(D, NO_TIMER)], rebase=True)
    steps = [base, Step([put(C, 9000), (D, None)]), Step([put(C, NO_TIMER)])]
    clocks = at_watermarks(10, 10, 10)
    state, (leftovers,) = view_of(steps, clocks)
    assert state.keys(leftovers.ids) == [A]
    assert (leftovers.kind, leftovers.certainty, leftovers.reason, leftovers.needs) == (
        *(KEPT, UNDECIDED, BEFORE, Needs.BEFORE_WINDOW),
    )
    assert leftovers.fired.tolist() == [0]
    # The clock makes no difference.
    by_both = conditions(steps, clocks, EVENT)
    assert by_both == conditions(steps, clocks, PROCESSING) == {A: (KEPT, 1, True)}


# --- simulated queries -----------------------------------------------------------------------


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
    leftovers = leftovers_of(query.on_disk(base), query.clocks[purged:], (kind,), premises)
    by_key = dict(zip(attributes(leftovers, "key"), leftovers, strict=True))
    assert len(by_key) == len(leftovers)

    # An ignored timer is known to have fired since the first known clock.
    expected = truth | since
    for item in leftovers:
        assert item.certainty is not PROVEN or (item.kind, item.version) == expected[item.key][:2]
    for key, account in since.items():
        item = by_key[key]
        assert (item.kind, item.version) == account[:2]
        assert item.kind is not IGNORED or item.fired == len(account.fired)
        is_proven = item.kind is IGNORED or item.version in query.quiet
        assert not is_proven or item.certainty is PROVEN


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
    state, leftovers = view_of(query.deltas, query.clocks, (kind,), PANDAS if pandas else SCALA)
    firings = {
        key: (int(item.fired[i]), state.versions[item.first_step[i]])
        for key, item, i in rows_of(state, leftovers)
        if item.first_step is not None
    }
    assert firings == {
        key: (len(item.fired), item.fired[0])
        for key, item in query.account().items()
        if item.kind is not IGNORED
    }


@pytest.mark.parametrize(
    ("call", "pandas", "records", "kinds"),
    [
        (Call(), False, [put(A, -1)], [KEPT]),
        (Call(), True, [], [IGNORED]),
        (Call(update=True), False, [put(A, -1, 2)], [KEPT]),
        (Call(update=True), True, [put(A, -1, 2)], [KEPT]),
        (Call(arm=5), False, [put(A, 14)], [REARMED]),
        (Call(arm=5), True, [put(A, 14)], [REARMED]),
        (Call(update=True, arm=5), False, [put(A, 14, 2)], [REARMED]),
        (Call(update=True, arm=5), True, [put(A, 14, 2)], [REARMED]),
        (Call(remove=True), False, [(A, None)], []),
        (Call(remove=True), True, [(A, None)], []),
        (Call(remove=True, arm=5), False, [(A, cases.group_state(None, 14))], [REARMED]),
        (Call(remove=True, arm=5), True, [(A, cases.group_state(None, 14))], [REARMED]),
    ],
)
def test_simulated_query_matches_sparks_timeout_table(
    call: Call, pandas: bool, records: list[Record], kinds: list[LeftoverClass]
) -> None:
    """The records and the class of leftover are those of Spark's table of timeouts."""
    query = Query(pandas, EVENT)
    query.run(Trigger(0, 1, {"a": Call(update=True, arm=1)}, {}, []))
    query.run(Trigger(9, 1, None, {"a": call}, ["a"]))
    assert query.deltas[1].records == records
    assert attributes(query.account().values(), "kind") == kinds


TWO_BATCHES = [clock(1, 10), clock(2, 20, data=False)]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), []),
        ((EVENT,), []),
        ((PROCESSING,), [(IGNORED, PROCESSING)]),
        ((EVENT, PROCESSING), [(IGNORED, PROCESSING)]),
    ],
)
def test_timers_are_judged_by_each_possible_clock(
    kinds: tuple[TimeoutKind, ...], expected: list[tuple[LeftoverClass, TimeoutKind]]
) -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 1500)]), Step([])], track)
    clocks = clocks_by_step(state, TWO_BATCHES)
    leftovers = timeout_leftovers(state, clocks, TimerView(kinds))
    # The timer has expired only by processing time.
    assert attributes(leftovers, "kind", "timeout_kind") == expected


def test_timer_of_unknown_kind_is_judged_by_both_clocks() -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    state, _, _ = replay([Step([put(cases.user("a"), 15)]), Step([])], track)
    leftovers = timeout_leftovers(state, clocks_by_step(state, TWO_BATCHES), TimerView())
    assert {EVENT, PROCESSING} <= set(attributes(leftovers, "timeout_kind"))
