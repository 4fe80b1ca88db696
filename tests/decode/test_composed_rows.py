"""Rows composed of columns. Their bytes equal those of a row that is written whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.composed_rows import columns_of, compose_rows, constant
from inspector.exceptions import RowError
from inspector.sparktypes import BINARY, DOUBLE, INTEGER, LONG, DecimalType, StructType
from tests import encode
from tests.attributes import attributes
from tests.decode.spans import parts_of, spans_of
from tests.rocks import TEXT, struct_of

WIDE = DecimalType(38, 2)
TYPES = (LONG, TEXT, INTEGER, BINARY, WIDE, DOUBLE)
VALUES = st.tuples(
    st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    st.none() | st.text(max_size=20),
    st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
    st.none() | st.binary(max_size=20),
    st.none() | st.decimals(-(10**9), 10**9, places=2),
    st.none() | st.floats(allow_nan=False),
)


def composed_from(schema: StructType, rows: Sequence[Sequence[Any]], cut: int) -> list[bytes]:
    """Compose rows from their columns before and after ``cut``, each encoded as a row."""
    types = attributes(schema.fields, "data_type")
    first, second = StructType(schema.fields[:cut]), StructType(schema.fields[cut:])
    encoded = [encode.row(first, row[:cut]) for row in rows]
    encoded += [encode.row(second, row[cut:]) for row in rows]
    buffer, offsets, lengths = spans_of(encoded, b"x")
    count = len(rows)
    columns = columns_of(buffer, offsets[:count], lengths[:count], types[:cut])
    columns += columns_of(buffer, offsets[count:], lengths[count:], types[cut:])
    result = compose_rows(buffer, columns, count)
    return parts_of(result.data, result.offsets, result.lengths)


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(0, len(TYPES)))
def test_composing_two_parts_gives_the_encoded_row(rows: list[tuple[Any, ...]], cut: int) -> None:
    schema = struct_of(*TYPES)
    assert composed_from(schema, rows, cut) == encode.rows(schema, rows)


@pytest.mark.parametrize("fields", [1, 63, 64, 65, 130])
def test_null_bits_of_many_fields_are_moved(fields: int) -> None:
    schema = struct_of(*[LONG] * fields)
    row = ([None, 1, 2] * fields)[:fields]
    assert composed_from(schema, [row, row], fields // 2) == [encode.row(schema, row)] * 2


def test_composes_selected_and_constant_columns() -> None:
    schema = struct_of(TEXT)
    spans = spans_of([encode.row(schema, ["one"]), encode.row(schema, ["two"])], b"x")
    (column,) = columns_of(*spans, [TEXT])
    selected = column.select(np.array([1, 1, 0]))
    actual = compose_rows(spans[0], [selected, constant(np.array([0, 1, -1]))], 3)
    pair = struct_of(TEXT, LONG)
    assert parts_of(actual.data, actual.offsets, actual.lengths) == [
        encode.row(pair, ("two", 0)),
        encode.row(pair, ("two", 1)),
        encode.row(pair, ("one", -1)),
    ]


def test_composing_no_rows_gives_no_bytes() -> None:
    nothing = np.empty(0, np.int64)
    assert compose_rows(b"", columns_of(b"", nothing, nothing, [TEXT]), 0).data == b""


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"\0" * 8,
        encode.row(struct_of(TEXT), ["abc"])[:-1],
        b"\0" * 8 + (16 << 32 | 9).to_bytes(8, "little") + b"\0" * 8,
        b"\0" * 8 + (4 << 32 | 1).to_bytes(8, "little") + b"\0" * 8,
        b"\0" * 8 + (0xFFFFFFFF << 32 | 0xFFFFFFFF).to_bytes(8, "little"),
    ],
    ids=["empty", "no slot", "cut", "too long", "within the slots", "far away"],
)
def test_field_outside_of_its_row_is_refused(row: bytes) -> None:
    with pytest.raises(RowError) as result:
        columns_of(*spans_of([row], b"x"), [TEXT])
    assert result.value.offset == 1


@given(st.binary(max_size=64))
def test_composing_any_bytes_gives_rows_or_row_error(row: bytes) -> None:
    with suppress(RowError):
        spans = spans_of([row], b"x")
        result = compose_rows(spans[0], columns_of(*spans, [TEXT, WIDE]), 1)
        assert len(result.data) == int(result.lengths[0]) <= len(row) + 16


def test_null_decimal_keeps_its_reserved_bytes() -> None:
    schema = struct_of(WIDE, WIDE)
    rows = [(None, Decimal("1.50")), (Decimal("-2.00"), None)]
    assert composed_from(schema, rows, 1) == encode.rows(schema, rows)
