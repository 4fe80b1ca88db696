"""Rows that outlived the clock of a batch that ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.expired import Clocks, LeftoverClass, past_clock
from inspector.model import BatchClock, Certainty
from inspector.operators.rule import Clock, ExpiryField
from inspector.state.replay import StateMap
from tests import cases
from tests.attributes import attributes
from tests.cases import Step, replay
from tests.encode import Record
from tests.facts.histories import KeyLeftover, at_watermarks, leftovers_by_key
from tests.queries import clock, clocks_by_step

PAST = LeftoverClass.PAST_WATERMARK
PROVEN = Certainty.PROVEN


def map_for(expiry: ExpiryField, steps: Sequence[Step]) -> StateMap:
    by_key = expiry.part is cases.KEY_TIME.part
    schemas = (cases.EVENT_TIME if by_key else cases.USER, cases.EXPIRES_AT)
    return replay(steps, cases.tracked(expiry, *schemas))[0]


def leftovers_of(
    steps: Sequence[Step], clocks: Sequence[BatchClock], expiry: ExpiryField = cases.KEY_TIME
) -> set[KeyLeftover]:
    """Replay a history. Return its leftovers."""
    state = map_for(expiry, steps)
    leftovers = past_clock(state, expiry, clocks_by_step(state, clocks), PROVEN)
    return leftovers_by_key(state, leftovers)


def key_time(us: int | None) -> Record:
    return cases.micros(us), b""


def past_watermark(*rows: Record, watermarks: Sequence[int | None]) -> dict[bytes, int]:
    """Return the version in which each leftover expired, of rows put in version 1."""
    steps = [Step(rows), *[Step([])] * (len(watermarks) - 1)]
    leftovers = leftovers_of(steps, at_watermarks(*watermarks))
    assert set(attributes(leftovers, "kind", "certainty")) <= {(PAST, PROVEN)}
    return dict(attributes(leftovers, "key", "version"))


@pytest.mark.parametrize(
    ("us", "versions"), [(4_999_999, [2]), (5_000_000, [2]), (5_000_001, []), (None, [])]
)
def test_row_expires_at_the_watermark_to_the_microsecond(
    us: int | None, versions: list[int]
) -> None:
    leftovers = past_watermark(key_time(us), watermarks=(4999, 5000))
    assert list(leftovers.values()) == versions


def test_leftover_since_the_first_batch_whose_watermark_covers_it() -> None:
    early, late = key_time(1_000_000), key_time(3_000_000)
    result = past_watermark(early, late, watermarks=(0, 1000, 2000, 3000, 9000))
    assert result == {early[0]: 2, late[0]: 4}


def test_late_row_is_a_leftover_of_the_batch_that_put_it() -> None:
    row = key_time(1_000_000)
    assert past_watermark(row, watermarks=(2000, 2000)) == {row[0]: 1}


@pytest.mark.parametrize("us", [0, -1, -5_000_000])
def test_watermark_of_zero_covers_no_row(us: int) -> None:
    row = key_time(us)
    assert past_watermark(row, watermarks=(0, 0)) == {}
    assert past_watermark(row, watermarks=(0, 0, 1)) == {row[0]: 3}


def test_leftover_since_the_first_batch_with_a_known_clock() -> None:
    row = key_time(1_000_000)
    assert past_watermark(row, watermarks=(None, None, 5000, 6000)) == {row[0]: 3}


def test_missing_log_entry_keeps_the_previous_watermark() -> None:
    row, later = key_time(1_000_000), key_time(6_000_000)
    assert past_watermark(row, later, watermarks=(0, 5000, None)) == {row[0]: 2}


def test_no_leftovers_without_clocks_or_versions() -> None:
    assert past_watermark(key_time(0), watermarks=(None, None)) == {}
    assert leftovers_of([Step([])], []) == set()
    nothing = map_for(cases.KEY_TIME, [])
    assert list(past_clock(nothing, cases.KEY_TIME, Clocks.of([], {}), PROVEN)) == []


def test_event_time_of_a_leftover_is_rounded_up_to_ms() -> None:
    (finding,) = leftovers_of([Step([key_time(1_000_001)])], [clock(1, 1001)])
    assert (finding.clock_ms, finding.threshold_ms, finding.fired) == (1001, 1001, 1)


@pytest.mark.parametrize("certainty", Certainty)
def test_leftover_has_certainty_and_reason(certainty: Certainty) -> None:
    state = map_for(cases.KEY_TIME, [Step([key_time(0)])])
    clocks = clocks_by_step(state, [clock(1, 5)])
    (result,) = past_clock(state, cases.KEY_TIME, clocks, certainty, "because")
    assert (result.certainty, result.reason) == (certainty, "because")
    assert (result.timeout_kind, result.needs, result.change) == (None, None, None)


def test_retention_delays_expiry_behind_the_watermark() -> None:
    late = replace(cases.KEY_TIME, delay_ms=1000)
    steps = [Step([key_time(4_000_000), key_time(4_000_001)]), Step([]), Step([])]
    (leftover,) = leftovers_of(steps, at_watermarks(4000, 4999, 5000), late)
    assert leftover == KeyLeftover(cases.micros(4_000_000), PAST, PROVEN, 3, 4000, 5000, 1)


@pytest.mark.parametrize(
    ("inclusive", "covered"), [(True, [999_999, 1_000_000]), (False, [999_999])]
)
def test_processing_time_rule_uses_the_batch_time(inclusive: bool, covered: set[int]) -> None:
    by_time = replace(cases.KEY_TIME, clock=Clock.PROCESSING_TIME, inclusive=inclusive)
    rows = Step([key_time(999_999), key_time(1_000_000), key_time(1_000_001)])
    leftovers = leftovers_of([rows], [clock(1, 0, now=1000)], by_time)
    assert set(attributes(leftovers, "key")) == set(map(cases.micros, covered))
    assert set(attributes(leftovers, "kind")) == {LeftoverClass.PAST_PROCESSING_TIME}


def test_previous_bound_uses_the_watermark_of_the_batch_before() -> None:
    stepwise = replace(cases.KEY_TIME, previous_bound=True)
    first, second = key_time(1_000_000), key_time(2_000_000)
    steps = [Step([first, second]), Step([]), Step([])]
    clocks = at_watermarks(1000, 2000, 2000)
    assert leftovers_of(steps[:1], clocks, stepwise) == set()
    (item,) = leftovers_of(steps[:2], clocks, stepwise)
    assert (item.key, item.version, item.certainty) == (cases.micros(1_000_000), 2, PROVEN)
    assert (item.clock_ms, item.threshold_ms) == (1000, 1000)
    # The next batch removes the second row at the latest.
    versions = attributes(leftovers_of(steps, clocks, stepwise), "key", "version")
    assert dict(versions) == {cases.micros(1_000_000): 2, cases.micros(2_000_000): 3}


def test_after_put_rule_ignores_the_batch_of_the_put() -> None:
    behind = replace(cases.KEY_TIME, after_put=True)
    row = key_time(1_000_000)
    clocks = at_watermarks(1000, 1000, 1000)
    (waits,) = leftovers_of([Step([row])], clocks, behind)
    assert (waits.certainty, waits.version) == (Certainty.UNDECIDED, 1)
    (finding,) = leftovers_of([Step([row]), Step([])], clocks, behind)
    assert (finding.certainty, finding.version) == (PROVEN, 2)
    # The batch of a snapshot's version may have put the rows of the snapshot.
    loaded = Step([row], rebase=True)
    (waits,) = leftovers_of([Step([row]), loaded], clocks, behind)
    assert waits.certainty is Certainty.UNDECIDED
    (finding,) = leftovers_of([Step([row]), loaded, Step([])], clocks, behind)
    assert finding.version == 3


users = st.sampled_from(list(map(cases.user, "abcd")))
values = st.none() | st.integers(-2, 12).map(lambda middle: cases.micros(middle * 500))
time_rows = st.lists(st.tuples(users, values), max_size=5)


@given(
    history=st.lists(time_rows, min_size=1, max_size=6),
    marks=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    known_from=st.integers(0, 3),
    base=st.integers(0, 3),
)
def test_value_time_leftovers_match_a_reference_computation(
    history: list[list[Record]], marks: list[int], known_from: int, base: int
) -> None:
    """Rows have their time in the value. None removes a row, and a later put replaces its time."""
    steps = list(map(Step, history))
    watermarks = list(accumulate(marks))
    objects, versions = cases.ObjectMap(), []
    for step in steps:
        objects.take(step)
        versions.append(objects.now)
    base = min(base, len(steps) - 1)
    if base:
        loaded = [(key.data, value.data) for key, value in versions[base].items()]
        steps[base] = Step(loaded, rebase=True)
    leftovers = leftovers_of(steps, at_watermarks(*watermarks)[known_from:], cases.VALUE_TIME)

    expected = {}
    for at in reversed(range(max(known_from, base), len(versions))):
        live = set(map(id, versions[at].values()))
        for key, value in versions[-1].items():
            us = int.from_bytes(value.data[8:16], "little", signed=True)
            if id(value) in live and watermarks[at] > 0 and us <= watermarks[at] * 1000:
                expected[key.data] = at + 1
    assert dict(attributes(leftovers, "key", "version")) == expected


@pytest.mark.parametrize(
    ("by", "kind"),
    [
        (Clock.WATERMARK, LeftoverClass.PAST_WATERMARK),
        (Clock.PROCESSING_TIME, LeftoverClass.PAST_PROCESSING_TIME),
    ],
)
def test_clock_rule_needs_no_timers(by: Clock, kind: LeftoverClass) -> None:
    expiry = replace(cases.KEY_TIME, clock=by)
    track = cases.tracked(expiry, cases.EVENT_TIME, cases.EXPIRES_AT)
    state, _, _ = replay([Step([(cases.micros(5000), b"")]), Step([])], track)
    clocks = clocks_by_step(state, [clock(1, 10), clock(2, 20, data=False)])
    (result,) = past_clock(state, expiry, clocks, Certainty.INFERRED, "because")
    assert (result.kind, result.certainty, result.reason) == (kind, Certainty.INFERRED, "because")
