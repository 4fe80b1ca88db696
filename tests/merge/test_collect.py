"""Facts of all tasks, merged; and one clock for each store's timers, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

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
from tests.cases import Seen, facts_of_type, observed_in, problems_in, small_checkpoint

NAME, OTHER = StoreName(0, "default"), StoreName(1, "default")


def seen(fact: Fact, partition: int = 0, version: int = 4, operator: int = 0) -> Seen:
    return Observed(StoreId(operator, "default", partition), version, fact)


def collected(*arguments: Seen) -> Facts:
    """Each in a batch of its own."""
    return collect(batch for item in arguments for batch in fact_batches([item]))


def version(partition: int, at: int, rows: int, operator: int = 0) -> Seen:
    return seen(VersionFacts(stores=1, rows=rows), partition, at, operator)


def test_version_facts_are_summed_over_partitions_of_a_store() -> None:
    result = [version(0, 3, 5), version(1, 3, 7), version(1, 4, 9), version(0, 3, 100, operator=2)]
    for order in permutations(result):
        facts = collected(*order)
        assert list(facts.by_store()) == [NAME, StoreName(2, "default")]
        assert facts.versions[StoreId(0, "default", 1), 4].rows == 9
        merged = facts.by_store()
        assert {v: item.rows for v, item in merged[NAME].items()} == {3: 12, 4: 9}
        assert merged[NAME][3].stores == 2
        assert list(facts.by_store(4)) == [NAME]


def test_collected_problem_equals_the_original() -> None:
    store_id = StoreId(0, "default", 1)
    expected = [Problem("truncated", "got 1", "/c/2.delta", 7, store_id, 2)]
    assert collected(ReadProblem.observe(expected[0], store_id, 4)).problems == expected


def test_problems_are_ordered_by_partition_path_and_offset() -> None:
    places = [(0, None, None), (0, "a", 2), (0, "a", 10), (1, "a", 0)]
    bad = [seen(ReadProblem("truncated", "m", path, offset), part) for part, path, offset in places]
    for order in permutations(bad):
        problems = collected(*order).problems
        assert [(p.store and p.store.partition_id, p.path, p.offset) for p in problems] == places


def test_matched_rows_add_over_partitions() -> None:
    result = [seen(MatchedRows(n, 10 * n), n) for n in range(3)]
    result.append(seen(MatchedRows(7), operator=1))
    for order in permutations(result):
        assert collected(*order).sums(MatchedRows) == {
            NAME: MatchedRows(3, 30),
            OTHER: MatchedRows(7),
        }


def test_field_sizes_add_by_row_part() -> None:
    parts = [RowBytes(n, 8 * n, (FieldBytes(0, 8 * n, n, 7), FieldBytes(n)), 3) for n in (1, 2, 4)]
    result = [seen(FieldSizes(RowPart.VALUE, part), n) for n, part in enumerate(parts)]
    result.append(seen(FieldSizes(RowPart.KEY, RowBytes(5))))
    for order in permutations(result):
        assert collected(*order).fields == {
            (NAME, RowPart.KEY): RowBytes(5),
            (NAME, RowPart.VALUE): parts[0] + parts[1] + parts[2],
        }


def test_oldest_event_time_of_all_partitions_by_version() -> None:
    result = [seen(OldestEventTime(ms), n, v) for n, (v, ms) in enumerate([(3, 9), (3, 5), (4, 7)])]
    for order in permutations(result):
        assert collected(*order).retention == {NAME: {3: 5, 4: 7}}


# --- timers ----------------------------------------------------------------------------------


def against(partition: int, kind: TimeoutKind, operator: int = 0) -> Seen:
    """A partition shows that the timers did not follow a clock in the batch of a version."""
    return seen(ClockEvidence(frozenset({kind})), partition, 4, operator)


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
    facts = (
        LeftoverCount(**common, **sizes, rows=1, fired=1),
        LeftoverAge(**common, rows=1),
        Leftover(**common, **sizes, key=key, puts=1),
    )
    return [seen(fact, partition, operator=operator) for fact in facts]


UNSURE = [*leftovers(1, EVENT), *leftovers(1, PROCESSING)]


def clocks(result: Iterable[Observed[Any]]) -> set[TimeoutKind]:
    return {item.fact.timeout_kind for item in result}


@pytest.mark.parametrize(
    ("display", "remaining", "undecided"),
    [
        ([against(0, PROCESSING)], {EVENT}, set()),
        ([against(0, EVENT)], {PROCESSING}, set()),
        ([against(0, EVENT), against(1, EVENT)], {PROCESSING}, set()),
        ([], set(), {EVENT, PROCESSING}),
        ([against(0, EVENT), against(1, PROCESSING)], set(), {EVENT, PROCESSING}),
        ([against(0, EVENT, operator=1)], set(), {EVENT, PROCESSING}),
    ],
)
def test_clock_without_contradiction_is_kept(
    display: list[Seen], remaining: set[TimeoutKind], undecided: set[TimeoutKind]
) -> None:
    result = [*UNSURE, *display]
    for order in (result, result[::-1]):
        facts = collected(*order)
        decided = (facts.leftovers, facts.totals, facts.leftover_ages)
        assert [clocks(element) for element in decided] == [remaining] * 3
        open_ = (facts.undecided, facts.undecided_totals)
        assert [clocks(item) for item in open_] == [undecided] * 2


def test_contradictory_clocks_without_leftovers_leave_nothing_undecided() -> None:
    facts = collected(against(0, EVENT), against(1, PROCESSING))
    assert (facts.undecided, facts.leftovers, facts.totals) == ([], [], [])
    assert facts.resolution.clock_of(NAME, 4).kind is None


def test_leftovers_of_a_watermark_need_no_clock() -> None:
    facts = collected(*leftovers(0, None))
    assert (len(facts.leftovers), len(facts.totals), facts.undecided) == (1, 1, [])


def test_clock_is_decided_per_store() -> None:
    second = [*leftovers(0, EVENT, operator=1), against(0, PROCESSING, operator=1)]
    facts = collected(*UNSURE, *second)
    assert {item.store.name for item in facts.undecided} == {NAME}
    assert {leftover.store.name for leftover in facts.leftovers} == {OTHER}


@pytest.mark.parametrize("kinds", [(EVENT,), (EVENT, PROCESSING)])
def test_user_clock_is_set_if_only_one_clock_was_tracked(kinds: tuple[TimeoutKind, ...]) -> None:
    calls = [seen(CallsByClock(kind, TimerCalls(armed_by_data=1))) for kind in kinds]
    facts = collected(*calls, against(0, EVENT))
    assert facts.resolution.user_clock == (EVENT if len(kinds) == 1 else None)
    assert facts.calls[NAME, EVENT].armed_by_data == 1


def test_timer_calls_of_partitions_add_to_habits() -> None:
    timer_calls = TimerCalls(armed_by_data=10, timeout_kept=3)
    result = [seen(CallsByClock(EVENT, timer_calls), number) for number in (0, 1)]
    assert collected(result[0]).resolution.habits == frozenset()
    expected = {(NAME, EVENT, Needs.KEPT_BY_HABIT.value)}
    assert collected(*result).resolution.habits >= expected


def test_leftovers_are_ordered_by_age_size_partition_and_key() -> None:
    def one(since: int, size: int, partition: int, key: bytes) -> Observed[Leftover]:
        result = leftovers(partition, None)[2]
        return replace(
            result, fact=replace(result.fact, expired_version=since, key_bytes=size, key=key)
        )

    expected = [one(2, 8, 1, b"b"), one(3, 16, 1, b"a"), one(3, 8, 0, b"b"), one(3, 8, 1, b"a")]
    expected.append(one(3, 8, 1, b"b"))
    for order in (expected[::-1], expected[2:] + expected[:2]):
        result = collected(*order).leftovers
        assert [leftover_order(item) for item in result] == [leftover_order(e) for e in expected]


def test_collect_keeps_all_facts_of_a_checkpoint(tmp_path: Path) -> None:
    result = observed_in(small_checkpoint(tmp_path))
    facts = collect(fact_batches(result))
    assert len(facts.versions) == len(facts_of_type(result, VersionFacts))
    assert len(facts.undecided) == len(facts_of_type(result, Leftover)) > 0
    assert facts.problems == [
        item.fact.problem(item.store) for item in result if isinstance(item.fact, ReadProblem)
    ]
    assert problems_in(result) == []
    assert sum(total.fact.rows for total in facts.totals) == len(facts.leftovers)
