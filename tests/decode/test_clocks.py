"""One 64-bit column read without the other columns. It equals the column of the whole row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_columns import Int64Path, RowDecoder, slot_offset
from inspector.exceptions import DecodeError
from inspector.sparktypes import LONG, StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.decode.arrow_values import stored
from tests.decode.spans import spans_of
from tests.rocks import struct_of

WINDOWED = parse_ddl("window struct<start: timestamp, end: timestamp>, user string, v bigint")


def read(
    schema: StructType, path: tuple[int, ...], rows: list[bytes]
) -> tuple[list[int], list[bool]]:
    values, valid = Int64Path(schema, path).read(*spans_of(rows))
    return values.tolist(), valid.tolist()


def test_reads_int64_field_within_struct() -> None:
    rows = [
        encode.row(WINDOWED, ((1, 2), "a", 3)),
        encode.row(WINDOWED, (None, "bb", None)),
        encode.row(WINDOWED, ((None, None), None, -6)),
        encode.row(WINDOWED, ((7, -8), "ccccccccccc", 9)),
    ]
    assert read(WINDOWED, (0, 1), rows) == ([2, 0, 0, -8], [True, False, False, True])
    assert read(WINDOWED, (2,), rows) == ([3, 0, -6, 9], [True, False, True, True])


def test_reads_int64_field_of_no_rows() -> None:
    assert read(WINDOWED, (0, 1), []) == ([], [])


@pytest.mark.parametrize(
    "row", [b"", bytes(8), bytes(31), bytes(33), b"\xff" * 32, bytes(12) + b"\xff" * 20]
)
def test_rows_that_do_not_fit_have_no_value(row: bytes) -> None:
    good = encode.row(WINDOWED, ((1, 2), "a", 3))
    values, valid = read(WINDOWED, (0, 1), [good, row, good])
    assert (values, valid) == ([2, 0, 2], [True, False, True])


@pytest.mark.parametrize("path", [(), (3,), (-1,), (0,), (1,), (0, 2), (2, 0), (0, 1, 0)])
def test_paths_to_no_int64_field_are_refused(path: tuple[int, ...]) -> None:
    with pytest.raises(DecodeError):
        Int64Path(WINDOWED, path)


def test_int64_rows_outside_of_the_buffer_raise_value_error() -> None:
    with pytest.raises(ValueError, match="outside"):
        Int64Path(WINDOWED, (2,)).read(bytes(8), np.array([0]), np.array([32]))


@pytest.mark.parametrize(("fields", "offset"), [(1, 8), (64, 8), (65, 16), (128, 16), (129, 24)])
def test_slot_offset_follows_null_bits(fields: int, offset: int) -> None:
    schema = struct_of(*[LONG] * fields)
    row = encode.row(schema, range(fields))
    last = slot_offset(schema, fields - 1)
    assert (slot_offset(schema, 0), last) == (offset, len(row) - 8)
    assert row[last:] == (fields - 1).to_bytes(8, "little")


@given(st.lists(st.binary(max_size=12).map(lambda part: part * 8), max_size=4), st.data())
def test_int64_path_agrees_with_row_decoder(rows: list[bytes], data: st.DataObject) -> None:
    schema = parse_ddl("w struct<s: timestamp, e: timestamp>, v bigint")
    values = st.tuples(st.none() | st.tuples(st.none(), st.just(5)), st.just(7))
    rows += data.draw(st.lists(values.map(partial(encode.row, schema)), max_size=3))
    decoded = RowDecoder(schema).decode(*spans_of(rows))
    misfits = {row for row, _ in decoded.misfits}
    ends, valid = read(schema, (0, 1), rows)
    windows: Any = decoded.array.field(0)  # type: ignore[attr-defined]
    expected = stored(windows.field(1))
    is_window = windows.is_valid().to_pylist()
    for i in set(range(len(rows))) - misfits:
        assert (ends[i] if valid[i] else None) == (expected[i] if is_window[i] else None)
