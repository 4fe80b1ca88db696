"""Merged facts of all tasks, and the clock of each store's timers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.field_sizes import FieldBytes, RowBytes
from inspector.facts.ages import OldestEventTime
from inspector.facts.checks import ReadProblem
from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.fact import Fact, Observed
from inspector.facts.join_rows import MatchedRows
from inspector.facts.leftover_facts import Leftover, LeftoverAge, LeftoverCount
from inspector.facts.registry import fact_batches
from inspector.facts.size_distributions import FieldSizes
from inspector.facts.timer_runs import CallsByClock, TimerCalls
from inspector.facts.timers import EVENT, PROCESSING, ClockEvidence
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts, collect, leftover_order
from inspector.model import Certainty, Problem, StoreId, StoreName, TimeoutKind
from inspector.operators.rule import RowPart
from tests.attributes import attributes
from tests.cases import Seen, facts_of_type, observed_in, problems_in, small_checkpoint

NAME, OTHER = StoreName(0, "default"), StoreName(1, "default")


def observe(fact: Fact, partition: int = 0, version: int = 4, operator: int = 0) -> Seen:
    return Observed(StoreId(operator, "default", partition), version, fact)


def collected(*observed: Seen) -> Facts:
    """Collect facts that each come in their own batch."""
    return collect(chain(*(fact_batches([item]) for item in observed)))


def version(partition: int, at: int, rows: int, operator: int = 0) -> Seen:
    return observe(VersionFacts(stores=1, rows=rows), partition, at, operator)


@given(
    st.permutations(
        [version(0, 3, 5), version(1, 3, 7), version(1, 4, 9), version(0, 3, 100, operator=2)]
    )
)
def test_version_facts_are_summed_over_partitions_of_a_store(result: list[Seen]) -> None:
    facts = collected(*result)
    assert facts.by_store() == {
        NAME: {3: VersionFacts(stores=2, rows=12), 4: VersionFacts(stores=1, rows=9)},
        StoreName(2, "default"): {3: VersionFacts(stores=1, rows=100)},
    }
    assert facts.by_store(4).keys() == {NAME}
    assert facts.versions[StoreId(0, "default", 1), 4].rows == 9


def test_collected_problem_equals_the_original() -> None:
    store_id = StoreId(0, "default", 1)
    expected = [Problem("truncated", "got 1", "/c/2.delta", 7, store_id, 2)]
    assert collected(ReadProblem.observe(expected[0], store_id, 4)).problems == expected


FIRST, SECOND = StoreId(0, "default", 0), StoreId(0, "default", 1)
ORDERED = [
    Problem("truncated", "m", None, None, FIRST),
    Problem("truncated", "m", "a", 2, FIRST),
    Problem("truncated", "m", "a", 10, FIRST),
    Problem("truncated", "m", "a", 0, SECOND),
]


@given(st.permutations(ORDERED))
def test_problems_are_ordered_by_partition_path_and_offset(problems: list[Problem]) -> None:
    facts = collected(*(ReadProblem.observe(item, item.store or FIRST, 4) for item in problems))
    assert facts.problems == ORDERED


@given(
    st.permutations(
        [
            observe(MatchedRows(1, 10), 1),
            observe(MatchedRows(2, 20), 2),
            observe(MatchedRows(7), operator=1),
        ]
    )
)
def test_matched_rows_add_over_partitions(result: list[Seen]) -> None:
    assert collected(*result).sums(MatchedRows) == {
        NAME: MatchedRows(3, 30),
        OTHER: MatchedRows(7),
    }


FIRST_FIELDS = (FieldBytes(0, 8, 1, 7), FieldBytes(1))
SECOND_FIELDS = (FieldBytes(0, 16, 2, 7), FieldBytes(2))


@given(
    st.permutations(
        [
            observe(FieldSizes(RowPart.VALUE, RowBytes(1, 8, FIRST_FIELDS, 3)), 0),
            observe(FieldSizes(RowPart.VALUE, RowBytes(2, 16, SECOND_FIELDS, 3)), 1),
            observe(FieldSizes(RowPart.KEY, RowBytes(5))),
        ]
    )
)
def test_field_sizes_add_by_row_part(result: list[Seen]) -> None:
    assert collected(*result).fields == {
        (NAME, RowPart.KEY): RowBytes(5),
        (NAME, RowPart.VALUE): RowBytes(3, 24, (FieldBytes(0, 24, 3, 14), FieldBytes(3)), 6),
    }


@given(
    st.permutations(
        [
            observe(OldestEventTime(9), 0, 3),
            observe(OldestEventTime(5), 1, 3),
            observe(OldestEventTime(7), 2, 4),
        ]
    )
)
def test_oldest_event_time_of_all_partitions_by_version(result: list[Seen]) -> None:
    assert collected(*result).retention == {NAME: {3: 5, 4: 7}}


# --- timers ----------------------------------------------------------------------------------


def evidence_against(partition: int, kind: TimeoutKind, operator: int = 0) -> Seen:
    """Return evidence of a partition against a clock in the batch of version 4."""
    return observe(ClockEvidence(frozenset({kind})), partition, 4, operator)


def leftovers(
    partition: int, kind: TimeoutKind | None, key: bytes = b"k", operator: int = 0
) -> list[Seen]:
    common: dict[str, Any] = {
        "leftover_class": LeftoverClass.IGNORED_TIMEOUT,
        "certainty": Certainty.PROVEN,
        "timeout_kind": kind,
        "clock_version": None if kind is None else 4,
        "expired_version": 3,
    }
    sizes: dict[str, Any] = {"key_bytes": 8, "value_bytes": 8}
    return [
        observe(LeftoverCount(**common, **sizes, rows=1, fired=1), partition, operator=operator),
        observe(LeftoverAge(**common, rows=1), partition, operator=operator),
        observe(Leftover(**common, **sizes, key=key, puts=1), partition, operator=operator),
    ]


UNSURE = [*leftovers(1, EVENT), *leftovers(1, PROCESSING)]


def clocks(result: Iterable[Observed[Any]]) -> set[TimeoutKind]:
    return set(attributes(result, "fact.timeout_kind"))


@pytest.mark.parametrize(
    ("evidence", "kept", "undecided"),
    [
        ([evidence_against(0, PROCESSING)], {EVENT}, set()),
        ([evidence_against(0, EVENT)], {PROCESSING}, set()),
        ([evidence_against(0, EVENT), evidence_against(1, EVENT)], {PROCESSING}, set()),
        ([], set(), {EVENT, PROCESSING}),
        ([evidence_against(0, EVENT), evidence_against(1, PROCESSING)], set(), {EVENT, PROCESSING}),
        ([evidence_against(0, EVENT, operator=1)], set(), {EVENT, PROCESSING}),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_clock_without_contradiction_is_kept(
    evidence: list[Seen], kept: set[TimeoutKind], undecided: set[TimeoutKind], order: int
) -> None:
    facts = collected(*[*UNSURE, *evidence][::order])
    assert clocks(facts.leftovers) == clocks(facts.totals) == clocks(facts.leftover_ages) == kept
    assert clocks(facts.undecided) == clocks(facts.undecided_totals) == undecided


def test_contradictory_clocks_without_leftovers_leave_nothing_undecided() -> None:
    facts = collected(evidence_against(0, EVENT), evidence_against(1, PROCESSING))
    assert (facts.undecided, facts.leftovers, facts.totals) == ([], [], [])
    assert facts.resolution.clock_of(NAME, 4).kind is None


def test_leftovers_of_a_watermark_need_no_clock() -> None:
    facts = collected(*leftovers(0, None))
    assert (len(facts.leftovers), len(facts.totals), facts.undecided) == (1, 1, [])


def test_clock_is_decided_per_store() -> None:
    second = [*leftovers(0, EVENT, operator=1), evidence_against(0, PROCESSING, operator=1)]
    facts = collected(*UNSURE, *second)
    assert set(attributes(facts.undecided, "store.name")) == {NAME}
    assert set(attributes(facts.leftovers, "store.name")) == {OTHER}


def test_user_clock_is_set_if_only_one_clock_was_tracked() -> None:
    by_event = observe(CallsByClock(EVENT, TimerCalls(armed_by_data=1)))
    by_processing = observe(CallsByClock(PROCESSING, TimerCalls(armed_by_data=1)))
    facts = collected(by_event, evidence_against(0, EVENT))
    assert facts.resolution.user_clock == EVENT
    assert facts.calls[NAME, EVENT].armed_by_data == 1
    assert (
        collected(by_event, by_processing, evidence_against(0, EVENT)).resolution.user_clock is None
    )


def test_timer_calls_of_partitions_add_to_habits() -> None:
    calls = CallsByClock(EVENT, TimerCalls(armed_by_data=10, timeout_kept=3))
    assert collected(observe(calls, 0)).resolution.habits == frozenset()
    expected = {(NAME, EVENT, Needs.KEPT_BY_HABIT.value)}
    assert collected(observe(calls, 0), observe(calls, 1)).resolution.habits >= expected


def test_leftovers_are_ordered_by_age_size_partition_and_key() -> None:
    def leftover(since: int, size: int, partition: int, key: bytes) -> Observed[Leftover]:
        result = leftovers(partition, None)[2]
        return replace(
            result, fact=replace(result.fact, expired_version=since, key_bytes=size, key=key)
        )

    expected = [
        leftover(2, 8, 1, b"b"),
        leftover(3, 16, 1, b"a"),
        leftover(3, 8, 0, b"b"),
        leftover(3, 8, 1, b"a"),
        leftover(3, 8, 1, b"b"),
    ]
    order = list(map(leftover_order, expected))
    assert list(map(leftover_order, collected(*expected[::-1]).leftovers)) == order
    rotated = collected(*expected[2:], *expected[:2])
    assert list(map(leftover_order, rotated.leftovers)) == order


def test_collect_keeps_all_facts_of_a_checkpoint(tmp_path: Path) -> None:
    result = observed_in(small_checkpoint(tmp_path))
    facts = collect(fact_batches(result))
    assert len(facts.versions) == len(facts_of_type(result, VersionFacts))
    assert len(facts.undecided) == len(facts_of_type(result, Leftover)) > 0
    assert len(facts.problems) == len(facts_of_type(result, ReadProblem))
    assert problems_in(result) == []
    assert sum(attributes(facts.totals, "fact.rows")) == len(facts.leftovers)
