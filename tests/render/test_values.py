"""Decoded values as JSON values; every word of the module's table."""

import datetime
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.render.values import (
    date_text,
    time_ms_text,
    time_text,
    timestamp_text,
    to_json_values,
)

AT = 1_704_067_200_123_456
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.timestamp("us", "UTC"), AT, "2024-01-01T00:00:00.123456Z"),
        (pa.timestamp("us"), AT, "2024-01-01T00:00:00.123456"),
        (pa.timestamp("ns"), AT * 1000 + 7, "2024-01-01T00:00:00.123456007"),
        (pa.date32(), 19_723, "2024-01-01"),
        (pa.time64("ns"), 45_296_123_456_000, "12:34:56.123456"),
        (pa.binary(), b"\x00\xff", "AP8="),
        (pa.binary(), b"", ""),
        (pa.decimal128(38, 2), Decimal("-12345678901234567890.50"), "-12345678901234567890.50"),
        (pa.decimal128(10, 0), Decimal(7), "7"),
        (pa.int64(), 2**63 - 1, 2**63 - 1),
        (pa.int8(), -128, -128),
        (pa.bool_(), True, True),
        (pa.string(), "Ä", "Ä"),
        (pa.float64(), 0.1, 0.1),
        (pa.float32(), 0.1, 0.1),
        (pa.float64(), float("nan"), "NaN"),
        (pa.float32(), float("inf"), "Infinity"),
        (pa.float64(), float("-inf"), "-Infinity"),
        (pa.list_(pa.binary()), [b"\x00", None], ["AA==", None]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1), ("b", None)], {"a": 1, "b": None}),
        (pa.map_(pa.int32(), pa.string()), [(1, "x")], {"1": "x"}),
        (
            pa.map_(pa.struct([("k", pa.int8())]), pa.bool_()),
            [({"k": 1}, True)],
            [{"key": {"k": 1}, "value": True}],
        ),
        (pa.struct([]), {}, {}),
    ],
    ids=str,
)
def test_a_value_has_one_form(kind: Any, value: Any, expected: Any) -> None:
    array = pa.array([value, None, value], kind)
    assert to_json_values(array) == [expected, None, expected]
    assert to_json_values(array.slice(1)) == [None, expected]
    json.dumps(to_json_values(array), allow_nan=False)


def test_structs_keep_the_names_and_the_order_of_their_fields() -> None:
    kind = pa.struct([("count", pa.int64()), ("a", pa.date32()), ("count#2", pa.int64())])
    array = pa.array([{"count": 1, "a": None, "count#2": 2}, None], kind)
    (row, nothing) = to_json_values(array)
    assert list(row.items()) == [("count", 1), ("a", None), ("count#2", 2)]
    assert nothing is None


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
