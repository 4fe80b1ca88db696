"""Checks of rows and reads of their slots, by both kernels."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from inspector.kernel.programs import ANY, DOUBT, RANGE, REGION, STRUCT, UNUSED
from tests.kernel.support import Kernel, assert_refused, int64s, needs_c, spans_of


def check(kernel: Kernel, rows: list[bytes], *program: int) -> list[int]:
    out = np.full(len(rows), 7, np.uint8)
    count = kernel.check_rows(*spans_of(rows), int64s(*program), out)
    assert count == int((out == 1).sum())
    result: list[int] = out.tolist()
    return result


def row(*slots: int, nulls: int = 0, remainder: bytes = b"") -> bytes:
    return struct.pack(f"<{len(slots) + 1}Q", nulls, *slots) + remainder


def test_row_needs_room_and_whole_words(kernel: Kernel) -> None:
    assert check(kernel, [row(1, 2), row(1), row(1, 2, 3), row(1, 2, remainder=b"x")], 2) == [
        0,
        1,
        0,
        1,
    ]
    assert check(kernel, [b"", bytes(8), b"x"], 0) == [0, 0, 1]


def test_check_rows_program_words(kernel: Kernel) -> None:
    assert check(kernel, [row(255), row(256), row(256, nulls=1)], 1, UNUSED, 8) == [0, 1, 0]
    assert check(kernel, [row(5), row(6), row((1 << 64) - 1)], 1, RANGE, -1, 5) == [0, 1, 0]
    assert check(kernel, [row(5), row(5, nulls=1)], 1, DOUBT) == [1, 0]
    assert check(kernel, [row(5)], 1, 99) == [1]
    inner = row(1)
    good = row(16 << 32 | len(inner), remainder=inner)
    assert check(kernel, [good], 1, STRUCT, 3, 1, UNUSED, 1) == [0]
    assert check(kernel, [good], 1, STRUCT, 3, 2, UNUSED, 1) == [1]
    assert check(kernel, [row(0, 9, nulls=1)], 2, STRUCT, 3, 1, UNUSED, 1, UNUSED, 3) == [1]
    assert check(kernel, [row(0, 7, nulls=1)], 2, STRUCT, 3, 1, UNUSED, 1, UNUSED, 3) == [0]


def test_variable_parts_are_after_the_slots_without_overlap(kernel: Kernel) -> None:
    regions = [16 << 32 | 8, 24 << 32, 15 << 32 | 1, 16 << 32 | 9, 25 << 32]
    rows = [row(region, remainder=bytes(8)) for region in regions]
    assert check(kernel, rows, 1, REGION) == [0, 0, 1, 1, 1]
    disjoint = row(24 << 32 | 4, 24 << 32 | 4, remainder=bytes(8))
    overlapping = row(24 << 32 | 4, 24 << 32 | 5, remainder=bytes(8))
    assert check(kernel, [disjoint, overlapping], 2, REGION, REGION) == [0, 1]
    assert check(kernel, [row((1 << 64) - 1)], 1, REGION) == [1]


@pytest.mark.parametrize(
    "program", [[], [-1], [1 << 62], [1], [1, STRUCT], [1, STRUCT, -9, 1], [1, RANGE, 5]]
)
def test_check_rows_accepts_any_program(kernel: Kernel, program: list[int]) -> None:
    region = row(16 << 32 | 8, remainder=bytes(8))
    assert check(kernel, [region], *program)[0] in (0, 1)


def test_check_rows_with_malformed_programs_terminates(kernel: Kernel) -> None:
    assert check(kernel, [row(0, nulls=1)], 1, STRUCT, -1) == [0]
    nested = row(16 << 32 | 0)
    assert check(kernel, [nested], *[1, STRUCT, 200] * 100) == [1]


def slots(kernel: Kernel, rows: list[bytes], *path: int) -> list[int | None]:
    values, valid = np.full(len(rows), 7, np.int64), np.full(len(rows), 7, np.uint8)
    kernel.read_slots(*spans_of(rows), int64s(*path), values, valid)
    assert not values[valid == 0].any()
    return list(np.ma.masked_array(values, valid == 0).tolist())


def test_read_slots_by_path(kernel: Kernel) -> None:
    nested = row(5, 24 << 32 | 16, remainder=row(9))
    assert slots(kernel, [nested, row(5, 6), row(5, 6, nulls=2), b""], 2, 0) == [5, 5, 5, None]
    assert slots(kernel, [nested, row(5, 6), row(5, 6, nulls=2)], 2, 1, 1, 0) == [9, None, None]
    assert slots(kernel, [row((1 << 64) - 1)], 1, 0) == [-1]
    assert slots(kernel, [row(5)], 1, 1) == slots(kernel, [row(5)]) == [None]
    assert slots(kernel, [row(5)], 1, -1) == slots(kernel, [row(5)], -1, 0) == [None]


numbers = st.integers(-2, 20) | st.sampled_from([8, 16, 24, 1 << 40, -(1 << 63)])
words = st.sampled_from([0, 1, 5, 16 << 32 | 8, 24 << 32 | 16, 24 << 32 | 8, (1 << 64) - 1])
any_rows = st.lists(
    st.lists(words, max_size=8).map(lambda item: struct.pack(f"<{len(item)}Q", *item)), max_size=4
)
kinds = st.sampled_from([0, 1, 2, ANY, UNUSED, RANGE, REGION, STRUCT, DOUBT])


@needs_c
@example([struct.pack("<4Q", 0, 24 << 32 | 8, 0, 0)], [2, STRUCT, 0, 0, REGION])
@given(any_rows, st.lists(kinds | numbers, max_size=12))
def test_kernels_check_and_read_rows_alike(rows: list[bytes], program: list[int]) -> None:
    python, c = load("python"), load("c")
    assert check(c, rows, *program) == check(python, rows, *program)
    assert slots(c, rows, *program) == slots(python, rows, *program)


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 9), (9, 0), (1 << 62, 1 << 62)])
def test_check_rows_refuses_rows_outside_of_the_buffer(
    kernel: Kernel, offset: int, length: int
) -> None:
    span = (bytes(8), int64s(offset), int64s(length))
    with pytest.raises(ValueError, match="outside"):
        kernel.check_rows(*span, int64s(1), np.zeros(1, np.uint8))
    with pytest.raises(ValueError, match="outside"):
        kernel.read_slots(*span, int64s(1, 0), int64s(0), np.zeros(1, np.uint8))


def test_check_rows_refuses_arrays_of_different_length(kernel: Kernel) -> None:
    item, two, byte = int64s(0), int64s(0, 0), np.zeros(1, np.uint8)
    assert_refused(
        lambda: kernel.check_rows(bytes(8), item, item, item, np.zeros(2, np.uint8)),
        lambda: kernel.check_rows(bytes(8), item, two, item, byte),
        lambda: kernel.read_slots(bytes(8), item, item, item, two, byte),
        lambda: kernel.read_slots(bytes(8), item, item, item, item.copy(), np.zeros(2, np.uint8)),
        match="differ in length",
    )
    assert_refused(
        lambda: kernel.check_rows(bytes(8), item, item, item, bytes(1)),
        lambda: kernel.check_rows(bytes(8), item, item, item * 1.0, byte),
    )
