"""Values as people give them, read back: the inverse of what our output shows."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.arrow_types import arrow_type
from inspector.passes.key_values import json_of, plain_value, text_value
from inspector.render.values import to_json_values
from inspector.sparktypes import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    StringType,
    StructField,
    StructType,
    UserDefinedType,
)

TIME = AtomicType("time", "time(6)")
PAIR = StructType((StructField("a", INTEGER), StructField("a", StringType())))


_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1}


def _multiples(unit: int) -> st.SearchStrategy[int]:
    return st.integers(-100_000, 100_000).map(lambda n: n * unit)


def intervals(kind: str, *units: str) -> list[AtomicType]:
    names = [(a, b) for i, a in enumerate(units) for b in units[i:]]
    return [AtomicType(kind, f"interval {a}" + f" to {b}" * (a != b)) for a, b in names]


YEAR_MONTHS = intervals("year_month", "year", "month")
DAY_TIMES = intervals("day_time", "day", "hour", "minute", "second")
MOST = (1 << 63) - 1


def stored(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


VALUES: list[tuple[DataType, st.SearchStrategy[Any]]] = [
    (BOOLEAN, st.booleans()),
    (BYTE, stored(8)),
    (SHORT, stored(16)),
    (INTEGER, stored(32)),
    (LONG, stored(64)),
    (FLOAT, st.floats(width=32)),
    (DOUBLE, st.floats()),
    (DecimalType(5, 2), st.decimals("-999.99", "999.99", places=2)),
    (DecimalType(38, 0), st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal)),
    (StringType(), st.text(st.characters(codec="utf-8"))),
    (BINARY, st.binary()),
    (DATE, st.integers(-700_000, 80_000_000)),
    (TIMESTAMP, st.integers(-62_135_596_800_000_000, MOST)),
    (TIMESTAMP_NTZ, st.integers(-62_135_596_800_000_000, MOST)),
    (TIME, st.integers(0, 86_399_999_999_999)),
    (ArrayType(LONG), st.lists(st.none() | stored(64))),
    (ArrayType(TIMESTAMP), st.lists(st.integers(0, MOST))),
    (
        PAIR,
        st.fixed_dictionaries({"a": stored(32), "a#2": st.text(st.characters(codec="utf-8"))}),
    ),
    (UserDefinedType(LONG), stored(64)),
    # Of a unit that the type leaves out nothing is shown.
    *(
        (year_month, _multiples(12 if year_month.name.endswith("year") else 1))
        for year_month in YEAR_MONTHS
    ),
    *((day_time, _multiples(_MICROS[day_time.name.split()[-1]])) for day_time in DAY_TIMES),
]


@given(st.data())
def test_printed_key_values_parse_to_original_values(data: st.DataObject) -> None:
    data_type, values = data.draw(st.sampled_from(VALUES))
    kind = arrow_type(data_type)
    array = pa.array([data.draw(values)], kind)
    (to_json_value,) = to_json_values(array, data_type)
    again = pa.array([plain_value(data_type, json_of(json.dumps(to_json_value)))], kind)
    assert again.equals(array) or math.isnan(array[0].as_py())


@given(
    st.sampled_from([item for item, _ in VALUES]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.decimals() | st.text(max_size=30),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    ),
)
def test_anything_else_is_a_value_error(data_type: DataType, value: Any) -> None:
    try:
        plain = plain_value(data_type, value)
        pa.scalar(plain, arrow_type(data_type))
    except (ValueError, OverflowError, pa.ArrowException):
        return


@pytest.mark.parametrize(
    ("data_type", "text", "value"),
    [
        (TIMESTAMP, "2024-01-01T00:00:00Z", 1_704_067_200_000_000),
        (TIMESTAMP, "2024-01-01 00:00:00.5", 1_704_067_200_500_000),
        (TIMESTAMP, "2024-01-01T02:30:00.000000000+02:30", 1_704_067_200_000_000),
        (TIMESTAMP, "2023-12-31T19:00-0500", 1_704_067_200_000_000),
        (TIMESTAMP, "2024-01-01", 1_704_067_200_000_000),
        (DATE, "2024-02-29", 19_782),
        (TIME, "12:34:56.5", 45_296_500_000_000),
        (LONG, "-12", -12),
        (BOOLEAN, "TRUE", True),
        (DOUBLE, "1e3", 1000.0),
        (DecimalType(3, 1), "12", Decimal("12.0")),
        (DecimalType(3, 1), "1e1", Decimal("10.0")),
        (DecimalType(3, -1), "120", Decimal("1.2E2")),
        (YEAR_MONTHS[1], 14, 14),
        (YEAR_MONTHS[1], "INTERVAL '-1-2' YEAR TO MONTH", -14),
        (DAY_TIMES[0], "interval '2' day", 172_800_000_000),
    ],
)
def test_alternative_spellings_of_key_values(data_type: DataType, text: Any, value: Any) -> None:
    assert plain_value(data_type, text) == value


@pytest.mark.parametrize(
    ("data_type", "value", "words"),
    [
        (TIMESTAMP, "yesterday", "a timestamp such as"),
        (TIMESTAMP, "2023-02-29", "no such day"),
        (TIMESTAMP, "2023-02-28T24:00", "no such time"),
        (TIMESTAMP, "2023-02-28T23:00:00.0000001Z", "at most 6 digits"),
        (TIMESTAMP_NTZ, "2023-02-28T23:00Z", "a timestamp such as"),
        (DATE, "2023-02-28T23:00", "a date"),
        (TIME, "25:00", "no such time"),
        (BYTE, 128, "8 bits"),
        (LONG, "1.5", "whole number"),
        (LONG, True, "whole number"),
        (BOOLEAN, "yes", "true or false"),
        (DOUBLE, "inf", "a number"),
        (DecimalType(3, 1), "1.23", "decimal"),
        (DecimalType(3, 1), "1e99999999", "decimal"),
        (DecimalType(3, 1), "NaN", "decimal number"),
        (DecimalType(3, 1), "x", "decimal number"),
        (BINARY, "?", "base64"),
        (StringType(), 3, "text"),
        (ArrayType(LONG), {}, "array"),
        (PAIR, {"a": 1}, "a, a#2"),
        (VOID, 1, "null"),
        (YEAR_MONTHS[1], "INTERVAL '1' FORTNIGHT", "YEAR TO MONTH"),
        (DAY_TIMES[0], "INTERVAL '1' YEAR", "DAY TO SECOND"),
        (DAY_TIMES[0], "INTERVAL '1 2' DAY", "DAY TO SECOND"),
        (DAY_TIMES[0], "INTERVAL '1x' DAY", "DAY TO SECOND"),
        (VARIANT, 1, "hex"),
        (CALENDAR_INTERVAL, "1 day", "hex"),
    ],
)
def test_a_value_of_another_kind_is_refused_in_words(
    data_type: DataType, value: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        plain_value(data_type, value)


def test_null_is_null_of_any_type() -> None:
    assert plain_value(VARIANT, None) is None
    assert text_value(LONG, "null") is None


def test_text_key_value_is_literal_except_nested_types() -> None:
    assert text_value(LONG, "12") == "12"
    assert text_value(ArrayType(LONG), "[1, 2]") == [1, 2]
    with pytest.raises(ValueError, match="Expecting"):
        text_value(PAIR, "nonsense")


def test_json_keeps_every_digit_of_a_fraction() -> None:
    assert json_of("[1.10]") == [Decimal("1.10")]
    with pytest.raises(ValueError, match="nested"):
        json_of("[" * 100_000)
