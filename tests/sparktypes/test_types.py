"""Spark's types as values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import DecodeError
from inspector.sparktypes import (
    LONG,
    DecimalType,
    StructField,
    decimal_type,
    unique_names,
    widen_timeout,
)
from inspector.sparktypes.ddl import parse_ddl, to_ddl


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["count", "sum", "count", "count"], ["count", "sum", "count#2", "count#3"]),
        (["a", "a", "a#2"], ["a", "a#3", "a#2"]),
        (["a#2", "a", "a"], ["a#2", "a", "a#3"]),
        (["a", "a", "a#2", "a#2"], ["a", "a#3", "a#2", "a#2#2"]),
    ],
)
def test_unique_names(names: list[str], expected: list[str]) -> None:
    assert unique_names([StructField(name, LONG) for name in names]) == expected


@given(st.lists(st.sampled_from(["a", "a#2", "a#3", "a#2#2", "b"]), max_size=9))
def test_unique_names_never_collide(names: list[str]) -> None:
    unique = unique_names([StructField(name, LONG) for name in names])
    assert len(set(unique)) == len(names)
    assert set(names) <= set(unique)


def test_the_timer_of_group_state_v1_is_a_long() -> None:
    v1 = parse_ddl("cnt int, timeoutTimestamp int")
    assert to_ddl(widen_timeout(v1)) == "cnt int, timeoutTimestamp bigint"
    for ddl in ("", "timeoutTimestamp int, cnt int", "cnt int, timeoutTimestamp bigint"):
        assert widen_timeout(parse_ddl(ddl)) == parse_ddl(ddl)


def test_decimals_that_spark_has() -> None:
    assert decimal_type(38, 38) == DecimalType(38, 38)
    for precision, scale in ((0, 0), (39, 0), (5, 6), (5, -39)):
        with pytest.raises(DecodeError, match="not a type that Spark has"):
            decimal_type(precision, scale)
