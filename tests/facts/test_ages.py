"""Versions and event times of the last puts of live rows."""

from __future__ import annotations

from collections import Counter

import pytest

from inspector.facts.ages import AHEAD, BEFORE, Ages, RowsBehind, clock_range_ms, measure_ages
from tests import cases
from tests.cases import Step, replay, user

A, B, C = user("a"), user("b"), user("c")
ONE, TWO = cases.micros(1_500_001), cases.micros(9_000_000)


def test_live_rows_are_counted_by_version_of_last_put() -> None:
    steps = [Step([(A, ONE), (B, ONE), (C, ONE)]), Step([(B, TWO)]), Step([(C, None)])]
    state, _, _ = replay(steps)
    versions, rows, row_bytes = measure_ages(state)
    assert (list(versions), list(rows), list(row_bytes)) == ([1, 2], [1, 1], [40, 40])


def test_snapshot_rows_count_as_put_before_the_window() -> None:
    steps = [Step([(A, ONE), (B, ONE)], rebase=True), Step([(B, ONE)])]
    state, _, _ = replay(steps, first=7)
    versions, rows, _ = measure_ages(state)
    assert (list(versions), list(rows)) == ([BEFORE, 8], [1, 1])


def test_event_time_range_is_rounded_up_and_skips_null_times() -> None:
    track = cases.tracked(cases.VALUE_TIME, cases.USER, cases.EXPIRES_AT)
    state, _, _ = replay([Step([(A, ONE), (B, TWO), (C, cases.micros(None))])], track)
    assert clock_range_ms(state, 1000) == (1501, 9000, 1)
    empty, _, _ = replay([Step([(C, cases.micros(None))])], track)
    assert clock_range_ms(empty, 1000) == ()


def test_newest_event_time_has_the_version_of_its_put() -> None:
    track = cases.tracked(cases.VALUE_TIME, cases.USER, cases.EXPIRES_AT)
    steps = [Step([(A, TWO)], rebase=True), Step([(B, ONE)]), Step([(A, ONE), (C, TWO)])]
    state, _, _ = replay(steps[:2], track, first=7)
    assert Ages.observe(state, from_snapshot=True, per_ms=1000).newest == (9000, BEFORE)
    state, _, _ = replay(steps, track, first=7)
    ages = Ages.observe(state, from_snapshot=True, per_ms=1000)
    assert (ages.newest, ages.newest_ms) == ((9000, 9), 9000)
    assert Ages().newest_ms is None


MINUTE = 60_000


@pytest.mark.parametrize(
    ("watermark", "digits"),
    [
        (1_000, {AHEAD: 2}),
        (9_000, {0: 2}),
        (9_000 + MINUTE, {1: 2}),
        (9_000 + 2 * MINUTE - 1, {1: 1, 2: 1}),
        (9_000 + 63 * MINUTE, {6: 2}),
        (9_000 + 64 * MINUTE, {7: 2}),
    ],
)
def test_rows_behind_the_watermark_are_counted_by_delay(
    watermark: int, digits: dict[int, int]
) -> None:
    track = cases.tracked(cases.VALUE_TIME, cases.USER, cases.EXPIRES_AT)
    bare = cases.micros(None)
    state, _, _ = replay([Step([(C, TWO)]), Step([(A, ONE), (B, TWO), (user("d"), bare)])], track)
    assert RowsBehind.observe(state, 1000, watermark) == RowsBehind(Counter(digits))


def test_key_count_includes_keys_of_every_version() -> None:
    steps = [Step([(A, ONE), (B, ONE)], rebase=True), Step([(B, None)]), Step([(C, ONE)])]
    state, _, _ = replay(steps, first=7)
    ages = Ages.observe(state, from_snapshot=True)
    assert (ages.keys, ages.total[0]) == (3, 2)


def test_rows_without_event_time_are_counted() -> None:
    track = cases.tracked(cases.VALUE_TIME, cases.USER, cases.EXPIRES_AT)
    bare = cases.micros(None)
    steps = [Step([(A, bare), (B, bare)]), Step([(B, ONE)]), Step([(C, bare)])]
    state, _, _ = replay(steps, track)
    ages = Ages.observe(state, from_snapshot=False, per_ms=1000)
    assert (ages.untimed, ages.untimed_new) == (2, 1)
    assert Ages.observe(state, from_snapshot=False).untimed == 0


def test_ages_add() -> None:
    ages = Ages(Counter({3: 1}), Counter({3: 10}), 1, 1, 5, (9, 3))
    two = Ages(Counter({3: 2, 4: 1}), Counter({3: 20, 4: 7}), 2, 3)
    assert ages + two == Ages(Counter({3: 3, 4: 1}), Counter({3: 30, 4: 7}), 2, 3, 5, (9, 3))
    assert ages + Ages() == ages
    assert (ages + two).total == (4, 37)
