"""Robust growth, trends and sparklines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.estimates.growth import MS_PER_HOUR, Trend, growth, sparkline, trend


def test_growth_of_a_straight_line() -> None:
    result = growth([0, 1000, 2000, 4000], [10, 20, 30, 50])
    assert result is not None
    assert result.per_hour == pytest.approx(10 * MS_PER_HOUR / 1000)
    assert (result.newest, result.newest_ms, result.points) == (50, 4000, 4)


def test_growth_ignores_one_large_eviction() -> None:
    values = list(range(0, 2000, 100))
    values[13] = 0
    result = growth(range(0, 20_000, 1000), values)
    assert result is not None
    assert result.per_hour == pytest.approx(100 * MS_PER_HOUR / 1000)


def test_time_at_which_growth_reaches_a_limit() -> None:
    result = growth([0, MS_PER_HOUR], [0, 100])
    assert result is not None
    assert result.reaches_ms(300) == 3 * MS_PER_HOUR
    assert result.reaches_ms(100) == MS_PER_HOUR


def test_shrinking_state_reaches_no_limit() -> None:
    result = growth([0, MS_PER_HOUR], [100, 50])
    assert result is not None
    assert result.reaches_ms(300) is None


@pytest.mark.parametrize(("times", "values"), [([], []), ([5], [1]), ([5, 5], [1, 2])])
def test_growth_needs_two_different_times(times: list[int], values: list[int]) -> None:
    assert growth(times, values) is None


def test_growth_of_many_points_keeps_the_newest() -> None:
    result = growth(list(range(5000)), list(range(5000)))
    assert result is not None
    assert result.per_hour == pytest.approx(MS_PER_HOUR)
    assert (result.newest, result.points) == (4999, 5000)


def test_sparkline_bars_scale_from_zero_to_the_maximum() -> None:
    assert sparkline([0, 4, 8]) == "▁▄█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""
    assert sparkline([8] * 100) == "█" * 60


@given(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=300))
def test_sparkline_length_is_limited(values: list[int]) -> None:
    assert len(sparkline(values, 60)) == min(len(values), 60)


@given(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=60).filter(any))
def test_largest_value_has_the_highest_sparkline_bar(values: list[int]) -> None:
    assert sparkline(values, 60)[values.index(max(values))] == "█"


# --- trends --------------------------------------------------------------------------------------


def judged(values: Iterable[float]) -> Trend:
    """Return the trend of values, one per minute."""
    rounded = list(map(round, values))
    result = trend(range(0, 60_000 * len(rounded), 60_000), rounded)
    assert result is not None
    return result


@pytest.mark.parametrize(
    "values",
    [
        [50, 100, 150, 200, 250, 300],
        [0, 1, 2, 3, 4, 5, 6, 7],
        [44, 56, 65, 74, 83, 83, 92, 101, 101, 110, 119, 128, 128],
        list(range(1_000_000, 1_000_100)),
        [500, 100, 600, 200, 700, 300, 800, 400, 900, 500, 1000, 600, 1100, 700, 1200, 800],
        [*range(100, 1300, 50), 1250, 1300, 1350, 1340, 1330, 1400],
        [*range(100, 1300, 50), 1000, 1050, 1100],
    ],
    ids=[
        *("a line", "from nothing", "in steps", "a little, always", "a sawtooth that rises"),
        *("a leak with a few removals", "a line that was cut"),
    ],
)
def test_rising_values_are_growing(values: list[int]) -> None:
    result = judged(values)
    assert result.growing
    assert result.line.per_hour > 0


@pytest.mark.parametrize(
    "values",
    [
        [7] * 10,
        [9, 8, 7, 6, 5, 4, 3, 2],
        [0, 100, 200, 300] * 3,
        [0, 100, 200, 300, 400, 0, 100, 200, 300, 400, 0, 100, 200, 300],
        [50, 100, 150, 200, 200, 200, 200, 200, 200],
        [50, 100, 150, 200, 150, 150, 200, 150, 200, 100],
        [60, 90, 120, 133, 133, 104, 134, 134, 133, 103],
        [100] * 9 + [5000],
        [100] * 7 + [5000] * 3,
        [10, 20, 30, 40, 50],
        [50, 100, 150, 200, 300, 100],
        [*range(100, 1300, 50), 1300, 1250, 1300, 1250],
        [*range(100, 1300, 50), 1300, 1290, 1310, 1250, 1300, 1280],
    ],
    ids=[
        *("the same", "less", "teeth", "teeth that are cut", "a window that fills"),
        *("windows", "sessions", "one big batch", "one big batch before", "too few"),
        *("a tooth that is over", "a delay that is full", "a delay and uneven batches"),
    ],
)
def test_steady_or_fluctuating_values_are_not_growing(values: list[int]) -> None:
    assert not judged(values).growing


@pytest.mark.full
def test_random_noise_seldom_counts_as_growth() -> None:
    draw = np.random.default_rng(1)

    def window(n: int) -> npt.NDArray[np.int64]:
        """Return the rows of a full window of five batches."""
        return np.convolve(draw.poisson(50, n + 4), np.ones(5, np.int64), "valid")

    steady: dict[str, Callable[[int], Iterable[float]]] = {
        "noise": lambda n: 1000 + draw.normal(0, 50, n),
        "arrivals": lambda n: draw.poisson(50, n),
        "window": window,
        "walk": lambda n: 10_000 + np.cumsum(draw.normal(0, 10, n)),
    }
    for n in (7, 8, 10, 13, 30, 100):
        for name, make in steady.items():
            wrong = sum(judged(make(n)).growing for _ in range(200))
            assert wrong <= 24, (name, n, wrong)
        grown = sum(judged(np.cumsum(draw.poisson(5, n)) + 10_000.0).growing for _ in range(100))
        assert grown >= 97, (n, grown)


def test_trend_line_starts_where_growth_starts() -> None:
    result = judged([100, 102, 99, 101, 100, 150, 200, 250, 300, 350])
    assert (result.growing, result.start) == (True, 4)
    assert result.line.per_hour == pytest.approx(50 * 60)
    complete = judged(range(0, 500, 50))
    assert (complete.start, complete.line.points) == (0, 10)


def test_trend_line_of_steady_values_spans_all_points() -> None:
    result = judged([100, 50, 100, 50, 100])
    assert (result.growing, result.start, result.line.points) == (False, 0, 5)


@pytest.mark.parametrize(("newest_ms", "judged"), [(31_000, True), (30_999, False)])
def test_trend_is_judged_from_half_a_minute_on(newest_ms: int, judged: bool) -> None:
    times = [1000, 7000, 13_000, 19_000, 25_000, newest_ms]
    result = trend(times, [10, 20, 30, 40, 50, 60])
    assert result is not None
    assert result.judged is judged


@pytest.mark.parametrize(("times", "values"), [([], []), ([5], [1]), ([5, 5], [1, 2])])
def test_trend_needs_two_different_times(times: list[int], values: list[int]) -> None:
    assert trend(times, values) is None


def test_trend_of_several_batches_at_one_time() -> None:
    result = trend([0, 1, 2, 3, 4, 4, 4], [100, 101, 100, 101, 20, 200, 300])
    assert result is not None
    assert (result.start, result.line.points) == (0, 7)
