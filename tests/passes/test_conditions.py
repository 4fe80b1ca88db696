"""Conditions on fields, against the same comparison in Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.arrow_types import arrow_type
from inspector.exceptions import CheckpointError
from inspector.passes.conditions import (
    KEY,
    VALUE,
    Condition,
    Term,
    condition_of,
    conditions_of_object,
    no_field,
)
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from tests.attributes import attributes

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KEYS = parse_ddl("user string, window struct<start:timestamp,end:timestamp>, value struct<n:int>")
VALUES = parse_ddl("count bigint, score double, price decimal(9,2), tags array<bigint>, n int")


def holds(schema: StructType, text: str, cells: list[Any]) -> list[bool]:
    """Which values of the schema's one field meet a term."""
    (field,) = schema.fields
    side, (condition,) = condition_of(Term.parse(text), {VALUE: schema})
    assert side == VALUE
    column = pa.array(cells, arrow_type(field.data_type))
    rows = pa.StructArray.from_arrays([column], [field.name])
    result: list[bool] = condition.holds(rows).tolist()
    return result


@given(
    st.lists(st.none() | st.integers(-3, 3)),
    st.integers(-3, 3),
    st.sampled_from(sorted(COMPARISONS)),
)
def test_every_comparison_is_that_of_numbers_and_none_is_met_by_null(
    cells: list[int | None], wanted: int, sign: str
) -> None:
    schema = parse_ddl("x bigint")
    expected = [cell is not None and COMPARISONS[sign](cell, wanted) for cell in cells]
    assert holds(schema, f"x{sign}{wanted}", cells) == expected
    assert holds(schema, f"value.x {sign} {wanted}", cells) == expected


def test_text_decimals_and_times_have_their_own_order() -> None:
    assert holds(parse_ddl("x string"), "x>=b", ["a", "b", "c", None]) == [False, True, True, False]
    prices = [Decimal("1.10"), Decimal("2.00")]
    assert holds(parse_ddl("x decimal(9,2)"), "x<1.5", prices) == [True, False]
    times = [1_704_067_200_000_000, 1_704_067_200_000_001]
    assert holds(parse_ddl("x timestamp"), "x>2024-01-01T00:00:00Z", times) == [False, True]


def test_not_a_number_is_above_all_numbers_as_in_spark() -> None:
    cells, schema = [1.0, math.nan, None], parse_ddl("x double")
    assert holds(schema, "x>0", cells) == [True, True, False]
    assert holds(schema, "x<0", cells) == [False, False, False]
    assert holds(schema, "x=NaN", cells) == [False, True, False]
    assert holds(schema, "x!=NaN", cells) == [True, False, False]


def test_null_is_met_by_null_alone() -> None:
    schema = parse_ddl("x bigint")
    assert holds(schema, "x=null", [1, None]) == [False, True]
    assert holds(schema, "x!=null", [1, None]) == [True, False]
    nested = parse_ddl("x array<bigint>")
    assert holds(nested, "x=[1]", [[1], [2], None]) == [True, False, False]
    assert holds(nested, "x!=[1]", [[1], [2], None]) == [False, True, False]


def test_a_null_row_meets_nothing() -> None:
    rows = pa.array([None, {"x": None}], pa.struct([("x", pa.int64())]))
    assert Condition((0,)).holds(rows).tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "side", "path"),
    [
        ("user", KEY, (0,)),
        ("window.end", KEY, (1, 1)),
        ("key.window.end", KEY, (1, 1)),
        ("count", VALUE, (0,)),
        ("value.count", VALUE, (0,)),
        ("value.n", VALUE, (4,)),  # the value's own field goes before the key's struct
        ("key.value.n", KEY, (2, 0)),
    ],
)
def test_a_name_is_looked_for_in_key_and_value(name: str, side: str, path: tuple[int, ...]) -> None:
    result, (condition,) = condition_of(Term.parse(f"{name}=null"), {KEY: KEYS, VALUE: VALUES})
    assert (result, condition.path) == (side, path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "usr=a",
            "no field 'usr'; did you mean key.user? The fields are key.user string, key.window",
        ),
        ("value.cuont>1", "did you mean value.count?"),
        ("key.count=1", "no field 'key.count'"),
        ("count>many", "count: got 'many', expected a whole number"),
        ("tags>[1]", "tags: got '[1]', which > cannot compare with"),
        ("count<null", "count: got 'null', which < cannot compare with"),
        ("score>NaN", "score: got 'NaN', which > cannot compare with"),
        ("count", "expected NAME=VALUE, or another comparison"),
        ("", "expected NAME=VALUE"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        condition_of(Term.parse(text), {KEY: KEYS, VALUE: VALUES})
    assert words in str(caught.value)


def test_spaces_count_unless_one_stands_before_the_sign() -> None:
    assert Term.parse("user= a") == Term("user", "=", " a")
    assert Term.parse("user = a ") == Term("user", "=", "a")
    assert Term.parse("user=a=b<c") == Term("user", "=", "a=b<c")
    assert Term.parse("n<>1").compare == "!="


def test_an_object_says_something_of_each_of_its_fields() -> None:
    conditions = list(conditions_of_object(KEYS, {"user": "a", "window": {"end": None}}))
    assert attributes(conditions, "path", "present") == [
        ((0,), False),
        ((1,), True),
        ((1, 1), False),
    ]
    with pytest.raises(CheckpointError, match=r"did you mean window\.end"):
        list(conditions_of_object(KEYS, {"window": {"endd": None}}))


def test_of_many_fields_the_first_are_listed() -> None:
    ddl = parse_ddl(", ".join(f"f{n} int" for n in range(30)))
    assert str(no_field("g", {KEY: ddl})).endswith("f23 int and 6 more")
    assert "The fields are none" in str(no_field("g", {KEY: StructType()}))


TEXT = parse_ddl("user string")


@pytest.mark.parametrize(
    ("term", "met"),
    [
        ("user~=^u[0-9]$", [True, False, False, False]),
        ("user ~= u2", [False, True, False, False]),
        ("user contains .x", [False, False, True, False]),
        ("user contains a=b", [False, False, False, False]),
    ],
)
def test_text_is_searched_by_an_expression_or_for_a_part(term: str, met: list[bool]) -> None:
    assert holds(TEXT, term, ["u1", "u22", "a.x", None]) == met


def test_only_text_is_searched_and_only_by_an_expression_that_is_one() -> None:
    with pytest.raises(CheckpointError, match="~= is for text, and the field is bigint"):
        holds(parse_ddl("count bigint"), "count~=1", [1])
    with pytest.raises(CheckpointError, match=r"user: got '\(', "):
        holds(TEXT, "user~=(", ["a"])
