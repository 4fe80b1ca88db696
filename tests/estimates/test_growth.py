"""Robust growth and what is drawn of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.estimates.growth import MS_PER_HOUR, growth, sparkline


def test_a_straight_line_has_its_own_slope() -> None:
    found = growth([0, 1000, 2000, 4000], [10, 20, 30, 50])
    assert found is not None
    assert found.per_hour == pytest.approx(10 * MS_PER_HOUR / 1000)
    assert (found.newest, found.newest_ms, found.points) == (50, 4000, 4)


def test_one_batch_that_evicts_a_lot_does_not_bend_it() -> None:
    values = [100 * i for i in range(20)]
    values[13] = 0
    found = growth([1000 * i for i in range(20)], values)
    assert found is not None
    assert found.per_hour == pytest.approx(100 * MS_PER_HOUR / 1000)


def test_a_limit_is_met_where_the_line_meets_it() -> None:
    found = growth([0, MS_PER_HOUR], [0, 100])
    assert found is not None
    assert found.reaches_ms(300) == 3 * MS_PER_HOUR
    assert found.reaches_ms(100) == MS_PER_HOUR


def test_what_does_not_grow_meets_no_limit() -> None:
    found = growth([0, MS_PER_HOUR], [100, 50])
    assert found is not None
    assert found.reaches_ms(300) is None


@pytest.mark.parametrize(("times", "values"), [([], []), ([5], [1]), ([5, 5], [1, 2])])
def test_no_time_is_no_growth(times: list[int], values: list[int]) -> None:
    assert growth(times, values) is None


def test_many_points_are_thinned_out_and_the_ends_stay() -> None:
    found = growth(list(range(5000)), list(range(5000)))
    assert found is not None
    assert found.per_hour == pytest.approx(MS_PER_HOUR)
    assert (found.newest, found.points) == (4999, 5000)


def test_bars_go_from_nothing_to_the_greatest() -> None:
    assert sparkline([0, 4, 8]) == "▁▄█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


@given(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=300))
def test_bars_are_as_many_as_there_is_room(values: list[int]) -> None:
    bars = sparkline(values, 60)
    assert len(bars) == min(len(values), 60)
    if max(values) and len(values) <= 60:
        assert bars[values.index(max(values))] == "█"
