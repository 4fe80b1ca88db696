"""SS205, SS208 and SS209: the sides of a join."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.join_rows import JoinCheck, MatchedRows
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Severity
from inspector.findings.joins import JoinLifetime, Retention, judge_join

SIDE = Retention(
    behind_ms={2: 4000, 9: 70_000},
    watermarks={2: 10_000, 9: 80_000},
    removed=0,
    newest=VersionFacts(rows=90, key_bytes=900, value_bytes=100),
    first=VersionFacts(rows=10),
    versions=9,
)
LEFT, RIGHT = "left-keyWithIndexToValue", "right-keyWithIndexToValue"


def test_a_side_that_never_removes_while_the_watermark_moves() -> None:
    other = replace(SIDE, removed=40)
    (found,) = judge_join(JoinLifetime(3, {LEFT: SIDE, RIGHT: other}))
    assert (found.kind.id, found.operator_id, found.store_name) == ("SS205", 3, LEFT)
    assert (found.certainty.value, found.rows, found.bytes) == ("inferred", 90, 1000)
    assert "watermark moved by 1 min 10 s" in found.evidence
    assert "the oldest 1 min 10 s behind the watermark; the other side removed 40" in found.evidence


def test_rows_that_met_a_partner_and_went_did_not_go_by_their_time() -> None:
    """As on the left side of a semi join."""
    other = replace(SIDE, removed=40)
    (found,) = judge_join(
        JoinLifetime(3, {LEFT: replace(SIDE, removed=12, early=12), RIGHT: other})
    )
    assert found.cause.startswith("The left side of the join removes no rows by their time, though")
    assert "no row that the watermark had passed was removed in 9 versions" in found.evidence
    assert "behind the watermark (12 went before, perhaps as they met a partner)" in found.evidence


def test_both_sides_that_never_remove_say_the_same() -> None:
    left, right = judge_join(JoinLifetime(3, {LEFT: SIDE, RIGHT: SIDE}))
    assert left.cause == right.cause
    assert left.cause.startswith("Neither side of the join removes rows, ")
    assert left.next_step == right.next_step
    assert left.next_step.startswith("bound the times of both sides ")
    # Of the other side the watermark may not have passed any row yet.
    ahead = replace(SIDE, behind_ms={9: -1})
    (alone,) = judge_join(JoinLifetime(3, {LEFT: SIDE, RIGHT: ahead}))
    assert alone.cause.startswith("The left side of the join removes no rows, ")
    assert "and the other side none either: perhaps the join condition has no ti" in alone.cause
    assert alone.next_step == left.next_step


def test_of_a_join_that_is_young_the_time_range_is_asked_for() -> None:
    young = replace(SIDE, behind_ms={2: -90_000, 9: -60_000})
    (found,) = judge_join(JoinLifetime(3, {LEFT: young, RIGHT: young}))
    assert (found.kind.id, found.severity, found.store_name) == ("SS205", Severity.INFO, None)
    assert found.cause.endswith("if the join condition has no time range, none ever will be.")
    assert "has to advance by 1 min before it passes the first" in found.evidence
    for other in (
        replace(young, removed=1),
        replace(young, versions=4),
        replace(young, first=young.newest),
        replace(young, behind_ms={}),
    ):
        assert not list(judge_join(JoinLifetime(3, {LEFT: young, RIGHT: other})))
    assert not list(judge_join(JoinLifetime(3, {LEFT: young})))


def test_a_side_that_has_removed_nothing_is_told_for_information_only() -> None:
    (found,) = judge_join(JoinLifetime(3, {LEFT: SIDE}))
    assert found.severity is Severity.INFO


def test_a_join_on_a_copy_of_the_event_time_warns_once_rows_of_it_should_be_gone() -> None:
    both = JoinLifetime(3, {LEFT: SIDE, RIGHT: SIDE}, covered={LEFT: 12, RIGHT: 0})
    left, right = judge_join(both)
    assert (left.kind.id, left.certainty.value, left.rows) == ("SS209", "inferred", 90)
    assert "of 90 rows 12 would have been removed by one" in left.evidence
    assert right.kind.id == "SS205"
    # Where rows go, be it of the other side, there is a range.
    ranged = replace(both, sides={LEFT: SIDE, RIGHT: replace(SIDE, removed=1)})
    assert [one.kind.id for one in judge_join(ranged)] == ["SS205"]


@pytest.mark.parametrize(
    "changes",
    [
        {"removed": 1},
        {"versions": 4},
        {"watermarks": {2: 10_000, 9: 10_000}},
        {"newest": VersionFacts(rows=10)},
        {"behind_ms": {9: -1}},
        {"behind_ms": {}},
    ],
)
def test_it_is_none_without_time_growth_or_rows_behind(changes: dict[str, object]) -> None:
    side = replace(SIDE, **changes)  # type: ignore[arg-type]
    assert not list(judge_join(JoinLifetime(0, {LEFT: side})))


def test_counters_and_rows_that_disagree() -> None:
    wrong = JoinCheck(counters_without_rows=2, dangling_rows=1, rows=7)
    (found,) = judge_join(JoinLifetime(0, {}, {RIGHT: wrong, LEFT: JoinCheck()}))
    assert (found.kind.id, found.store_name) == ("SS208", RIGHT)
    assert found.evidence == ("2 keys with a counter and no row; 1 row that no counter counts")
    assert found.cause.startswith("Rows of the right side of the join")


def test_a_join_without_a_match_is_told_where_both_sides_have_many_rows() -> None:
    none = JoinLifetime(3, partners={LEFT: MatchedRows(0, 100), RIGHT: MatchedRows(0, 120)})
    (found,) = judge_join(none)
    assert (found.kind.id, found.operator_id, found.severity) == ("SS222", 3, Severity.INFO)
    assert found.evidence.startswith("the files have 100 rows of the left side and 120 rows of")
    for left, right in ((MatchedRows(1, 99), 120), (MatchedRows(0, 99), 120), (None, 120)):
        sides = {RIGHT: MatchedRows(0, right)} | ({} if left is None else {LEFT: left})
        assert list(judge_join(replace(none, partners=sides))) == []
