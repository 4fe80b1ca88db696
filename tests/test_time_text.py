"""Moments, dates and times of day as text."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.time_text import date_text, time_ms_text, time_text, timestamp_text

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@given(st.datetimes(timezones=st.just(datetime.timezone.utc)))
def test_timestamps_are_those_of_the_calendar(moment: datetime.datetime) -> None:
    micros = (moment - EPOCH) // datetime.timedelta(microseconds=1)
    assert timestamp_text(micros) == moment.strftime(f"{moment.year:04}-%m-%dT%H:%M:%S.%fZ")
    assert date_text(micros // 86_400_000_000) == moment.date().isoformat()


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_64_bits_are_a_timestamp(micros: int) -> None:
    text = timestamp_text(micros)
    assert text.endswith(f"{micros % 1_000_000:06}Z")
    assert time_ms_text(micros // 1000) == f"{timestamp_text(micros // 1000 * 1000)[:-4]}Z"


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (11_016, "2000-02-29"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
    ],
)
def test_dates_go_beyond_four_digits(days: int, expected: str) -> None:
    assert date_text(days) == expected


@pytest.mark.parametrize(
    ("nanos", "expected"),
    [(0, "00:00:00"), (1, "00:00:00.000000001"), (86_399_500_000_000, "23:59:59.5")],
)
def test_times_of_day_drop_trailing_zeros(nanos: int, expected: str) -> None:
    assert time_text(nanos) == expected
