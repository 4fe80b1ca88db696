"""Where keys stop to ascend, as Spark's sort has it."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.key_order import KeyOrder
from inspector.sparktypes import (
    BINARY,
    BOOLEAN,
    INTEGER,
    LONG,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    StringType,
    StructField,
    StructType,
)
from tests import encode
from tests.cases import block


def schema(*types: DataType) -> StructType:
    """A key of fields of these types."""
    return StructType(tuple(StructField(f"f{i}", each) for i, each in enumerate(types)))


def descents(key: StructType, rows: list[tuple[Any, ...]]) -> list[bool]:
    """What is told of some keys, each with a value."""
    one = block([(encode.row(key, row), b"\0" * 16) for row in rows])
    return list(KeyOrder(key).descends(one).tolist())


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
        (DecimalType(20, 2), [Decimal(n).scaleb(-2) for n in (-500, 300, 300, 299)]),
    ],
)
def test_the_last_of_these_is_below_the_one_before(data_type: DataType, values: list[Any]) -> None:
    assert descents(schema(data_type), [(value,) for value in values]) == [False] * 3 + [True]


def test_nulls_come_first() -> None:
    assert descents(schema(LONG), [(None,), (None,), (1,), (None,)]) == [False] * 3 + [True]


def test_later_fields_decide_where_earlier_ones_are_equal() -> None:
    rows = [("a", 2), ("a", 3), ("b", 1), ("b", 0), ("c", None)]
    expected = [False, False, False, True, False]
    assert descents(schema(StringType(), LONG), rows) == expected


def test_fields_of_structs_are_compared_in_order() -> None:
    nested = schema(StructType((StructField("a", LONG), StructField("b", LONG))))
    assert descents(nested, [((1, 9),), ((2, 1),), ((2, 0),)]) == [False, False, True]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "a\0", "aé", "a" * 9, "a" * 99]) | st.none(),
            st.integers(-(1 << 63), (1 << 63) - 1) | st.none(),
            st.sampled_from([-(1 << 31), -1, 0, (1 << 31) - 1]) | st.none(),
        ),
        max_size=12,
    )
)
def test_keys_are_compared_where_they_lie_as_decoded_ones_are(rows: list[tuple[Any, ...]]) -> None:
    types = (StringType(), LONG, INTEGER)
    decoded = descents(schema(*types, BOOLEAN), [(*row, True) for row in rows])
    assert descents(schema(*types), rows) == decoded


def test_what_cannot_be_compared_gives_no_evidence() -> None:
    key = schema(ArrayType(LONG))
    assert descents(key, [([2],), ([1],)]) == [False, False]
    assert descents(schema(LONG), [(2,)]) == [False]
    # One row that does not fit its schema: nothing is said of its block.
    one = block([(b"\0" * 16, b""), (b"\0" * 8, b""), (b"\0" * 16, b"")])
    assert not KeyOrder(schema(LONG)).descends(one).any()
    # The same if it has room for its fields: the second is below, the third is not whole words.
    below = [encode.row(schema(LONG), (value,)) for value in (2, 1, 3)]
    one = block([(below[0], b""), (below[1], b""), (below[2] + b"x", b"")])
    assert not KeyOrder(schema(LONG)).descends(one).any()


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(-3, 3) | st.none()), max_size=12))
def test_it_is_the_order_of_utf8_bytes_and_numbers(rows: list[tuple[str, int | None]]) -> None:
    def place(row: tuple[str, int | None]) -> tuple[bytes, bool, int]:
        return row[0].encode(), row[1] is not None, row[1] or 0

    expected = [False, *(place(b) < place(a) for a, b in pairwise(rows))]
    found = descents(schema(StringType(), LONG), rows)
    assert found == expected[: len(rows)]
    assert bool(np.any(found)) == (sorted(rows, key=place) != rows)
