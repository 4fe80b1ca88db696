"""Leftovers decided over all partitions, in short histories and in simulated queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover, LeftoverAge
from inspector.facts.timed_out import AMONG_DATA, BY_BOTH, HELD_BACK
from inspector.facts.timer_runs import TimerCalls
from inspector.merge import resolution as module
from inspector.merge.collect import Facts
from inspector.merge.resolution import (
    KNOWN_ANSWERS,
    KNOWN_CALLS,
    NEIGHBOURS,
    UNKNOWN_CLOCK,
    ClockOf,
    Resolution,
    habits_of,
)
from inspector.model import Certainty, StoreName, TimeoutKind
from inspector.operators.inferences import INFERENCES
from tests import cases
from tests.attributes import attributes
from tests.cases import Step, put
from tests.queries import (
    EVENT,
    NO_TIMER,
    PROCESSING,
    STORE,
    Query,
    Truth,
    Workload,
    clock,
    facts_of,
    workloads,
)

NAME = StoreName(0, "default")
NOT_EVENT, NOT_PROCESSING = frozenset({EVENT}), frozenset({PROCESSING})
CONTRADICTORY = NOT_EVENT | NOT_PROCESSING
KEPT_BY, REARMED_BY, BEFORE_BY = (
    Needs.KEPT_BY_HABIT.value,
    Needs.REARMED_BY_HABIT.value,
    Needs.BEFORE_WINDOW.value,
)
KEPT, IGNORED, REARMED = (
    LeftoverClass.KEPT_WITHOUT_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT,
    LeftoverClass.REARMED,
)
PROVEN, INFERRED, UNDECIDED = Certainty.PROVEN, Certainty.INFERRED, Certainty.UNDECIDED


def resolution(**against: frozenset[TimeoutKind]) -> Resolution:
    """Return a resolution with evidence by version, such as ``v3=NOT_EVENT``."""
    return Resolution({NAME: {int(name[1:]): kinds for name, kinds in against.items()}})


def fact(kind: TimeoutKind | None = EVENT, version: int | None = 5, **options: Any) -> Leftover:
    """Return a leftover by a clock, decided by the batch of a version."""
    expired = version or 5
    common: dict[str, Any] = {
        "leftover_class": KEPT,
        "certainty": PROVEN,
        "expired_version": expired,
        "first_expired_version": expired,
        "fired": 1,
    }
    row = {"key": b"k", "key_bytes": 1, "value_bytes": 0, "puts": 1}
    return Leftover(**(common | row | options), timeout_kind=kind, clock_version=version)


def precision(monkeypatch: pytest.MonkeyPatch, name: str, right: int) -> None:
    """Set how often of a hundred times an inference was right."""
    counted = replace(INFERENCES[name], right=right, of=100)
    monkeypatch.setattr(module, "INFERENCES", {**INFERENCES, name: counted})


# --- the clock of a batch --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (resolution(), ClockOf(None, False)),
        (resolution(v5=NOT_EVENT), ClockOf(PROCESSING, True)),
        (resolution(v5=NOT_PROCESSING), ClockOf(EVENT, True)),
        # If both clocks are contradicted, neighbours do not count.
        (resolution(v5=CONTRADICTORY, v4=NOT_EVENT), ClockOf(None, False)),
        (resolution(v4=NOT_EVENT), ClockOf(PROCESSING, False)),
        (resolution(v9=NOT_PROCESSING), ClockOf(EVENT, False)),
        (resolution(v4=NOT_EVENT, v9=NOT_EVENT), ClockOf(PROCESSING, False)),
        (resolution(v4=NOT_EVENT, v9=NOT_PROCESSING), ClockOf(None, False)),
        (resolution(v4=NOT_EVENT, v9=CONTRADICTORY), ClockOf(None, False)),
        # The nearest batches on both sides decide.
        (resolution(v1=NOT_PROCESSING, v4=NOT_EVENT, v6=NOT_EVENT), ClockOf(PROCESSING, False)),
        (replace(resolution(v5=NOT_EVENT), user_clock=EVENT), ClockOf(EVENT, True)),
    ],
)
def test_clock_of_a_batch_by_its_evidence_or_by_neighbours(
    result: Resolution, expected: ClockOf
) -> None:
    assert result.clock_of(NAME, 5) == expected
    assert result.clock_of(StoreName(1, "default"), 5) == ClockOf(
        result.user_clock, result.user_clock is not None
    )


def test_usual_clock_is_that_of_all_batches_with_evidence() -> None:
    assert resolution(v1=NOT_EVENT, v7=NOT_EVENT).usual_clock(NAME) == PROCESSING
    assert resolution(v1=NOT_EVENT, v7=NOT_PROCESSING).usual_clock(NAME) is None
    assert resolution().usual_clock(NAME) is None
    assert replace(resolution(v1=NOT_EVENT), user_clock=EVENT).usual_clock(NAME) == EVENT


# --- facts by the clock ----------------------------------------------------------------------


def test_fact_of_the_shown_clock_is_unchanged() -> None:
    result = resolution(v5=NOT_PROCESSING)
    assert result.resolve(NAME, 9, fact()) == fact()
    assert result.resolve(NAME, 9, fact(PROCESSING)) is None
    assert result.resolve(NAME, 9, fact(PROCESSING, by_either_clock=True)) is None
    assert resolution(v5=NOT_EVENT).resolve(NAME, 9, fact(PROCESSING)) == fact(PROCESSING)


def test_fact_without_timers_needs_no_clock() -> None:
    row = fact(None, None)
    assert resolution(v5=CONTRADICTORY).resolve(NAME, 9, row) == row


@pytest.mark.parametrize(("right", "certainty"), [(95, INFERRED), (94, UNDECIDED)])
def test_clock_of_neighbours_makes_facts_inferred(
    right: int, certainty: Certainty, monkeypatch: pytest.MonkeyPatch
) -> None:
    precision(monkeypatch, "clock-of-neighbours", right)
    near = resolution(v4=NOT_PROCESSING)
    assert near.resolve(NAME, 9, fact()) == replace(fact(), certainty=certainty, reason=NEIGHBOURS)
    assert near.resolve(NAME, 9, fact(PROCESSING)) is None
    # By both clocks it is proven.
    assert near.resolve(NAME, 9, fact(by_either_clock=True)) == fact(by_either_clock=True)
    undecided = fact(certainty=UNDECIDED, reason=AMONG_DATA)
    assert near.resolve(NAME, 9, undecided) == undecided


@pytest.mark.parametrize(
    "unknown",
    [resolution(), resolution(v5=CONTRADICTORY), resolution(v4=NOT_EVENT, v6=NOT_PROCESSING)],
)
def test_unknown_clock_makes_facts_undecided(unknown: Resolution) -> None:
    open_: dict[str, Any] = {"certainty": UNDECIDED, "reason": UNKNOWN_CLOCK}
    assert unknown.resolve(NAME, 9, fact(EVENT)) == fact(EVENT, **open_)
    assert unknown.resolve(NAME, 9, fact(PROCESSING)) == fact(PROCESSING, **open_)
    result = fact(reason=HELD_BACK, certainty=UNDECIDED)
    assert unknown.resolve(NAME, 9, result) == result


@pytest.mark.parametrize(
    ("result", "options", "certainty"),
    [
        (resolution(v4=NOT_EVENT), {}, UNDECIDED),
        (resolution(v4=NOT_EVENT, v9=NOT_EVENT), {}, None),
        (resolution(v4=NOT_EVENT, v5=NOT_EVENT), {}, None),
        (replace(resolution(), user_clock=PROCESSING), {}, None),
        # A timer that only waits would be reported in every quiet batch.
        (resolution(v4=NOT_EVENT), {"leftover_class": IGNORED, "reason": ""}, None),
    ],
)
def test_undecided_fact_survives_a_possible_clock_switch(
    result: Resolution, options: dict[str, Any], certainty: Certainty | None
) -> None:
    among = fact(EVENT, **{"certainty": UNDECIDED, "reason": AMONG_DATA, **options})
    resolved = result.resolve(NAME, 5, among)
    assert getattr(resolved, "certainty", None) is certainty


def test_fact_of_either_clock_is_proven_once() -> None:
    row = fact(by_either_clock=True, fired=3, first_expired_version=2)
    # The number of timeouts depends on the clock.
    once: dict[str, Any] = {"fired": 1, "first_expired_version": 5, "reason": BY_BOTH}
    assert resolution().resolve(NAME, 9, row) == replace(row, **once)
    assert resolution().resolve(NAME, 9, replace(row, timeout_kind=PROCESSING)) is None
    undecided = fact(by_either_clock=True, certainty=UNDECIDED, reason=AMONG_DATA)
    assert resolution().resolve(NAME, 9, undecided) == undecided


def test_later_clock_evidence_does_not_prove_earlier_timeouts() -> None:
    row = fact(by_either_clock=True, fired=3, first_expired_version=2)
    later = resolution(v7=NOT_PROCESSING)  # a restart may have changed it between 2 and 5
    last_alone = replace(row, fired=1, first_expired_version=5)
    assert later.resolve(NAME, 9, row) == last_alone
    # A restart may have changed it between 1 and 2, if no batch from 5 on shows the same clock.
    assert resolution(v1=NOT_PROCESSING).resolve(NAME, 9, row) == last_alone
    assert resolution(v1=NOT_PROCESSING, v7=NOT_PROCESSING).resolve(NAME, 9, row) == row


def test_fact_by_both_clocks_is_kept_if_the_clock_is_unknown() -> None:
    pair = fact(None, leftover_class=IGNORED, by_either_clock=True, reason=BY_BOTH)
    of_event = fact(EVENT, leftover_class=IGNORED, by_either_clock=True)
    assert resolution().resolve(NAME, 9, pair) == pair
    assert resolution().resolve(NAME, 9, of_event) is None
    assert resolution(v5=NOT_PROCESSING).resolve(NAME, 9, pair) is None
    assert resolution(v5=NOT_PROCESSING).resolve(NAME, 9, of_event) == of_event
    assert resolution(v4=NOT_PROCESSING).resolve(NAME, 9, of_event) == of_event


def test_unless_clock_fact_depends_on_the_last_clock() -> None:
    row = fact(certainty=UNDECIDED, reason=AMONG_DATA, needs=Needs.UNLESS_PROCESSING)
    result = resolution(v5=NOT_PROCESSING)
    assert result.resolve(NAME, 9, row) == row
    assert resolution(v5=NOT_PROCESSING, v9=NOT_EVENT).resolve(NAME, 9, row) is None
    assert resolution().resolve(NAME, 9, row) is None
    unless = replace(row, needs=Needs.UNLESS_EVENT)
    assert result.resolve(NAME, 9, unless) is None
    assert resolution(v5=NOT_PROCESSING, v9=NOT_EVENT).resolve(NAME, 9, unless) == unless


def test_user_clock_overrides_evidence() -> None:
    result = replace(resolution(v5=NOT_EVENT, v3=NOT_EVENT), user_clock=EVENT)
    row = fact(fired=4, first_expired_version=2)
    assert result.resolve(NAME, 9, row) == row
    assert result.resolve(NAME, 9, fact(PROCESSING)) is None


# --- a clock that changed in the middle ------------------------------------------------------


def test_run_of_timeouts_starts_after_batches_of_the_other_clock() -> None:
    changed = resolution(v3=NOT_EVENT, v5=NOT_PROCESSING)
    row = fact(first_expired_version=2, fired=4)
    assert changed.resolve(NAME, 9, row) == replace(row, first_expired_version=5, fired=1)
    longer = resolution(v3=NOT_EVENT, v4=NOT_PROCESSING, v5=NOT_PROCESSING)
    assert longer.resolve(NAME, 9, row) == replace(row, first_expired_version=4, fired=2)
    # In a run with gaps, only the last batch is certain.
    gaps = replace(row, fired=3)
    assert longer.resolve(NAME, 9, gaps) == replace(gaps, first_expired_version=5, fired=1)
    # A batch without evidence does not start a run, nor does a batch after it.
    neither = resolution(v3=NOT_EVENT, v4=CONTRADICTORY, v5=NOT_PROCESSING)
    assert neither.resolve(NAME, 9, row) == replace(row, first_expired_version=5, fired=1)
    behind = resolution(v3=NOT_EVENT, v9=NOT_PROCESSING)
    set_anew = replace(row, clock_version=9)
    assert behind.resolve(NAME, 9, set_anew) == replace(set_anew, first_expired_version=5, fired=1)
    # After a batch with the other clock, the start of the run is the first batch with evidence.
    before = resolution(v1=NOT_EVENT, v3=NOT_PROCESSING, v5=NOT_PROCESSING)
    assert before.resolve(NAME, 9, row) == replace(row, first_expired_version=3, fired=3)
    result = resolution(v1=NOT_EVENT, v2=NOT_PROCESSING, v5=NOT_PROCESSING)
    assert result.resolve(NAME, 9, row) == row


def test_run_of_timeouts_starts_at_the_first_batch_with_its_clock() -> None:
    row = fact(first_expired_version=2, fired=4)
    # No batch shows the clock before version 3, so a restart may have changed it.
    result = resolution(v3=NOT_PROCESSING, v5=NOT_PROCESSING)
    assert result.resolve(NAME, 9, row) == replace(row, first_expired_version=3, fired=3)
    only_last = resolution(v3=CONTRADICTORY, v5=NOT_PROCESSING)
    assert only_last.resolve(NAME, 9, row) == replace(row, first_expired_version=5, fired=1)
    earlier = resolution(v1=NOT_PROCESSING, v5=NOT_PROCESSING)
    assert earlier.resolve(NAME, 9, row) == row
    # A run with gaps that starts at the first evidence is complete.
    gaps = replace(row, fired=3)
    assert resolution(v2=NOT_PROCESSING, v5=NOT_PROCESSING).resolve(NAME, 9, gaps) == gaps


def test_ignored_timer_fires_since_its_clock_is_shown_again() -> None:
    changed = resolution(v3=NOT_EVENT, v6=NOT_PROCESSING, v8=NOT_PROCESSING)
    row = replace(
        fact(leftover_class=IGNORED, expired_version=2, first_expired_version=2, fired=7),
        clock_version=8,
    )
    assert changed.resolve(NAME, 9, row) == replace(
        row, expired_version=6, first_expired_version=6, fired=3, threshold_ms=None
    )
    age = LeftoverAge(IGNORED, PROVEN, 2, EVENT, clock_version=8, rows=1)
    assert changed.resolve(NAME, 9, age) == replace(age, expired_version=6)


# --- habits ----------------------------------------------------------------------------------

ARMS = TimerCalls(armed_by_data=KNOWN_CALLS, timeout_kept=KNOWN_ANSWERS)
CHANGES = TimerCalls(changed_by_data=KNOWN_CALLS, timeout_rearmed=KNOWN_ANSWERS)
REMOVES = TimerCalls(timeout_removed=KNOWN_CALLS)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (TimerCalls(), set()),
        (ARMS, {KEPT_BY, BEFORE_BY}),
        (replace(ARMS, unarmed_by_data=1), set()),
        (replace(ARMS, armed_by_data=KNOWN_CALLS - 1), set()),
        (replace(ARMS, timeout_kept=KNOWN_ANSWERS - 1), set()),
        (replace(ARMS, timeout_removed=1), set()),
        (
            replace(ARMS, timeout_kept=19, timeout_removed=1),
            {KEPT_BY, BEFORE_BY, REARMED.value},
        ),
        (CHANGES, {REARMED_BY}),
        (replace(CHANGES, untouched_by_data=1), set()),
        (replace(CHANGES, changed_by_data=KNOWN_CALLS - 1), set()),
        (replace(CHANGES, timeout_rearmed=KNOWN_ANSWERS - 1), set()),
        (replace(CHANGES, timeout_kept=1), set()),
        (REMOVES, {KEPT.value, REARMED.value}),
        (replace(REMOVES, timeout_removed=KNOWN_CALLS - 1), set()),
        (replace(REMOVES, timeout_kept=1), {REARMED.value}),
        (replace(REMOVES, timeout_rearmed=1), {KEPT.value}),
    ],
)
def test_habits_need_enough_calls_without_exception(calls: TimerCalls, expected: set[Any]) -> None:
    assert habits_of({(NAME, EVENT): calls}) == set(product([NAME], [EVENT], expected))


def test_habits_make_undecided_facts_inferred_or_drop_them(monkeypatch: pytest.MonkeyPatch) -> None:
    precision(monkeypatch, KEPT_BY, 95)
    needs = fact(certainty=UNDECIDED, reason=AMONG_DATA, needs=Needs.KEPT_BY_HABIT)
    result = resolution(v5=NOT_PROCESSING)

    def with_habit(habit: Any, kind: TimeoutKind = EVENT) -> Resolution:
        return replace(result, habits=frozenset({(NAME, kind, habit)}))

    assert result.resolve(NAME, 9, needs) == needs
    assert with_habit(KEPT_BY).resolve(NAME, 9, needs) == replace(needs, certainty=INFERRED)
    assert with_habit(KEPT_BY, PROCESSING).resolve(NAME, 9, needs) == needs
    assert with_habit(REARMED_BY).resolve(NAME, 9, needs) == needs
    # A function without such timeouts made the record for data.
    assert with_habit(KEPT.value).resolve(NAME, 9, needs) is None
    assert with_habit(REARMED.value).resolve(NAME, 9, needs) == needs
    assert with_habit(KEPT.value).resolve(NAME, 9, replace(needs, reason=HELD_BACK)) == replace(
        needs, reason=HELD_BACK
    )
    precision(monkeypatch, KEPT_BY, 94)
    assert with_habit(KEPT_BY).resolve(NAME, 9, needs) == needs
    # Habits do not change proven facts.
    assert with_habit(KEPT.value).resolve(NAME, 9, fact()) == fact()


def test_before_window_flag_follows_needs() -> None:
    assert fact(needs=Needs.BEFORE_WINDOW).before_window
    assert not fact().before_window
    assert not fact(needs=Needs.KEPT_BY_HABIT).before_window


# --- as text ---------------------------------------------------------------------------------

names = st.builds(StoreName, st.integers(0, 9), st.text(max_size=4))
kinds = st.sampled_from(TimeoutKind)
anything = st.builds(
    Resolution,
    st.dictionaries(
        names, st.dictionaries(st.integers(1, 99), st.frozensets(kinds), max_size=3), max_size=3
    ),
    st.none() | kinds,
    st.frozensets(st.tuples(names, kinds, st.text(max_size=4)), max_size=3),
)


@given(anything)
def test_resolution_round_trips_through_json(found: Resolution) -> None:
    text = found.to_json()
    again = Resolution.from_json(text)
    assert again == found
    assert again.to_json() == text


# --- partitions together ---------------------------------------------------------------------

A, B = cases.user("a"), cases.user("b")


def leftovers_of(facts: Facts) -> dict[bytes, tuple[Any, ...]]:
    """Return class, certainty, clock and reason of each leftover."""
    leftovers = attributes([*facts.leftovers, *facts.undecided], "fact")
    names = ("leftover_class", "certainty", "timeout_kind", "reason")
    result = dict(zip(attributes(leftovers, "key"), attributes(leftovers, *names), strict=True))
    assert len(result) == len(leftovers)
    return result


def test_clock_evidence_of_one_partition_decides_another() -> None:
    leftover = [Step([put(A, 1500)]), Step([])]
    clocks = [clock(1, 10), clock(2, 20)]
    open_ = {A: (IGNORED, UNDECIDED, PROCESSING, UNKNOWN_CLOCK)}
    assert leftovers_of(facts_of([leftover], clocks)) == open_
    # A timer after the watermark and the time of the batch is possible with both clocks.
    neither = [Step([]), Step([put(B, 2500)])]
    assert leftovers_of(facts_of([leftover, neither], clocks)) == open_
    # A timer set before the watermark shows processing time.
    before_watermark = [Step([]), Step([put(B, 2500)])]
    result = facts_of([leftover, before_watermark], [clock(1, 10), clock(2, 2600)])
    assert leftovers_of(result) == {A: (IGNORED, PROVEN, PROCESSING, None)}
    # A timer set at or before the time of the batch shows event time.
    before_time = [Step([]), Step([put(B, 1900)])]
    assert leftovers_of(facts_of([leftover, before_time], clocks)) == {}


def test_clock_of_another_batch_is_no_proof() -> None:
    shows = Step([put(A, 1500), put(B, 9)])  # before the watermark, after no time
    clocks = [clock(1, 10, now=5), clock(2, 20)]
    result = leftovers_of(facts_of([[shows, Step([])]], clocks))[A]
    assert (result[0], result[2:]) == (IGNORED, (PROCESSING, NEIGHBOURS))
    assert result[1] != PROVEN


@pytest.mark.parametrize(
    ("kind", "expected"), [(EVENT, {}), (PROCESSING, {A: (IGNORED, PROVEN, PROCESSING, None)})]
)
def test_given_clock_leaves_nothing_undecided(kind: Any, expected: dict[bytes, Any]) -> None:
    store = replace(STORE, timeout_kinds=(kind,))
    steps = [Step([put(A, 1500)]), Step([])]
    assert leftovers_of(facts_of([steps], [clock(1, 10), clock(2, 20)], store)) == expected


def test_provable_counts_leftovers_by_nameable_clock() -> None:
    clocks = [clock(1, 10), clock(2, 20)]
    leftover = [Step([put(A, 1500)]), Step([])]
    assert facts_of([leftover, leftover], clocks).provable(NAME) == {PROCESSING: 2}
    # The user cannot name a clock that a batch contradicts.
    not_processing = [Step([]), Step([put(B, 1900)])]
    assert facts_of([leftover, not_processing], clocks).provable(NAME) == {}
    by_event = replace(STORE, timeout_kinds=(EVENT,))
    assert facts_of([leftover], clocks, by_event).provable(NAME) == {}
    by_processing = replace(STORE, timeout_kinds=(PROCESSING,))
    assert facts_of([leftover], clocks, by_processing).provable(NAME) == {}


@given(workloads(), st.sampled_from([0, 0, 1, 2]))
def test_naming_a_clock_proves_the_predicted_rows(workload: Workload, base: int) -> None:
    queries = workload.partitions
    for _ in islice(workload.run(), base, None):
        partitions = files_since(queries, base)
        clocks, store = queries[0].clocks, workload.store
        facts = facts_of(partitions, clocks, store, base)
        provable = facts.provable(NAME)
        for kind in store.timeout_kinds:
            if facts.undecided_totals and facts.resolution.may_name(NAME, kind):
                named = facts_of(partitions, clocks, replace(store, timeout_kinds=(kind,)), base)
                assert provable.get(kind, 0) == _proven_to_stay(named) - _proven_to_stay(facts)
            else:
                assert kind not in provable


def files_since(queries: Sequence[Query], base: int) -> list[list[Step]]:
    """Return the files of each query's store since version ``base``, which has a snapshot."""
    return [query.on_disk(base)[max(base, 1) - 1 :] for query in queries]


