"""Facts of all tasks, merged; and one reading of each store's timers, or none."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from inspector.decode.field_sizes import FieldBytes, RowBytes
from inspector.facts.expired import Needs
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts, collect, leftover_order
from inspector.model import Problem, StoreId
from inspector.schemas import FACTS, HABITS, batch_of
from tests.cases import small_checkpoint, told

Row = dict[str, Any]
CALLS = (*HABITS, "rows", "key_bytes", "value_bytes")


def row(kind: str, partition: int = 0, version: int = 4, **more: Any) -> Row:
    store = {"operator_id": 0, "store_name": "default", "partition_id": partition}
    return {"kind": kind, **store, "version": version} | more


def collected(*rows: Row) -> Facts:
    return collect([batch_of(FACTS, [one]) for one in rows])


def version(partition: int, version: int, rows: int, operator: int = 0) -> Row:
    facts = VersionFacts(stores=1, rows=rows).columns()
    return row("version", partition, version) | facts | {"operator_id": operator}


def test_versions_are_kept_by_store_and_summed_over_partitions() -> None:
    rows = [version(0, 3, 5), version(1, 3, 7), version(1, 4, 9), version(0, 3, 100, operator=2)]
    for order in permutations(rows):
        facts = collected(*order)
        assert facts.stores() == [(0, "default"), (2, "default")]
        assert facts.versions[StoreId(0, "default", 1), 4].rows == 9
        merged = facts.by_store()
        assert {v: one.rows for v, one in merged[0, "default"].items()} == {3: 12, 4: 9}
        assert merged[0, "default"][3].stores == 2
        assert list(facts.by_store(4)) == [(0, "default")]


def test_a_problem_row_is_a_problem_again() -> None:
    bad = row("problem", 1, 2, slug="truncated", message="got 1", path="/c/2.delta", offset=7)
    place = StoreId(0, "default", 1)
    expected = [Problem("truncated", "got 1", "/c/2.delta", 7, place, 2)]
    assert collected(bad).problems == expected


def test_problems_come_in_order_of_their_place() -> None:
    rows = [
        row("problem", partition, 1, slug="truncated", message="m", path=path, offset=offset)
        for partition, path, offset in [(0, None, None), (0, "a", 2), (0, "a", 10), (1, "a", 0)]
    ]
    for order in permutations(rows):
        found = [
            (p.store and p.store.partition_id, p.path, p.offset) for p in collected(*order).problems
        ]
        assert found == [(0, None, None), (0, "a", 2), (0, "a", 10), (1, "a", 0)]


def test_rows_that_have_found_a_partner_add_up() -> None:
    rows = [row("matched", n, matched_rows=n, unmatched_rows=10 * n) for n in range(3)]
    rows.append(row("matched", matched_rows=7, unmatched_rows=0) | {"operator_id": 1})
    for order in permutations(rows):
        assert collected(*order).matched == {(0, "default"): (3, 30), (1, "default"): (7, 0)}


def test_what_fields_take_adds_up_by_side() -> None:
    parts = [RowBytes(n, 8 * n, (FieldBytes(0, 8 * n, n, 7), FieldBytes(n)), 3) for n in (1, 2, 4)]
    rows = [row("fields", n, side="value", **part.columns()) for n, part in enumerate(parts)]
    rows.append(row("fields", side="key", **RowBytes(5, 0, ()).columns()))
    for order in permutations(rows):
        assert collected(*order).fields == {
            ((0, "default"), "key"): RowBytes(5, 0, ()),
            ((0, "default"), "value"): parts[0] + parts[1] + parts[2],
        }


# --- timers ----------------------------------------------------------------------------------


def against(partition: int, kind: str, version: int = 4) -> Row:
    """A partition shows that the timers did not follow a clock in the batch of a version."""
    return row("timers", partition, version, timeout_kind=kind)


def leftovers(partition: int, kind: str | None, key: bytes = b"k") -> list[Row]:
    told = {
        "leftover_class": "ignored_timeout",
        "certainty": "proven",
        "timeout_kind": kind,
        "kind_version": None if kind is None else 4,
        "either": None if kind is None else False,
        "expired_version": 3,
        "key_bytes": 8,
        "value_bytes": 8,
    }
    return [
        row("leftovers", partition, rows=1) | told,
        row("leftover_age", partition, rows=1) | told,
        row("leftover", partition, key=key) | told,
    ]


UNSURE = [*leftovers(1, "event"), *leftovers(1, "processing")]


@pytest.mark.parametrize(
    ("shown", "kept", "undecided"),
    [
        ([against(0, "processing")], {"event"}, set()),
        ([against(0, "event")], {"processing"}, set()),
        ([against(0, "event"), against(1, "event")], {"processing"}, set()),
        ([], set(), {"event", "processing"}),
        ([against(0, "event"), against(1, "processing")], set(), {"event", "processing"}),
        ([against(0, "event") | {"operator_id": 1}], set(), {"event", "processing"}),
    ],
)
def test_one_clock_is_kept_that_no_partition_has_proof_against(
    shown: list[Row], kept: set[str], undecided: set[str]
) -> None:
    rows = [*UNSURE, *shown]
    for order in (rows, rows[::-1]):
        facts = collected(*order)
        for decided in (facts.leftovers, facts.totals, facts.leftover_ages):
            assert {one["timeout_kind"] for one in decided} == kept
        for open_ in (facts.undecided, facts.undecided_totals):
            assert {one["timeout_kind"] for one in open_} == undecided


def test_timers_without_leftovers_leave_nothing_undecided() -> None:
    facts = collected(against(0, "event"), against(1, "processing"))
    assert (facts.undecided, facts.leftovers, facts.totals) == ([], [], [])
    assert facts.resolution.clock_of((0, "default"), 4).kind is None


def test_leftovers_of_a_watermark_need_no_clock() -> None:
    facts = collected(*leftovers(0, None))
    assert (len(facts.leftovers), len(facts.totals), facts.undecided) == (1, 1, [])


def test_stores_are_decided_apart() -> None:
    other = [one | {"operator_id": 1} for one in (*leftovers(0, "event"), against(0, "processing"))]
    facts = collected(*UNSURE, *other)
    assert {one["operator_id"] for one in facts.undecided} == {0}
    assert {one["operator_id"] for one in facts.leftovers} == {1}


@pytest.mark.parametrize("kinds", [("event",), ("event", "processing")])
def test_a_clock_is_given_if_no_other_was_followed(kinds: tuple[str, ...]) -> None:
    calls = [row("calls", timeout_kind=kind, **dict.fromkeys(CALLS, 1)) for kind in kinds]
    facts = collected(*calls, against(0, "event"))
    assert facts.resolution.given == ("event" if len(kinds) == 1 else None)
    assert facts.calls[(0, "default"), "event"].armed_by_data == 1


def test_the_habits_of_all_partitions_count_together() -> None:
    half = dict.fromkeys(CALLS, 0) | {"armed_by_data": 10, "timeout_kept": 3}
    rows = [row("calls", number, timeout_kind="event", **half) for number in (0, 1)]
    place = (0, "default"), "event"
    assert collected(rows[0]).resolution.habits == frozenset()
    assert collected(*rows).resolution.habits >= {(*place, Needs.KEPT_BY_HABIT.value)}


def test_leftovers_come_oldest_first_then_largest_then_by_place_and_key() -> None:
    def one(since: int, size: int, partition: int, key: bytes) -> Row:
        more = {"expired_version": since, "key_bytes": size, "key": key}
        return leftovers(partition, None)[2] | more

    expected = [one(2, 8, 1, b"b"), one(3, 16, 1, b"a"), one(3, 8, 0, b"b"), one(3, 8, 1, b"a")]
    expected.append(one(3, 8, 1, b"b"))
    for order in (expected[::-1], expected[2:] + expected[:2]):
        found = collected(*order).leftovers
        assert [leftover_order(each) for each in found] == [leftover_order(e) for e in expected]


def test_what_the_tasks_of_a_checkpoint_tell_is_collected_whole(tmp_path: Path) -> None:
    rows = told(small_checkpoint(tmp_path))
    facts = collect([batch_of(FACTS, rows[at : at + 5]) for at in range(0, len(rows), 5)])
    assert len(facts.versions) == sum(one["kind"] == "version" for one in rows)
    assert len(facts.leftovers) == sum(one["kind"] == "leftover" for one in rows) > 0
    assert facts.problems == []
    assert sum(one["rows"] for one in facts.totals) == len(facts.leftovers)
