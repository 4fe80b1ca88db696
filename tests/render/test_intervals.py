"""Intervals in Spark's words: the examples are what Spark 4.3 printed for these values."""

import pytest

from inspector.render.values import calendar_text, day_time_text, year_month_text


@pytest.mark.parametrize(
    ("months", "name", "expected"),
    [
        (16, "interval year to month", "INTERVAL '1-4' YEAR TO MONTH"),
        (-16, "interval year to month", "INTERVAL '-1-4' YEAR TO MONTH"),
        (0, "interval year to month", "INTERVAL '0-0' YEAR TO MONTH"),
        (24, "interval year", "INTERVAL '2' YEAR"),
        (-5, "interval month", "INTERVAL '-5' MONTH"),
    ],
)
def test_years_and_months(months: int, name: str, expected: str) -> None:
    assert year_month_text(months, name) == expected


SECOND = 1_000_000
DAY = 86_400 * SECOND


@pytest.mark.parametrize(
    ("micros", "name", "expected"),
    [
        (
            4 * DAY + 3723 * SECOND + 500_000,
            "interval day to second",
            "4 01:02:03.5' DAY TO SECOND",
        ),
        (-(DAY + SECOND), "interval day to second", "-1 00:00:01' DAY TO SECOND"),
        (0, "interval day to second", "0 00:00:00' DAY TO SECOND"),
        (2 * DAY, "interval day", "2' DAY"),
        (2 * DAY + 3600 * SECOND, "interval day to hour", "2 01' DAY TO HOUR"),
        (90 * 60 * SECOND, "interval hour to minute", "01:30' HOUR TO MINUTE"),
        (5 * SECOND, "interval second", "05' SECOND"),
        (100 * 3600 * SECOND, "interval hour", "100' HOUR"),
        (90 * SECOND + 1, "interval minute to second", "01:30.000001' MINUTE TO SECOND"),
    ],
)
def test_days_to_seconds(micros: int, name: str, expected: str) -> None:
    assert day_time_text(micros, name) == f"INTERVAL '{expected}"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((27, 28, 27 * SECOND), "2 years 3 months 28 days 27 seconds"),
        ((-13, 0, -3_661_500_000), "-1 years -1 months -1 hours -1 minutes -1.5 seconds"),
        ((0, 0, 0), "0 seconds"),
        ((0, -1, 1), "-1 days 0.000001 seconds"),
    ],
)
def test_calendar_intervals(parts: tuple[int, int, int], expected: str) -> None:
    assert calendar_text(*parts) == expected
