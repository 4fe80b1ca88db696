"""A time in a join's key, compared with event times and with removals of rows."""

from __future__ import annotations

from functools import partial

import pytest

from inspector.facts.join_rows import KeyTimeVotes, RemovedRows
from inspector.model import BatchClock, BatchId
from inspector.operators.join import key_times
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.state.replay import StateMap
from tests import cases, encode
from tests.cases import Step, replay
from tests.encode import Record

VALUE = parse_ddl("ts timestamp")
EVENT_TIME = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), 1000, True, "ts")
WINDOWED = parse_ddl("ad bigint, w struct<start: timestamp, end: timestamp>, index bigint")
TIMED = parse_ddl("t timestamp, name string, index bigint")


def rows_of(key: StructType, *deltas: list[tuple[tuple[object, ...], object]]) -> StateMap:
    """Replay deltas of key fields and event time. The time ``...`` removes the row."""
    steps = []
    for delta in deltas:
        records: list[Record] = [
            (encode.row(key, fields), None if time is ... else encode.row(VALUE, (time,)))
            for fields, time in delta
        ]
        steps.append(Step(records))
    return replay(steps, cases.tracked(EVENT_TIME, key, VALUE))[0]


def read(state: StateMap, key: StructType, at: int = 0, watermark_ms: int = 0) -> KeyTimeVotes:
    return KeyTimeVotes.observe(state, key, key_times(key)[at], watermark_ms)


def test_rows_vote_for_key_times_equal_to_their_event_time() -> None:
    ddl = parse_ddl("t timestamp, u timestamp, index bigint")
    state = rows_of(
        ddl,
        [((5, 6, 0), 5), ((7, 7, 0), 7), ((8, 9, 0), 1), ((4, 4, 0), 4)],
        [((4, 4, 0), ...)],
    )
    first, second = read(state, ddl, 0), read(state, ddl, 1)
    assert (first.same, first.other, second.same, second.other) == (2, 1, 1, 2)


def test_window_end_is_the_key_time() -> None:
    state = rows_of(WINDOWED, [((1, (10, 20), 0), 20), ((1, (20, 30), 0), 30)])
    result = read(state, WINDOWED)
    assert (result.same, result.other, result.path) == (2, 0, (1, 1))


def test_null_votes_against_a_time_but_not_against_null() -> None:
    rows: list[tuple[tuple[object, ...], object]] = [
        ((None, "a", 0), None),
        ((None, "a", 1), 3),
        ((3, "a", 0), None),
    ]
    result = read(rows_of(TIMED, rows), TIMED)
    assert (result.same, result.other) == (0, 2)


@pytest.mark.parametrize(("watermark", "covered"), [(0, 0), (8, 0), (9, 1), (10, 2), (10**9, 2)])
def test_live_rows_at_or_below_the_watermark_are_covered(watermark: int, covered: int) -> None:
    rows: list[tuple[tuple[object, ...], object]] = [
        ((9_000, "a", 0), 1),
        ((9_001, "a longer name", 0), None),
        ((None, "n", 0), None),
        ((-5, "gone", 0), 1),
    ]
    state = rows_of(TIMED, rows, [((-5, "gone", 0), ...)])
    assert read(state, TIMED, watermark_ms=watermark).covered == covered


PREVIOUS, NOW = BatchClock(BatchId(1), watermark_ms=1), BatchClock(BatchId(2), watermark_ms=9)


@pytest.mark.parametrize(
    ("time", "expected", "without_previous"),
    [
        (9_000, RemovedRows(1, 0), RemovedRows(1, 0)),
        (1_001, RemovedRows(1, 0), RemovedRows(1, 0)),
        (1_000, RemovedRows(0, 1), RemovedRows(1, 0)),
        (9_001, RemovedRows(0, 1, 1), RemovedRows(0, 1, 1)),
        (None, RemovedRows(0, 1), RemovedRows(0, 1)),
    ],
    ids=["just covered", "just not covered before", "before", "not yet", "never"],
)
def test_removed_row_is_on_time_only_in_the_first_covering_batch(
    time: int | None, expected: RemovedRows, without_previous: RemovedRows
) -> None:
    key = (5, "a", 0)
    deltas = [Step([put(key, time)]), Step([(encode.row(TIMED, key), None)])]
    track = cases.tracked(EVENT_TIME, TIMED, VALUE)
    state, changes, _ = replay(deltas, track)
    observe = partial(RemovedRows.observe, changes[1], state, EVENT_TIME)
    assert observe(NOW, PREVIOUS) == expected
    assert observe(NOW, None) == without_previous  # no removal is late
    assert observe(None, PREVIOUS) == RemovedRows()
    state, changes, _ = replay(deltas[:1], track)
    assert RemovedRows.observe(changes[0], state, EVENT_TIME, NOW, PREVIOUS) == RemovedRows()


def put(key: tuple[object, ...], time: int | None) -> Record:
    return encode.row(TIMED, key), encode.row(VALUE, (time,))