def _proven_to_stay(facts: Facts) -> int:
    rows = Counter[Any]()
    for total in attributes(facts.totals, "fact"):
        rows[total.certainty, total.leftover_class] += total.rows
    return rows[PROVEN, IGNORED] + rows[PROVEN, KEPT]


def test_processing_time_batch_shows_the_clock() -> None:
    steps, clocks = [Step([put(A, 1500)]), Step([])], [clock(1, 10), clock(2, 10, data=False)]
    idle = replace(STORE, processing_versions=(2,))
    assert leftovers_of(facts_of([steps], clocks))[A][:2] == (IGNORED, UNDECIDED)
    assert leftovers_of(facts_of([steps], clocks, idle)) == {A: (IGNORED, PROVEN, PROCESSING, None)}


def test_fired_timer_shows_processing_time_without_watermark() -> None:
    """A source without data keeps the watermark at 0."""
    steps = [Step([put(A, 1500), put(B, 1600)]), Step([]), Step([])]
    clocks = [clock(1, 0), clock(2, 0), clock(3, 0)]
    assert leftovers_of(facts_of([steps], clocks))[A] == (
        IGNORED,
        UNDECIDED,
        PROCESSING,
        UNKNOWN_CLOCK,
    )
    fired = [*steps[:2], Step([put(B, NO_TIMER)])]
    idle = [*clocks[:2], clock(3, 0, data=False)]
    assert leftovers_of(facts_of([fired], idle))[A] == (IGNORED, PROVEN, PROCESSING, None)


