"""Expired keys that are still there: by hand, and against queries that keep their own account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.measure.leftovers import (
    Certainty,
    Clocks,
    LeftoverClass,
    Leftovers,
    RecordOrder,
    TimeoutKind,
    TimerEvidence,
    find_leftovers,
    overdue_evidence,
    timer_evidence,
)
from inspector.model import NO_TIMEOUT, BatchClock, BatchId
from inspector.operators.rule import ExpiryField
from inspector.state.replay import NO_CLOCK
from tests import cases
from tests.cases import Step, replay
from tests.encode import Record

EVENT, PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME
KEPT, IGNORED, REARMED, PAST = (
    LeftoverClass.KEPT_WITHOUT_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT,
    LeftoverClass.REARMED,
    LeftoverClass.PAST_WATERMARK,
)
PROVEN, INFERRED = Certainty.PROVEN, Certainty.INFERRED
SURE_AND_LIKELY = (PROVEN, INFERRED)


class Found(NamedTuple):
    """One leftover key, by name and version."""

    key: bytes
    kind: LeftoverClass
    certainty: Certainty
    version: int
    clock_ms: int
    threshold_ms: int
    fired: int


def clock(
    version: int, watermark: int | None = 0, now: int | None = None, data: bool | None = True
) -> BatchClock:
    """The clocks of the batch that made a version; a second a batch if not told."""
    at = 1000 * version if now is None else now
    return BatchClock(BatchId(version - 1), at, watermark, True, data)


def clocks_of(clocks: Sequence[BatchClock]) -> dict[int, BatchClock]:
    return {one.batch_id: one for one in clocks}


def judge(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    kinds: Sequence[TimeoutKind] = (EVENT,),
    expiry: ExpiryField = cases.TIMER,
) -> set[Found]:
    """Replay a history, and find its leftovers."""
    key = cases.EVENT_TIME if expiry is cases.KEY_TIME else cases.USER
    value = cases.EXPIRES_AT if expiry is cases.VALUE_TIME else cases.GROUP_STATE
    state, changes, _ = replay(steps, cases.tracked(expiry, key, value))
    by_batch = clocks_of(clocks)
    evidence = TimerEvidence()
    if expiry is cases.TIMER:
        evidence = evidence_of(steps, clocks)
    found = find_leftovers(
        state, expiry, Clocks.of(state.versions, by_batch), timers=(evidence, kinds)
    )
    assert changes[-1].version == state.versions[-1]
    return {
        Found(
            key,
            one.kind,
            one.certainty,
            state.versions[one.expired_step[i]],
            int(one.clock_ms[i]),
            int(one.threshold_ms[i]),
            int(one.fired[i]),
        )
        for one in found
        for i, key in enumerate(state.keys(one.ids))
    }


def evidence_of(steps: Sequence[Step], clocks: Sequence[BatchClock]) -> TimerEvidence:
    """The evidence of a history of timers, gathered version by version as an audit does."""
    by_batch = clocks_of(clocks)
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    total = TimerEvidence()
    for upto in range(1, len(steps) + 1):
        state, changes, _ = replay(steps[:upto], track)
        if not changes[-1].rebased:
            total += timer_evidence(changes[-1], state, by_batch.get(upto - 1))
    return total


# --- watermarks ------------------------------------------------------------------------------


def key_time(us: int | None) -> Record:
    return cases.micros(us), b""


def past_watermark(*rows: Record, watermarks: Sequence[int | None]) -> list[tuple[bytes, int]]:
    """Leftover keys by version, of rows that came with the first of some versions."""
    steps = [Step(rows), *(Step([]) for _ in watermarks[1:])]
    clocks = [clock(version, mark) for version, mark in enumerate(watermarks, 1)]
    found = judge(steps, clocks, (), cases.KEY_TIME)
    assert all(one[1:3] == (PAST, PROVEN) for one in found)
    return sorted((one.key, one.version) for one in found)


@pytest.mark.parametrize(
    ("us", "covered"), [(4_999_999, True), (5_000_000, True), (5_000_001, False), (None, False)]
)
def test_a_row_is_covered_up_to_the_watermark_to_the_microsecond(
    us: int | None, covered: bool
) -> None:
    row = key_time(us)
    expected = [(row[0], 2)] if covered else []
    assert past_watermark(row, watermarks=(4999, 5000)) == expected


def test_a_row_is_a_leftover_since_the_first_batch_that_covered_it() -> None:
    early, late = key_time(1_000_000), key_time(3_000_000)
    found = past_watermark(early, late, watermarks=(0, 1000, 2000, 3000, 9000))
    assert found == sorted([(early[0], 2), (late[0], 4)])


def test_a_row_that_a_batch_put_behind_its_own_watermark_is_a_leftover_of_that_batch() -> None:
    row = key_time(1_000_000)
    assert past_watermark(row, watermarks=(2000, 2000)) == [(row[0], 1)]


@pytest.mark.parametrize("us", [0, -1, -5_000_000])
def test_a_watermark_of_zero_is_none_yet_and_covers_nothing(us: int) -> None:
    row = key_time(us)
    assert past_watermark(row, watermarks=(0, 0)) == []
    assert past_watermark(row, watermarks=(0, 0, 1)) == [(row[0], 3)]


def test_what_batches_without_a_clock_covered_is_told_of_the_first_that_has_one() -> None:
    row = key_time(1_000_000)
    assert past_watermark(row, watermarks=(None, None, 5000, 6000)) == [(row[0], 3)]


def test_the_watermark_of_a_batch_whose_entry_is_gone_is_at_least_the_one_before() -> None:
    row, later = key_time(1_000_000), key_time(6_000_000)
    assert past_watermark(row, later, watermarks=(0, 5000, None)) == [(row[0], 2)]


def test_without_any_clock_or_version_there_are_no_leftovers() -> None:
    assert past_watermark(key_time(0), watermarks=(None, None)) == []
    assert judge([Step([])], [], (), cases.KEY_TIME) == set()
    state = cases.StateMap(cases.tracked(cases.KEY_TIME, cases.EVENT_TIME, cases.EXPIRES_AT))
    assert list(find_leftovers(state, cases.KEY_TIME, Clocks.of([], {}))) == []


def test_field_and_watermark_are_told_in_milliseconds_rounded_so_that_one_covers_the_other() -> None:
    (found,) = judge([Step([key_time(1_000_001)])], [clock(1, 1001)], (), cases.KEY_TIME)
    assert (found.clock_ms, found.threshold_ms, found.fired) == (1001, 1001, 1)


def test_the_certainty_of_the_watermark_is_that_of_what_it_covers() -> None:
    state, _, _ = replay(
        [Step([key_time(0)])], cases.tracked(cases.KEY_TIME, cases.EVENT_TIME, cases.EXPIRES_AT)
    )
    found = find_leftovers(
        state, cases.KEY_TIME, Clocks.of([1], clocks_of([clock(1, 5)])), certainty=INFERRED
    )
    assert [one.certainty for one in found] == [INFERRED]


time_rows = st.lists(
    st.tuples(st.integers(0, 3), st.none() | st.integers(-2, 12).map(lambda half: half * 500)),
    max_size=5,
)


@settings(max_examples=200, deadline=None)
@given(
    history=st.lists(time_rows, min_size=1, max_size=6),
    marks=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    known_from=st.integers(0, 3),
    base=st.integers(0, 3),
)
def test_leftovers_of_a_value_are_those_that_a_known_batch_covered_since_its_last_put(
    history: list[list[tuple[int, int | None]]], marks: list[int], known_from: int, base: int
) -> None:
    """Rows with a time in the value: ``None`` removes them, a later put moves them."""
    steps = [
        Step([(cases.user(str(n)), None if us is None else cases.micros(us)) for n, us in records])
        for records in history
    ]
    watermarks = [sum(marks[: at + 1]) for at in range(len(history))]
    objects, versions = cases.ObjectMap(), []
    for step in steps:
        objects.take(step)
        versions.append(objects.now)
    base = min(base, len(steps) - 1)
    if base:
        loaded = [(key.data, value.data) for key, value in versions[base].items()]
        steps[base] = Step(loaded, rebase=True)
    clocks = [clock(at + 1, mark) for at, mark in enumerate(watermarks) if at >= known_from]
    found = judge(steps, clocks, (), cases.VALUE_TIME)

    expected = set()
    for key, value in versions[-1].items():
        us = int.from_bytes(value.data[8:16], "little", signed=True)
        for at in range(max(known_from, base), len(versions)):
            there = any(one is value for one in versions[at].values())
            if there and watermarks[at] > 0 and us <= watermarks[at] * 1000:
                expected.add((key.data, at + 1))
                break
    assert {(one.key, one.version) for one in found} == expected


# --- timers, case by case --------------------------------------------------------------------

A, B, C, D = (cases.user(name) for name in "abcd")
NO_TIMER = NO_TIMEOUT


def put(key: bytes, timer: int, visits: int = 1) -> Record:
    return key, cases.group_state(visits, timer)


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
    both = [(one.key, one.threshold_ms) for one in judge(steps, clocks, (EVENT, PROCESSING))]
    assert sorted(both) == [(A, 2000), (B, 40), (B, 2000)]
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


# --- which clock timers follow ---------------------------------------------------------------


def possible(steps: Sequence[Step], *clocks: BatchClock) -> tuple[TimeoutKind, ...]:
    return evidence_of(steps, clocks).possible((EVENT, PROCESSING))


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


def test_without_the_clocks_of_a_batch_it_gives_no_evidence() -> None:
    for missing in (None, clock(1, None), BatchClock(BatchId(0), None, 50)):
        state, (change,), _ = replay(
            [Step([put(A, 10)])], cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
        )
        assert timer_evidence(change, state, missing) == TimerEvidence()


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


def test_clocks_stand_by_step_and_say_what_is_not_known() -> None:
    known = clocks_of([clock(2, 7, data=False), clock(3, 8, data=None)])
    found = Clocks.of([1, 2, 3], known)
    assert found.watermark_ms.tolist() == [NO_CLOCK, 7, 8]
    assert found.threshold_ms(PROCESSING).tolist() == [NO_CLOCK, 2000, 3000]
    assert found.threshold_ms(EVENT).tolist() == found.watermark_ms.tolist()
    assert found.no_new_data.tolist() == [False, True, False]


# --- queries that keep their own account -----------------------------------------------------


@dataclass(frozen=True)
class Call:
    """What the function does when it is called; ``arm`` is a time after the earliest allowed."""

    update: bool = False
    remove: bool = False
    arm: int | None = None


@dataclass(frozen=True)
class Trigger:
    """One batch of a query.

    Attributes:
        watermark, time: by how much the clocks advance.
        data: what the function does with the keys that have new data; None for a batch without.
        timeouts: what it does when the timer of a key fires.
        order: the order in which timers fire.
    """

    watermark: int
    time: int
    data: dict[str, Call] | None
    timeouts: dict[str, Call]
    order: list[str]


@dataclass
class Query:
    """A group-state query by Spark's rules, which remembers what became of each timer.

    Attributes:
        pandas: by the rules of ``applyInPandasWithState``.
        kind: the clock of its timers.
        state: key -> state and timer.
        answered: keys whose last put answered a timeout -> version of that put.
        fired: versions in which the timer of a key fired since the key's last put.
        quiet: versions of batches without new data.
        deltas, clocks: what it left on disk.
    """

    pandas: bool
    kind: TimeoutKind
    state: dict[str, tuple[int, int]] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)
    put_version: dict[str, int] = field(default_factory=dict)
    fired: dict[str, list[int]] = field(default_factory=dict)
    quiet: set[int] = field(default_factory=set)
    deltas: list[Step] = field(default_factory=list)
    clocks: list[BatchClock] = field(default_factory=list)
    thresholds: list[int] = field(default_factory=list)
    visits: int = 0

    def run(self, trigger: Trigger) -> None:
        """Run a batch: new data in order of keys, then the timers that have run out."""
        before = self.clocks[-1] if self.clocks else clock(0, 0, now=100)
        watermark = (before.watermark_ms or 0) + trigger.watermark
        now = (before.timestamp_ms or 0) + trigger.time
        version = len(self.deltas) + 1
        self.clocks.append(clock(version, watermark, now, trigger.data is not None))
        self.thresholds.append(watermark if self.kind is EVENT else now)
        if trigger.data is None:
            self.quiet.add(version)
        records: list[Record] = []
        for name in sorted(trigger.data or {}):
            self._call(name, (trigger.data or {})[name], version, records, timed_out=False)
        for name in trigger.order:
            timer = self.state.get(name, (0, NO_TIMER))[1]
            if timer != NO_TIMER and timer < self.thresholds[-1]:
                self.fired.setdefault(name, []).append(version)
                self._call(name, trigger.timeouts[name], version, records, timed_out=True)
        self.deltas.append(Step(records))

    def _call(
        self, name: str, call: Call, version: int, records: list[Record], *, timed_out: bool
    ) -> None:
        """``InputProcessor.onIteratorCompletion``."""
        known = name in self.state
        visits, stored = self.state.get(name, (0, NO_TIMER))
        earliest = self.thresholds[-1] + (self.kind is PROCESSING)
        timer = NO_TIMER if call.arm is None else earliest + call.arm
        if call.remove and timer == NO_TIMER:
            if known:
                records.append((cases.user(name), None))
            for account in (self.state, self.answered, self.fired, self.put_version):
                account.pop(name, None)
            return
        if not (call.update or call.remove or timer != (NO_TIMER if self.pandas else stored)):
            return
        if call.update:
            self.visits += 1
            visits = self.visits
        self.state[name] = visits, timer
        written = None if call.remove else visits
        records.append((cases.user(name), cases.group_state(written, timer)))
        self.put_version[name] = version
        self.fired.pop(name, None)
        self.answered.pop(name, None)
        if timed_out:
            self.answered[name] = version

    def account(self, base: int, known_from: int) -> dict[bytes, tuple[LeftoverClass, int, int]]:
        """Its leftovers by its own account: class, version, how often the timer fired.

        Args:
            base: what was put up to this version is not known to have answered a timer.
            known_from: first version whose clocks are known.
        """
        found = {}
        for name, (_, timer) in self.state.items():
            if timer != NO_TIMER and timer < self.thresholds[-1]:
                fired = [v for v in self.fired[name] if v >= max(base, known_from)]
                found[cases.user(name)] = (IGNORED, fired[0], len(fired))
            elif self.answered.get(name, 0) >= max(base + 1, known_from):
                kind = KEPT if timer == NO_TIMER else REARMED
                found[cases.user(name)] = (kind, self.answered[name], 1)
        return found

    def on_disk(self, base: int) -> list[Step]:
        """Its deltas; with a base, a snapshot in place of those up to that version."""
        if not base:
            return self.deltas
        objects = cases.ObjectMap()
        for step in self.deltas[:base]:
            objects.take(step)
        rows = [(key.data, value.data) for key, value in objects.now.items()]
        return [*(Step([]) for _ in range(base - 1)), Step(rows, rebase=True), *self.deltas[base:]]


NAMES = ("a", "b", "c", "d", "e")
calls = st.builds(
    Call,
    update=st.booleans(),
    remove=st.sampled_from([False, False, False, True]),
    arm=st.none() | st.integers(0, 4),
).map(lambda call: Call(call.update and not call.remove, call.remove, call.arm))
triggers = st.builds(
    Trigger,
    watermark=st.integers(0, 3),
    time=st.integers(1, 3),
    data=st.none() | st.dictionaries(st.sampled_from(NAMES), calls),
    timeouts=st.fixed_dictionaries(dict.fromkeys(NAMES, calls)),
    order=st.permutations(NAMES),
)


@settings(max_examples=400, deadline=None)
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


@settings(max_examples=300, deadline=None)
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
    evidence = evidence_of(query.deltas, query.clocks)
    if not pandas:
        track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
        state, _, _ = replay(query.deltas, track)
        evidence += overdue_evidence(state, Clocks.of(state.versions, clocks_of(query.clocks)))
    assert (evidence.not_event if kind is EVENT else evidence.not_processing) == 0
    assert kind in evidence.possible((EVENT, PROCESSING))


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
