"""Where the bytes of rows are."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.decode.field_sizes import FieldBytes, RowBytes, measure_rows
from inspector.sparktypes import parse_ddl
from tests import encode

SCHEMA = parse_ddl("n bigint, u string, d decimal(38,2), s struct<a: int, b: string>, i interval")


def measured(*rows: bytes) -> RowBytes:
    """The bytes of some rows of the schema."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return measure_rows(SCHEMA, b"".join(rows), np.cumsum(lengths) - lengths, lengths)


def total(found: RowBytes) -> int:
    """Everything that is told."""
    return found.null_bit_bytes + found.other_bytes + sum(one.bytes for one in found.fields)


def test_each_field_has_a_word_and_what_it_points_to() -> None:
    row = encode.row(SCHEMA, (7, "hello", Decimal("1.50"), (1, "x"), (1, 2, 3)))
    found = measured(row)
    assert (found.rows, found.null_bit_bytes, found.other_bytes) == (1, 8, 0)
    assert found.fields == (
        FieldBytes(0, 8, 0, 0),
        FieldBytes(0, 8, 5, 3),
        FieldBytes(0, 8, 2, 14),  # 150: its top bit needs a second byte
        FieldBytes(0, 8, 8 + 16 + 8, 0),
        FieldBytes(0, 8, 16, 0),
    )
    assert total(found) == len(row)


def test_nulls_keep_what_was_reserved_for_them() -> None:
    row = encode.row(SCHEMA, (None, None, None, None, None))
    found = measured(row)
    assert [one.nulls for one in found.fields] == [1] * 5
    assert [one.variable_bytes for one in found.fields] == [0] * 5
    assert total(found) == len(row)


def test_a_row_too_short_is_told_apart() -> None:
    found = measured(b"\0" * 16, encode.row(SCHEMA, (1, "", None, None, None)))
    assert found.rows == 2
    assert found.other_bytes >= 16
    assert found.null_bit_bytes == 8


def test_bytes_add() -> None:
    one = encode.row(SCHEMA, (1, "abc", None, (2, "y"), None))
    two = encode.row(SCHEMA, (None, "", Decimal(5), None, (1, 1, 1)))
    assert measured(one, two) == measured(one) + measured(two)
    for zero in (RowBytes(), RowBytes.none(SCHEMA)):
        assert measured(one) + zero == zero + measured(one) == measured(one)


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=20).map(lambda data: data * 8), max_size=4))
def test_any_rows_are_accounted_for_to_the_byte(rows: list[bytes]) -> None:
    assert total(measured(*rows)) == sum(map(len, rows))