def test_switch_of_the_clock_is_detected() -> None:
    """Timers follow processing time first, then event time."""
    steps = [
        Step([put(A, 1500), put(B, 1100)]),
        Step([put(B, NO_TIMER)]),  # a timeout that the watermark cannot cause
        Step([put(B, 1600, 2)]),  # a timer before the time of the batch
        Step([]),
    ]
    clocks = [clock(1, 1050), clock(2, 1060, data=False), clock(3, 1400), clock(4, 1550)]
    facts = facts_of([steps], clocks)
    assert facts.resolution.clock_of(NAME, 1) == ClockOf(PROCESSING, False)
    assert facts.resolution.clock_of(NAME, 2) == ClockOf(PROCESSING, True)
    assert facts.resolution.clock_of(NAME, 3) == ClockOf(EVENT, True)
    assert facts.resolution.clock_of(NAME, 4) == ClockOf(EVENT, False)
    # By processing time, A has fired since version 2.
    leftovers = dict(attributes(facts.leftovers, "fact.key", "fact"))
    assert leftovers[A].leftover_class is IGNORED
    assert (leftovers[A].timeout_kind, leftovers[A].expired_version) == (EVENT, 4)


# --- simulated queries -----------------------------------------------------------------------


@given(workloads(), st.sampled_from([0, 0, 0, 1, 2]), st.sampled_from([0, 0, 0, 1, 3]))
def test_leftovers_match_simulated_queries_at_every_version(
    workload: Workload, base: int, purged: int
) -> None:
    """At every version, proven leftovers are right, and all others are reported or undecided.

    The oldest file may be a snapshot of a version (``base``), and the log entries of the first
    batches may be gone (``purged``).
    """
    queries = workload.partitions
    for _ in islice(workload.run(), max(base, purged), None):
        partitions = files_since(queries, base)
        facts = facts_of(partitions, queries[0].clocks[purged:], workload.store, base)
        for partition, query in enumerate(queries):
            truths = query.account()
            mine = _in_partition(facts.leftovers, partition)
            keys = attributes(mine, "key")
            assert len(keys) == len(set(keys))
            for row in mine:
                if row.certainty == PROVEN:
                    _assert_right(row, truths.get(row.key), _hides_a_switch(facts, query, row))
            open_ = set(attributes(_in_partition(facts.undecided, partition), "key"))
            for key, truth in query.account(base, 1).items():
                since = purged if truth.kind is LeftoverClass.REARMED else 0
                ignored = truth.kind is LeftoverClass.IGNORED_TIMEOUT
                inside = ignored or truth.version > max(base, since)
                if inside and not _excused(facts, query, truth):
                    assert key in keys or key in open_, truth


