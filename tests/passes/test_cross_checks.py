"""Records that their batch cannot have written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inspector.discovery.tasks import StoreTask, Task
from inspector.kernel.record_layout import NO_CLOCK, ChangeSums, RecordCounts
from inspector.model import BatchClock, BatchId
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.passes.cross_checks import ABSENT, FOREIGN_RECORDS, CrossChecks
from inspector.state.change import NO_LATER, Change, Changes, Moves

SUMS = ChangeSums(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {})
MICROS = ExpiryField(Clock.WATERMARK, RowPart.KEY, (0,), 1000, True, "ts")
TIMER = ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (1,), 1, False, "timeoutTimestamp")
CLOCKS = (
    BatchClock(BatchId(3), timestamp_ms=900, watermark_ms=100),
    BatchClock(BatchId(4), timestamp_ms=950, watermark_ms=200),
    BatchClock(BatchId(5), timestamp_ms=990, watermark_ms=None),
)


def said(
    *checks: str,
    version: int = 5,
    rebased: bool = False,
    expiry: ExpiryField = MICROS,
    put: int | None = None,
    removal: int | None = None,
    **counts: int,
) -> list[str]:
    store = StoreTask("default", (), expiry=expiry, cross_checks=checks)
    task = Task("", "", {}, 0, 0, 9, (store,), clocks=CLOCKS)
    change = Change(version, rebased, SUMS, RecordCounts(**counts), None, put, removal)
    checker = CrossChecks(task, store)
    result = [slug for slug, _ in checker.of(change)]
    doubted = checker.doubtful(columns_of(change))
    assert rebased or not result or doubted.tolist() == [0]
    return result


def columns_of(change: Change) -> Changes:
    number, nothing = np.array([change.version]), np.empty(0, np.int64)
    numbers: Any = [np.array([count]) for count in vars(change.counts).values()]
    put, removal = change.earliest_put, change.latest_removal
    clocks = (
        np.array([NO_LATER if put is None else put]),
        np.array([NO_CLOCK if removal is None else removal]),
    )
    moves = Moves(nothing, nothing, nothing, nothing)
    return Changes(
        number, change.sums, RecordCounts(*numbers), number, number, number, *clocks, moves
    )


def test_versions_with_nothing_to_find_are_not_looked_at() -> None:
    store = StoreTask("default", (), expiry=MICROS, cross_checks=("absent", "removals", "late"))
    checker = CrossChecks(Task("", "", {}, 0, 0, 9, (store,), clocks=CLOCKS), store)
    quiet = Change(5, counts=RecordCounts(puts=3, updates=3), earliest_put=150_000)
    assert checker.doubtful(columns_of(quiet)).tolist() == []


def test_a_removal_of_an_absent_key_is_wrong_where_the_provider_looks_first() -> None:
    assert said("absent", removals=3) == []
    assert said("absent", removals=3, absent_removals=1) == [ABSENT]
    assert said("absent", removals=3, absent_removals=1, rebased=True) == []
    assert said(removals=3, absent_removals=1) == []  # RocksDB's writes it without a look


def test_a_deduplication_never_puts_a_key_again() -> None:
    assert said("updates", puts=3, inserts=3) == []
    assert said("updates", puts=3, inserts=2, updates=1) == [FOREIGN_RECORDS]
    assert said(puts=3, inserts=2, updates=1) == []


@pytest.mark.parametrize(("time", "wrong"), [(200_000, []), (200_001, [FOREIGN_RECORDS])])
def test_the_watermark_evicts_what_it_has_reached(time: int, wrong: list[str]) -> None:
    assert said("removals", removal=time, removals=1) == wrong
    assert said("removals", version=6, removal=time, removals=1) == []  # its clock is not known


@pytest.mark.parametrize(("time", "wrong"), [(100_000, [FOREIGN_RECORDS]), (100_001, [])])
def test_late_rows_never_reach_the_state_of_an_operator_that_evicts(
    time: int, wrong: list[str]
) -> None:
    assert said("late", put=time, puts=1, removal=1, removals=1) == wrong
    # It may be complete mode, or see no watermark.
    assert said("late", put=time, puts=1) == []
    assert said("late", put=time, puts=1, removal=0, removals=1) == []
    # The batch before is not known.
    assert said("late", version=4, put=time, puts=1, removal=1, removals=1) == []


@pytest.mark.parametrize(("time", "wrong"), [(199, [FOREIGN_RECORDS]), (200, [])])
def test_a_timer_is_never_set_in_the_past(time: int, wrong: list[str]) -> None:
    assert said("timers", expiry=TIMER, put=time, puts=1) == wrong
    assert said("timers", version=6, expiry=TIMER, put=time, puts=1) == []


def test_the_timer_of_a_duration_that_is_too_long_is_negative() -> None:
    assert said("timers", expiry=TIMER, put=-(2**63) + 900, puts=1) == []
