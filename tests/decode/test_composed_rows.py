"""Rows put together from columns: the same bytes that a writer of the whole row gives."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.arrays import Int64s
from inspector.decode.composed_rows import columns_of, compose_rows, constant
from inspector.exceptions import RowError
from inspector.sparktypes import BINARY, DOUBLE, INTEGER, LONG, DecimalType, StructType
from tests import encode
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


def laid(rows: list[bytes], before: bytes = b"x") -> tuple[bytes, Int64s, Int64s]:
    lengths = np.array([len(row) for row in rows], np.int64)
    return before + b"".join(rows), np.cumsum(lengths) - lengths + len(before), lengths


def composed_from(schema: StructType, rows: list[tuple[Any, ...]], cut: int) -> list[bytes]:
    """The rows, from the parts before and behind a column."""
    types = [field.data_type for field in schema.fields]
    parts = [StructType(schema.fields[:cut]), StructType(schema.fields[cut:])]
    laid_out = laid(
        [encode.row(part, row[at:end]) for row in rows for part, at, end in _cuts(parts, cut)]
    )
    buffer, offsets, lengths = laid_out
    columns = columns_of(buffer, offsets[::2], lengths[::2], types[:cut])
    columns += columns_of(buffer, offsets[1::2], lengths[1::2], types[cut:])
    result = compose_rows(buffer, columns, len(rows))
    ends = result.offsets + result.lengths
    return [result.data[a:b] for a, b in zip(result.offsets, ends, strict=True)]


def _cuts(parts: list[StructType], cut: int) -> list[tuple[StructType, int, int | None]]:
    return [(parts[0], 0, cut), (parts[1], cut, None)]


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(0, len(TYPES)))
def test_composing_two_parts_gives_the_encoded_row(rows: list[tuple[Any, ...]], cut: int) -> None:
    schema = struct_of(*TYPES)
    assert composed_from(schema, rows, cut) == [encode.row(schema, row) for row in rows]


@pytest.mark.parametrize("fields", [1, 63, 64, 65, 130])
def test_null_bits_of_many_fields_are_moved(fields: int) -> None:
    schema = struct_of(*[LONG] * fields)
    row = tuple(None if i % 3 == 0 else i for i in range(fields))
    assert composed_from(schema, [row, row], fields // 2) == [encode.row(schema, row)] * 2


def test_composes_selected_and_constant_columns() -> None:
    schema = struct_of(TEXT)
    buffer, offsets, lengths = laid([encode.row(schema, ["one"]), encode.row(schema, ["two"])])
    (column,) = columns_of(buffer, offsets, lengths, [TEXT])
    result = column.select(np.array([1, 1, 0]))
    actual = compose_rows(buffer, [result, constant(np.array([0, 1, -1]))], 3)
    struct = struct_of(TEXT, LONG)
    expected = [encode.row(struct, row) for row in (("two", 0), ("two", 1), ("one", -1))]
    assert actual.data == b"".join(expected)


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
        columns_of(*laid([row]), [TEXT])
    assert result.value.offset == 1


@given(st.binary(max_size=64))
def test_composing_any_bytes_gives_rows_or_row_error(row: bytes) -> None:
    with suppress(RowError):
        columns = columns_of(*laid([row]), [TEXT, WIDE])
        result = compose_rows(laid([row])[0], columns, 1)
        assert len(result.data) == int(result.lengths[0]) <= len(row) + 16


def test_null_decimal_keeps_its_reserved_bytes() -> None:
    schema = struct_of(WIDE, WIDE)
    rows = [(None, Decimal("1.50")), (Decimal("-2.00"), None)]
    assert composed_from(schema, rows, 1) == [encode.row(schema, row) for row in rows]