def _in_partition(result: list[Observed[Leftover]], partition: int) -> list[Leftover]:
    return [item.fact for item in result if item.store.partition_id == partition]


def _excused(facts: Facts, query: Query, truth: Truth) -> bool:
    """Return whether a restart with the other clock hides a leftover.

    A batch without evidence has the clock of its neighbours. A timer that data may have rearmed
    is judged only by the clock of its batch.
    """
    last = len(query.kinds)
    versions = {
        LeftoverClass.IGNORED_TIMEOUT: (last,),
        LeftoverClass.KEPT_WITHOUT_TIMEOUT: (truth.version,),
        LeftoverClass.REARMED: (truth.version, last),
    }[truth.kind]
    for version in versions:
        result, kind = facts.resolution.clock_of(NAME, version), query.kinds[version - 1]
        if result.kind not in (None, kind):
            assert not result.shown
            return True
    return len({query.kinds[version - 1] for version in versions}) > 1


def _hides_a_switch(facts: Facts, query: Query, row: Leftover) -> bool:
    """Return whether a run of timeouts spans a switch of the clock without earlier evidence."""
    kind, last, actual = row.timeout_kind, row.clock_version, facts.resolution
    assert last is not None
    assert row.first_expired_version is not None
    result = {actual.clock_of(NAME, at).kind for at in actual.against.get(NAME, {}) if at <= last}
    run = query.kinds[row.first_expired_version - 1 : last]
    return result == {kind} and any(of_batch != kind for of_batch in run)


def _assert_right(row: Leftover, truth: Truth | None, hidden: bool) -> None:
    assert truth is not None, row
    assert row.leftover_class == truth.kind, (row, truth)
    if truth.kind is not LeftoverClass.IGNORED_TIMEOUT:
        assert row.expired_version == truth.version, (row, truth)
    elif not hidden:
        assert row.expired_version in truth.fired, (row, truth)
    if not hidden:
        assert row.first_expired_version in truth.fired, (row, truth)
        assert 1 <= (row.fired or 0) <= len(truth.fired), (row, truth)
