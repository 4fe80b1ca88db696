"""Expiry times of live rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest

from inspector.arrays import Int64s
from inspector.facts.expiring import MOST_BUCKETS, Expiring, Width, expiry_ms
from inspector.model import NO_TIMEOUT, BatchClock, BatchId, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.state.replay import NO_CLOCK
from tests import cases
from tests.attributes import attributes
from tests.cases import Step, replay, user

MICROS = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), 1000, True, "t")
TIMER = ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (0,), 1, False, "timeoutTimestamp")
TRACK = cases.tracked(cases.VALUE_TIME, cases.USER, cases.EXPIRES_AT)
MOST, LEAST = 2**63 - 1, NO_CLOCK + 1


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (MICROS, 5_000_000, 5000),
        (MICROS, 5_000_001, 5001),
        (MICROS, -1, 0),
        (replace(MICROS, delay_ms=60), 5_000_001, 5061),
        (replace(MICROS, inclusive=False), 5_000_000, 5001),
        (TIMER, 5000, 5001),
        (TIMER, MOST, MOST),
        (TIMER, LEAST, LEAST + 1),
        (replace(TIMER, delay_ms=10**6), MOST - 5, MOST),
        (replace(TIMER, delay_ms=-10), LEAST, LEAST),
    ],
)
def test_expiry_ms_is_the_first_clock_that_removes_the_row(
    rule: ExpiryField, value: int, expected: int
) -> None:
    assert expiry_ms(np.array([value], np.int64), rule).tolist() == [expected]


def observed(now: BatchClock | None) -> Expiring:
    puts = [
        (user("a"), cases.micros(1_000_000)),
        (user("b"), cases.micros(1_999_000)),
        (user("c"), cases.micros(61_000_000)),
        (user("d"), cases.micros(None)),
        (user("e"), cases.micros(70_000_000)),
    ]
    state, _, _ = replay([Step(puts), Step([(user("e"), None)])], TRACK)
    return Expiring.observe(state, MICROS, now)


def test_live_rows_are_counted_by_expiry_time() -> None:
    result = observed(None)
    assert result.rows == {1: 2, 61: 1}
    assert (result.due_rows, result.endless_rows) == (0, 1)
    size = result.bytes[61]
    assert size > 0
    assert result.bytes == {1: 2 * size, 61: size}
    assert result.endless_bytes == size


@pytest.mark.parametrize(("watermark", "due"), [(0, 0), (999, 0), (1000, 1), (1999, 2), (2000, 2)])
def test_rows_reached_by_the_watermark_are_due(watermark: int, due: int) -> None:
    result = observed(BatchClock(BatchId(1), 10**9, watermark))
    assert result.due_rows == due
    assert sum(result.rows.values()) == 3 - due
    assert result.due_bytes == due * result.bytes[61]


def test_rows_that_never_expire_put_in_the_newer_half() -> None:
    steps = [Step([(user(name), cases.micros(None))]) for name in "abcdef"]
    state, _, _ = replay(steps, TRACK)
    facts = Expiring.observe(state, MICROS, None)
    assert (facts.endless_rows, facts.endless_new) == (6, 3)


def test_lasting_rows_were_put_before_the_newer_half() -> None:
    steps = [Step([(user(name), cases.micros(5_000_000))]) for name in "abcdef"]
    state, _, _ = replay([*steps, Step([(user("a"), cases.micros(9_000_000))])], TRACK)
    assert Expiring.observe(state, MICROS, None).lasting == 3
    assert Expiring.observe(state, MICROS, BatchClock(BatchId(1), 10**9, 5_000)).lasting == 1


@pytest.mark.parametrize(
    ("kind", "due"), [(TimeoutKind.EVENT_TIME, 1), (TimeoutKind.PROCESSING_TIME, 0)]
)
def test_unset_timer_never_fires(kind: TimeoutKind, due: int) -> None:
    puts = [(user("a"), cases.micros(NO_TIMEOUT)), (user("b"), cases.micros(5000))]
    state, _, _ = replay([Step(puts)], TRACK)
    facts = Expiring.observe(state, TIMER, BatchClock(BatchId(0), 5000, 5001), kind)
    assert (facts.due_rows, facts.endless_rows) == (due, 1)
    assert facts.timeout_kind is kind
    assert facts.merge_key(1) == kind.value


def of_times(times: Int64s) -> Expiring:
    return Expiring._of_times(None, times, np.ones(len(times), np.int64))


@pytest.mark.parametrize("span", [10**6, 10**8, 10**10, 10**13, 2**62])
def test_bucket_width_is_minimal_for_any_split_of_rows(span: int) -> None:
    times = np.random.default_rng(5).integers(-span, span, 6000)
    complete = of_times(times)
    assert len(complete.rows) <= MOST_BUCKETS
    finer = [width for width in Width if width < complete.width]
    assert all(len(np.unique(times // width)) > MOST_BUCKETS for width in finer)
    parts = list(map(of_times, np.array_split(times, 7)))
    assert reduce(Expiring.__add__, parts, Expiring()) == complete
    assert reduce(Expiring.__add__, parts[::-1], Expiring()) == complete
    assert complete.rows.total() == complete.bytes.total() == 6000


def test_bucket_widths_are_multiples_and_the_last_holds_any_time() -> None:
    widths = list(Width)
    assert widths == sorted(widths)
    assert [long % short for short, long in pairwise(widths)] == [0] * (len(widths) - 1)
    assert attributes(widths, "coarser") == [*widths[1:], widths[-1]]
    assert MOST // widths[-1] - LEAST // widths[-1] < 6


def test_coarser_buckets_keep_all_rows() -> None:
    expiring = Expiring(rows=Counter({0: 1, 59: 2, 60: 4}), bytes=Counter({0: 10, 59: 20, 60: 40}))
    minutes = expiring.at_least(Width.MINUTE)
    assert minutes.rows == {0: 3, 1: 4}
    assert minutes.bytes == {0: 30, 1: 40}
    assert minutes.at_least(Width.SECOND) is minutes
    assert expiring.coarsen(2) == minutes
