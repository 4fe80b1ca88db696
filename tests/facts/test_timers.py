"""Origin of the records of a version, and evidence against a clock of its timers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given

from inspector.facts.timers import (
    NO_RECORD,
    Calls,
    TimerPremises,
    TimerRecords,
    due_before,
    is_timer,
)
from inspector.model import BatchClock, BatchId, TimeoutKind
from inspector.state.replay import NO_CLOCK
from tests import cases
from tests.cases import Step, put, replay
from tests.encode import Record
from tests.facts.histories import puts
from tests.queries import (
    BELOW,
    EVENT,
    LAGS,
    NO_TIMER,
    PANDAS,
    PROCESSING,
    Workload,
    clock,
    follow,
    workloads,
)

A, B, C, D, E = map(cases.user, "abcde")
BOTH = frozenset((EVENT, PROCESSING))
NEITHER: frozenset[TimeoutKind] = frozenset()
TRACK = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)


def last_calls(
    steps: Sequence[Step], *clocks: BatchClock, premises: TimerPremises = PANDAS
) -> Calls:
    """Return the calls of the last version of a history."""
    return follow(steps, clocks, premises).calls[len(steps)]


def contradicted(
    steps: Sequence[Step], *clocks: BatchClock, premises: TimerPremises = PANDAS
) -> set[TimeoutKind]:
    return set(last_calls(steps, *clocks, premises=premises).against)


# --- records of a version --------------------------------------------------------------------


def test_timer_records_have_timers_before_and_after() -> None:
    first = [put(A, 50), put(B, NO_TIMER), put(C, 70)]
    second = [put(B, 80), put(A, NO_TIMER, 2), (C, None), put(D, 90)]
    state, changes, _ = replay([Step(first), Step(second)], TRACK)
    records = TimerRecords.of(changes[1], state)
    columns = (records.positions, records.put, records.before, records.after, records.fresh)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert dict(zip(state.keys(records.ids), rows, strict=True)) == {
        B: (0, True, NO_TIMER, 80, True),
        A: (1, True, 50, NO_TIMER, False),
        C: (2, False, 70, NO_CLOCK, False),
        D: (3, True, NO_CLOCK, 90, True),
    }
    assert set(state.keys(records.ids[records.timed])) == {A, C}
    same = dict(zip(state.keys(records.ids), records.same_state.tolist(), strict=True))
    assert (same[B], same[A]) == (True, False)


def test_timers_below_a_clock_or_with_unknown_clock_are_due() -> None:
    steps = [
        Step([put(A, 10), put(B, 20), put(C, NO_TIMER)]),
        Step(puts(99, A, B, C)),
    ]
    state, changes, _ = replay(steps, TRACK)
    records = TimerRecords.of(changes[1], state)

    def due(result: BatchClock) -> set[bytes]:
        ids = records.ids[due_before(records, result, EVENT)]
        return set(state.keys(ids))

    assert due(clock(2, 20)) == {A}
    assert due(clock(2, 21)) == {A, B}
    assert due(clock(2, None)) == {A, B}
    assert is_timer(np.array([5, NO_TIMER, NO_CLOCK])).tolist() == [True, False, False]


# --- records made by timeouts ----------------------------------------------------------------

FOUR = Step(puts(10, A, B, C, D))


def test_all_records_of_a_batch_without_data_are_timeouts() -> None:
    steps = [FOUR, Step([put(A, NO_TIMER), put(B, NO_TIMER)])]
    assert last_calls(steps, clock(1), clock(2, 20, data=False)).sure_from == 0
    assert last_calls(steps, clock(1), clock(2, 20, data=True)).sure_from == NO_RECORD
    assert last_calls(steps, clock(1), clock(2, 20, data=None)).sure_from == NO_RECORD


def test_batch_without_data_may_get_rows_from_an_operator_below() -> None:
    quiet = clock(2, 20, data=False)
    ascending = [FOUR, Step([put(A, NO_TIMER), put(B, NO_TIMER)])]
    assert last_calls(ascending, clock(1), quiet, premises=BELOW).sure_from == NO_RECORD
    descending = [FOUR, Step([put(A, NO_TIMER), put(D, NO_TIMER), put(B, NO_TIMER)])]
    assert last_calls(descending, clock(1), quiet, premises=BELOW).sure_from == 2


@pytest.mark.parametrize(
    "by_data",
    [
        put(E, 99),  # no row was there
        put(E, 99, 2),
    ],
)
def test_record_made_by_data_shows_that_the_batch_had_data(
    by_data: Record,
) -> None:
    quiet = clock(2, 20, now=1000, data=False)
    alone = [FOUR, Step([put(A, NO_TIMER), by_data])]
    assert last_calls(alone, clock(1), quiet).sure_from == NO_RECORD
    # What is left is the order of the keys.
    descends = [FOUR, Step([put(A, NO_TIMER), by_data, put(C, NO_TIMER)])]
    assert last_calls(descends, clock(1), quiet).sure_from == 2


def test_timer_not_due_by_any_clock_was_changed_by_data() -> None:
    first = Step([put(A, 10), put(B, 2000)])
    steps = [first, Step([put(A, NO_TIMER), put(B, NO_TIMER)])]
    assert last_calls(steps, clock(1), clock(2, 20, now=2000, data=False)).sure_from == NO_RECORD
    # One of the clocks is enough.
    assert last_calls(steps, clock(1), clock(2, 20, now=2001, data=False)).sure_from == 0
    assert last_calls(steps, clock(1), clock(2, 2001, now=20, data=False)).sure_from == 0
    # An unknown clock is enough too.
    assert last_calls(steps, clock(1), clock(2, None, now=20, data=False)).sure_from == 0


def test_records_after_the_first_key_descent_are_timeouts() -> None:
    steps = [FOUR, Step([put(A, 99), put(D, 99), put(B, 99), put(C, 99)])]
    assert last_calls(steps, clock(1), clock(2, 20)).sure_from == 2


def test_changes_between_snapshots_have_no_call_order() -> None:
    descends = [put(B, NO_TIMER), put(A, NO_TIMER), put(E, 99)]
    clocks = clock(1), clock(2, 20)
    written = last_calls([FOUR, Step(descends)], *clocks)
    assert set(written.last_data.values()) == {2}
    assert last_calls([FOUR, Step(descends[:2])], *clocks).sure_from == 1
    of_tables = last_calls([FOUR, Step(descends, ordered=False)], *clocks)
    assert of_tables.sure_from == NO_RECORD
    assert set(of_tables.last_data.values()) == {-1}
    # A record of data still shows that data came, and none that none did.
    quiet = clock(1), clock(2, 20, data=False)
    assert last_calls([FOUR, Step(descends, ordered=False)], *quiet).sure_from == NO_RECORD
    assert last_calls([FOUR, Step(descends[:2], ordered=False)], *quiet).sure_from == 0


@pytest.mark.parametrize(("data", "unseen"), [(True, True), (None, True), (False, False)])
def test_put_of_the_same_value_between_snapshots_is_unseen(data: bool | None, unseen: bool) -> None:
    def may_rewrite(second: Step) -> bool:
        return last_calls([FOUR, second], clock(1), clock(2, 20, data=data)).may_rewrite_unseen

    assert may_rewrite(Step([put(A, NO_TIMER)], ordered=False)) is unseen
    assert may_rewrite(Step([], ordered=False)) is unseen
    assert not may_rewrite(Step([put(A, NO_TIMER)]))
    assert may_rewrite(Step([put(E, 99)], ordered=False))  # a record made by data


def test_key_descent_before_a_data_record_is_not_a_timeout() -> None:
    steps = [FOUR, Step([put(D, 99), put(B, 99), put(E, 99), put(A, 99)])]
    assert last_calls(steps, clock(1), clock(2, 20)).sure_from == NO_RECORD
    # A data record that is itself below the previous key proves nothing either.
    assert (
        last_calls(
            [FOUR, Step([put(E, 99), put(cases.user("aa"), 99)])], clock(1), clock(2, 20)
        ).sure_from
        == NO_RECORD
    )


def test_removals_count_for_the_order_like_puts() -> None:
    steps = [FOUR, Step([(D, None), (B, None), (C, None)])]
    assert last_calls(steps, clock(1), clock(2, 20)).sure_from == 1


def test_batch_without_log_entry_has_only_the_key_descent() -> None:
    ascends = [FOUR, Step([put(A, 99), put(B, 99)])]
    descends = [FOUR, Step([put(B, 99), put(A, 99)])]
    assert last_calls(ascends, clock(1)).sure_from == NO_RECORD
    result = last_calls(descends, clock(1))
    assert (result.sure_from, result.against) == (1, NEITHER)
    # Any timer may have expired, but a key without a timer was called for data.
    assert result.last_data == {EVENT: -1, PROCESSING: -1}
    fresh = last_calls([FOUR, Step([put(A, 99), put(E, 99)])], clock(1))
    assert fresh.last_data == {EVENT: 1, PROCESSING: 1}


def test_snapshot_has_no_calls() -> None:
    rebased = Step([put(D, 10), put(A, NO_TIMER)], rebase=True)
    assert last_calls([FOUR, rebased], clock(1), clock(2, 20, data=False)) == Calls()
    assert (Calls().sure_from, Calls().last_data, Calls().against) == (NO_RECORD, {}, NEITHER)


# --- records made by data --------------------------------------------------------------------


def test_last_data_is_the_last_record_made_for_data() -> None:
    first = Step([put(A, 10), put(B, 1500), put(C, 10), put(D, 5000)])
    second = puts(9000, A, B, C)
    result = last_calls([first, Step(second)], clock(1), clock(2, 20, now=2000))
    # By event time, the timer of B had not expired.
    assert result.last_data == {EVENT: 1, PROCESSING: -1}
    result = last_calls([first, Step([*second, put(D, 9000)])], clock(1), clock(2, 20, now=2000))
    assert result.last_data == {EVENT: 3, PROCESSING: 3}
    result = last_calls([first, Step([*second, put(E, 9000)])], clock(1), clock(2, 20, now=2000))
    assert result.last_data == {EVENT: 3, PROCESSING: 3}


# --- evidence against a clock ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("timer", "expected"),
    [
        (49, {EVENT}),  # setTimeoutTimestamp refuses what is before the watermark
        (50, set()),
        (NO_TIMER, set()),
    ],
)
def test_timer_set_before_the_watermark_contradicts_event_time(
    timer: int, expected: set[TimeoutKind]
) -> None:
    assert contradicted([Step([put(A, timer)])], clock(1, 50, now=10)) == expected
    # An operator whose watermark lags takes what the query's would refuse.
    assert contradicted([Step([put(A, timer)])], clock(1, 50, now=10), premises=LAGS) == set()


@pytest.mark.parametrize(
    ("timer", "expected"), [(999, {PROCESSING}), (1000, {PROCESSING}), (1001, set())]
)
@pytest.mark.parametrize("premises", [PANDAS, LAGS])
def test_timer_set_before_batch_time_contradicts_processing_time(
    timer: int, expected: set[TimeoutKind], premises: TimerPremises
) -> None:
    result = contradicted([Step([put(A, timer)])], clock(1, 50, now=1000), premises=premises)
    assert result == expected


@pytest.mark.parametrize("answer", [[put(A, NO_TIMER)], [(A, None)], [put(A, 9000)]])
@pytest.mark.parametrize("premises", [PANDAS, LAGS])
def test_fired_timer_contradicts_a_clock_that_had_not_reached_it(
    answer: list[Record], premises: TimerPremises
) -> None:
    steps = [Step([put(A, 2500)]), Step(answer)]
    quiet = clock(2, 100, now=3000, data=False)
    assert contradicted(steps, clock(1, 50, now=1000), quiet, premises=premises) == {EVENT}
    quiet = clock(2, 2500, now=3000, data=False)
    assert contradicted(steps, clock(1, 50, now=1000), quiet, premises=premises) == {EVENT}
    quiet = clock(2, 2501, now=2500, data=False)
    assert contradicted(steps, clock(1, 50, now=1000), quiet, premises=premises) == {PROCESSING}
    busy = clock(2, 100, now=3000, data=None)
    assert contradicted(steps, clock(1, 50, now=1000), busy, premises=premises) == set()
    # Neither clock had reached the timer, so data made the record.
    early = clock(2, 100, now=2500, data=False)
    assert contradicted(steps, clock(1, 50, now=1000), early, premises=premises) == set()


def test_removals_after_the_key_descent_contradict_a_clock() -> None:
    first = Step([put(A, 10), put(B, 1500), put(D, 10)])
    steps = [first, Step([(A, None), (D, None), (B, None)])]
    assert contradicted(steps, clock(1), clock(2, 20, now=2000)) == {EVENT}
    steps = [first, Step([(A, None), (B, None), (D, None)])]
    assert contradicted(steps, clock(1), clock(2, 20, now=2000)) == set()


def test_evidence_against_both_clocks() -> None:
    assert contradicted([Step([put(A, 10)])], clock(1, 50, now=1000)) == BOTH


def test_unknown_clocks_are_not_contradicted() -> None:
    steps = [Step([put(A, 10)])]
    assert contradicted(steps, clock(1, None, now=1000)) == {PROCESSING}
    assert contradicted(steps, BatchClock(BatchId(0), None, 50)) == {EVENT}
    assert contradicted(steps) == set()


def test_evidence_is_separate_for_each_batch() -> None:
    steps = [Step([put(A, 49)]), Step([put(B, 70)])]
    calls = follow(steps, [clock(1, 50, now=10), clock(2, 60, now=20)]).calls
    assert calls[1].against == {EVENT}
    assert calls[2].against == NEITHER


@given(workloads())
def test_calls_match_a_simulated_query(workload: Workload) -> None:
    deque(workload.run())
    premises = TimerPremises(not workload.below, not workload.lags)
    for query in workload.partitions:
        calls = follow(query.deltas, query.clocks, premises).calls
        for version, result in calls.items():
            kind, is_by_timeout = query.kinds[version - 1], query.by_timeout[version - 1]
            assert kind not in result.against
            assert all(is_by_timeout[result.sure_from :])
            assert not any(is_by_timeout[: result.last_data[kind] + 1])
            if version in query.quiet and not workload.below:
                assert result.sure_from == 0
