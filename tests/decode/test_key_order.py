"""Descents: keys that are below the key before them, in the order of Spark's sort."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise, repeat
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_programs import KeyOrder
from inspector.sparktypes import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    VARIANT,
    VOID,
    YEAR_MONTH_INTERVAL,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
    UserDefinedType,
    atomic,
)
from inspector.sparktypes.schema_json import parse_schema_json, to_json
from tests import encode
from tests.attributes import attributes
from tests.cases import KERNELS, block, kernel_of
from tests.decode.arrow_values import Typed, decode, schemas
from tests.decode.spans import damaged
from tests.rocks import struct_of


def schema(*types: DataType) -> StructType:
    """Return a key schema with fields of these types."""
    return struct_of(*types)


PAIR = StructType((StructField("a", LONG), StructField("b", LONG)))


def descents(key: StructType, rows: list[tuple[Any, ...]]) -> list[bool]:
    """Return whether each key is below the key before it."""
    return descents_of(key, encode.rows(key, rows))


def descents_of(key: StructType, rows: list[bytes]) -> list[bool]:
    """Return the descents of encoded keys, and check that all kernels agree."""
    item = block(list(zip(rows, repeat(b"\0" * 16), strict=False)))
    result = []
    for name in KERNELS:
        with kernel_of(name):
            result.append(KeyOrder(key).descends(item).tolist())
    assert result[0] == result[-1]
    return list(result[0])


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (LONG, [-5, 3, 3, 2]),
        (INTEGER, [-5, 3, 3, 2]),
        (StringType(), ["", "a", "a", "Z"]),
        (StringType(), ["z", "é", "é", "y"]),
        (BINARY, [b"", b"\x01", b"\x01", b"\x00\xff"]),
        (BOOLEAN, [False, True, True, False]),
        (TIMESTAMP, [-1, 5, 5, 4]),
        (DecimalType(20, 2), [*map(Decimal, ["-5.00", "3.00", "3.00", "2.99"])]),
        (DecimalType(9, 2), [*map(Decimal, ["-5.00", "3.00", "3.00", "2.99"])]),
        (DOUBLE, [-0.0, 0.0, -0.0, -1e-300]),
        (DOUBLE, [-2.0, math.nan, math.nan, math.inf]),
        (FLOAT, [math.inf, math.nan, math.nan, math.inf]),
        (FLOAT, [-2.0, -0.0, 0.0, -1.5]),
        (SHORT, [-300, 255, 256, 255]),
        (BYTE, [-128, -1, 127, 126]),
        (DATE, [-1, 5, 5, 4]),
        (atomic("time(6)"), [0, 5, 5, 4]),
        (atomic("timestamp_ntz(9)"), [(-1, 9), (0, 5), (0, 6), (0, 5)]),
        (YEAR_MONTH_INTERVAL, [-1, 5, 5, 4]),
        (DAY_TIME_INTERVAL, [-1, 5, 5, 4]),
        (StringType(declared="char(3)"), ["", "a", "a", "Z"]),
        (StringType(), [b"\xef\xbf\xbe", b"\xfe", b"\xff", b"\xfe"]),  # no UTF-8
        (ArrayType(LONG), [[], [None, 7], [2], [1, 9]]),
        (ArrayType(LONG), [None, [1], [1, 2], [1]]),
        (ArrayType(BOOLEAN), [[False] * 9, [True], [True, False], [True, None]]),
        (ArrayType(StringType()), [["a", "z"], ["a\0"], ["b"], ["a\0\0", "c"]]),
        (PAIR, [None, (None, None), (None, 0), None]),
        (PAIR, [(1, 9), (2, 1), (2, 1), (2, 0)]),
        (ArrayType(PAIR), [[None], [(None, None)], [(None, 1), None], [None, (9, 9)]]),
        (StructType((StructField("a", ArrayType(PAIR)),)), [([],), ([None],), ([(1, 1)],), ([],)]),
        (UserDefinedType(PAIR), [None, (None, None), (None, 0), (None, None)]),
    ],
)
def test_only_the_last_value_descends(data_type: DataType, values: list[Any]) -> None:
    assert descents(schema(data_type), list(zip(values, strict=True))) == [False] * 3 + [True]


def test_nulls_sort_first() -> None:
    assert descents(schema(LONG), [(None,), (None,), (1,), (None,)]) == [False] * 3 + [True]


def test_later_fields_decide_if_earlier_fields_are_equal() -> None:
    rows = [("a", 2), ("a", 3), ("b", 1), ("b", 0), ("c", None)]
    expected = [False, False, False, True, False]
    assert descents(schema(StringType(), LONG), rows) == expected


def test_fields_of_structs_are_compared_in_order() -> None:
    nested = schema(StructType((StructField("a", LONG), StructField("b", LONG))))
    assert descents(nested, [((1, 9),), ((2, 1),), ((2, 0),)]) == [False, False, True]


UNORDERED: list[tuple[DataType, Any, Any]] = [
    (MapType(LONG, LONG), [(2, 2)], [(1, 1)]),
    (VARIANT, (b"b", b""), (b"a", b"")),
    (CALENDAR_INTERVAL, (2, 0, 0), (1, 0, 0)),
    (atomic("geometry(0)"), b"b", b"a"),
    (ArrayType(MapType(LONG, LONG)), [None, None], [None]),
    (StructType((StructField("a", LONG), StructField("b", VARIANT))), (2, None), (1, None)),
]


@pytest.mark.parametrize(("data_type", "high", "low"), UNORDERED)
def test_no_descent_from_the_first_unordered_type_on(
    data_type: DataType, high: Any, low: Any
) -> None:
    rows = [(3, high, 9), (3, low, 8), (3, None, 7), (3, None, 6), (2, high, 9)]
    assert descents(schema(LONG, data_type, LONG), rows) == [False] * 4 + [True]


@pytest.mark.parametrize("collation", ["UNICODE", "UTF8_LCASE", "UTF8_BINARY_RTRIM"])
@pytest.mark.parametrize(
    ("column", "a", "b"),
    [(lambda text: text, "a", "b"), (ArrayType, ["a"], ["b"]), (struct_of, ("a",), ("b",))],
    ids=["text", "array", "struct"],
)
def test_collated_text_is_compared_only_for_null_and_equality(
    column: Any, a: Any, b: Any, collation: str
) -> None:
    text = StringType(collation=collation)
    key = schema(LONG, column(text), LONG)
    rows = [(3, b, 9), (3, a, 8), (3, a, 7), (3, None, 7), (3, None, 6), (2, b, 9)]
    assert descents(key, rows) == [False, False, True, True, True, True]


def test_collation_is_read_from_the_schema_file() -> None:
    key = schema(StringType(collation="UNICODE"), ArrayType(StringType(collation="de_CI")))
    assert descents(parse_schema_json(to_json(key)), [("b", ["b"]), ("a", ["a"])]) == [False, False]
    assert descents(parse_schema_json(to_json(key)), [("b", ["b"]), ("b", ["a"])]) == [False, False]
    plain = schema(StringType(), ArrayType(StringType()))
    assert descents(parse_schema_json(to_json(plain)), [("b", ["b"]), ("b", ["a"])])[1]


def test_void_is_always_equal() -> None:
    assert descents(schema(VOID, LONG), [(None, 2), (None, 1)]) == [False, True]


@pytest.mark.parametrize("kernel", KERNELS)
def test_keys_that_do_not_fit_the_schema_have_no_descents(kernel: str) -> None:
    assert descents(schema(LONG), [(2,)]) == [False]
    # A row that is too short for its schema makes its whole block unknown.
    assert descents_of(schema(LONG), [b"\0" * 16, b"\0" * 8, b"\0" * 16]) == [False] * 3
    # So does a row that is not of whole words.
    two, one = encode.row(schema(LONG), (2,)), encode.row(schema(LONG), (1,))
    assert descents_of(schema(LONG), [two, one, two]) == [False, True, False]
    assert descents_of(schema(LONG), [two, one, two + b"x"]) == [False] * 3
    # So does a wrong value of a field that no comparison reads.
    pair = schema(LONG, BOOLEAN)
    two, one = encode.row(pair, (2, True)), encode.row(pair, (1, True))
    assert descents_of(pair, [two, one]) == [False, True]
    assert descents_of(pair, [two, one[:16] + b"\2" + one[17:]]) == [False, False]
    # So does a block with more values than are checked at once.
    key = schema(ArrayType(LONG))
    rows = block([(encode.row(key, ([2, 2],)), b""), (encode.row(key, ([1, 1],)), b"")])
    with kernel_of(kernel), mock.patch("inspector.decode._cells.MOST_CELLS", 3):
        assert not KeyOrder(key).descends(rows).any()


# --- a comparison of decoded values, written after Spark's documentation -------------------------


def reference(data_type: DataType, first: Any, second: Any) -> int:
    """Compare two values. Return -1, 0 or 1."""
    if first is None or second is None:
        return (first is not None) - (second is not None)
    if isinstance(data_type, StructType):
        types = attributes(data_type.fields, "data_type")
        return first_difference(zip(types, first, second, strict=True))
    if isinstance(data_type, ArrayType):
        parts = ((data_type.element, a, b) for a, b in zip(first, second, strict=False))
        return first_difference(parts) or (len(first) > len(second)) - (len(first) < len(second))
    first, second = (v.encode() if isinstance(v, str) else v for v in (first, second))
    return int(first > second) - int(first < second)


def first_difference(parts: Iterable[tuple[DataType, Any, Any]]) -> int:
    return next((way for part in parts if (way := reference(*part))), 0)


def sorted_by_spark(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return all(sorted_by_spark(field.data_type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return sorted_by_spark(data_type.element)
    return not isinstance(data_type, MapType) and data_type not in (
        CALENDAR_INTERVAL,
        VARIANT,
        atomic("geometry(SRID:0)"),
    )


@given(schemas, st.data())
def test_descents_of_any_schema_match_a_reference_comparison(
    whole: Typed, data: st.DataObject
) -> None:
    key, values = whole
    assert isinstance(key, StructType)
    rows = data.draw(st.lists(values, min_size=1, max_size=4))
    rows = data.draw(st.lists(st.sampled_from(rows), min_size=2, max_size=8))
    sure = next((i for i, f in enumerate(key.fields) if not sorted_by_spark(f.data_type)), None)
    begin = StructType(key.fields[:sure])
    expected = [reference(begin, a[:sure], b[:sure]) > 0 for a, b in pairwise(rows)]
    assert descents(key, rows) == [False, *expected]


@given(schemas, st.data())
def test_key_order_is_antisymmetric(whole: Typed, data: st.DataObject) -> None:
    key, values = whole
    assert isinstance(key, StructType)
    rows = encode.rows(key, data.draw(st.lists(values, max_size=6)))
    ordered: list[bytes] = []
    for row in rows:  # each is inserted before the first row that it is below
        places = [i for i, item in enumerate(ordered) if any(descents_of(key, [item, row]))]
        ordered.insert((*places, len(ordered))[0], row)
    assert not (sorted_by_spark(key) and any(descents_of(key, ordered)))
    for first, second in pairwise(ordered):
        pair = descents_of(key, [first, second])[1], descents_of(key, [second, first])[1]
        assert pair != (True, True)


@given(schemas, st.data())
def test_damaged_keys_have_no_descents(whole: Typed, data: st.DataObject) -> None:
    key, values = whole
    assert isinstance(key, StructType)
    rows = encode.rows(key, data.draw(st.lists(values, max_size=3)))
    rows = [damaged(row, data, least=0) for row in rows]
    assert not (any(descents_of(key, rows)) and decode(key, rows).misfits)


@given(schemas, st.lists(st.binary(max_size=20).map(lambda part: part * 8), max_size=4))
def test_any_bytes_give_descents_only_if_they_fit(whole: Typed, rows: list[bytes]) -> None:
    key, _ = whole
    assert isinstance(key, StructType)
    assert not (any(descents_of(key, rows)) and decode(key, rows).misfits)


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-3, 3) | st.none()), max_size=12))
def test_key_order_is_the_order_of_utf8_bytes_and_numbers(
    rows: list[tuple[str, int | None]],
) -> None:
    def sort_key(row: tuple[str, int | None]) -> tuple[bytes, bool, int]:
        return row[0].encode(), row[1] is not None, row[1] or 0

    result = descents(schema(StringType(), LONG), rows)
    assert result[1:] == [sort_key(b) < sort_key(a) for a, b in pairwise(rows)]
    assert any(result) == (sorted(rows, key=sort_key) != rows)
