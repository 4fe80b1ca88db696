"""Comparison of rows, by both kernels."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from inspector.kernel.programs import (
    BIG_NUMBER,
    BYTES,
    DOUBLE,
    ELEMENTS,
    EQUAL_BYTES,
    FIELDS,
    FLOAT,
    INSTANT,
    NOTHING,
    UNORDERED,
)
from tests.kernel.support import Kernel, assert_refused, int64s, needs_c, spans_of

NAN, LOW_NAN, ALL_ONES = 0x7FF8 << 48, 0xFFF0_0000_0000_0001, (1 << 64) - 1


def compare(kernel: Kernel, rows: list[bytes], *program: int) -> list[int] | None:
    out = np.full(len(rows), 7, np.uint8)
    count = kernel.descents(*spans_of(rows), int64s(*program), out)
    assert count in ((out == 1).sum(), -1)
    return None if count < 0 else out.tolist()


def below(kernel: Kernel, rows: list[bytes], *kinds: int) -> list[int] | None:
    """Compare rows by a program of fields without operands."""
    return compare(kernel, rows, len(kinds), *kinds)


def row(*slots: int, nulls: int = 0, remainder: bytes = b"") -> bytes:
    return struct.pack(f"<{len(slots) + 1}Q", nulls, *slots) + remainder


def text(value: bytes) -> bytes:
    """Return a row of one variable part."""
    return row(16 << 32 | len(value), remainder=value + bytes(-len(value) % 8))


def array(*values: int, nulls: int = 0, width: int = 8) -> bytes:
    """Return a row of one array of up to 64 numbers."""
    data = b"".join(value.to_bytes(width, "little") for value in values)
    return text(struct.pack("<2Q", len(values), nulls) + data)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_numbers_are_compared_as_signed_of_their_width(kernel: Kernel, width: int) -> None:
    minimum = 1 << (8 * width - 1)
    negative = [row(minimum), row(minimum + 1), row(2 * minimum - 1)]
    rows = [*negative, row(0), row(1), row(minimum - 1)]
    assert below(kernel, rows, width) == [0] * 6
    assert below(kernel, rows[::-1], width) == [0, 1, 1, 1, 1, 1]


def test_bytes_above_the_width_of_a_number_are_ignored(kernel: Kernel) -> None:
    assert below(kernel, [row(256), row(1)], 1) == [0, 0]


def test_bytes_are_compared_as_unsigned_with_prefix_first(kernel: Kernel) -> None:
    values = [b"", b"\0", b"a", b"a\0", b"ab", b"z" * 20, b"z" * 20 + b"\x80", b"\xff"]
    rows = list(map(text, values))
    assert below(kernel, rows, BYTES) == [0] * 8
    assert below(kernel, rows[::-1], BYTES) == [0] + [1] * 7
    assert below(kernel, [rows[4], rows[4]], BYTES) == [0, 0]


@pytest.mark.parametrize(
    ("kind", "floats", "words", "nans"),
    [
        (DOUBLE, np.float64, np.uint64, [NAN, LOW_NAN, ALL_ONES, NAN]),
        (FLOAT, np.float32, np.uint32, [0x7FC00000, 0xFF800001, 0x7FC00000, 0x7FC00000]),
    ],
)
def test_floats_are_compared_with_nan_last_and_equal_zeros(
    kernel: Kernel, kind: int, floats: Any, words: Any, nans: list[int]
) -> None:
    values = np.array([-np.inf, -2.0, -1e-30, -0.0, 0.0, 1e-30, 3.0, np.inf], floats)
    rows = list(map(row, [*values.view(words).tolist(), *nans]))
    assert below(kernel, rows, kind) == [0] * 12
    assert below(kernel, rows[::-1], kind) == [0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1]


def test_big_numbers_are_compared_as_signed(kernel: Kernel) -> None:
    values = [b"\x80" + bytes(15), b"\xff\x7f", b"\x80", b"\xff", b"\0", b"\x01", b"\0\x80"]
    rows = list(map(text, [*values, b"\x7f" * 16]))
    assert below(kernel, rows, BIG_NUMBER) == [0] * 8
    assert below(kernel, rows[::-1], BIG_NUMBER) == [0] + [1] * 7
    assert below(kernel, [text(b"\0\0\x05"), text(b"\x05")], BIG_NUMBER) == [0, 0]


@pytest.mark.parametrize("wrong", [b"", bytes(17)])
def test_big_numbers_of_wrong_size_are_not_compared(kernel: Kernel, wrong: bytes) -> None:
    assert below(kernel, [text(b"a"), text(wrong)], BIG_NUMBER) is None
    assert below(kernel, [text(wrong), text(b"a")], BIG_NUMBER) is None


def instant(micros: int, nanos: int) -> bytes:
    """Return a row with one timestamp of nanosecond precision."""
    return text(struct.pack("<qh6x", micros, nanos))


def test_instants_are_compared_by_micros_and_nanos(kernel: Kernel) -> None:
    rows = [instant(-1, 5), instant(0, -1), instant(0, 3), instant(1, 0)]
    assert below(kernel, rows, INSTANT) == [0] * 4
    assert below(kernel, rows[::-1], INSTANT) == [0, 1, 1, 1]
    assert below(kernel, [rows[1], text(struct.pack("<qh6s", 0, -1, b"padded"))], INSTANT) == [0, 0]
    assert below(kernel, [rows[0], text(bytes(8))], INSTANT) is None
    assert below(kernel, [text(bytes(24)), rows[0]], INSTANT) is None


def test_first_different_field_decides_with_nulls_first(kernel: Kernel) -> None:
    rows = [row(1, 2), row(2, 1), row(2, 0), row(9, 9, nulls=1), row(9, 3, nulls=3), row(1, 0)]
    assert below(kernel, rows, 8, 8) == [0, 0, 1, 1, 1, 0]
    assert below(kernel, [b"", b""]) == [0, 0]
    many_nulls = bytes(66 * 8)
    rows = [many_nulls + struct.pack("<Q", 5), many_nulls + struct.pack("<Q", 4)]
    assert below(kernel, rows, *[8] * 65) == [0, 1]  # two words of null bits


def test_structs_are_compared_by_fields_with_null_first(kernel: Kernel) -> None:
    def nested(first: int, behind: int = 0, nulls: int = 0, null: int = 0) -> bytes:
        return row(24 << 32 | 24, behind, nulls=null, remainder=row(first, 7, nulls=nulls))

    program = (2, FIELDS, 3, 2, 8, 8, 8)
    rows = [nested(0, 4, null=1), nested(0, 5, null=1), nested(9, nulls=1), nested(3), nested(3, 1)]
    assert compare(kernel, rows, *program) == [0] * 5
    assert compare(kernel, rows[::-1], *program) == [0] + [1] * 4
    short = row(24 << 32 | 16, 0, remainder=row(1))
    assert compare(kernel, [nested(1), short], *program) is None
    odd = row(24 << 32 | 25, 0, remainder=row(1, 7) + bytes(8))
    assert compare(kernel, [nested(1), odd], *program) is None


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_arrays_are_compared_by_elements_then_length(kernel: Kernel, width: int) -> None:
    ascending = [
        row(0, nulls=1),
        array(width=width),
        array(0, nulls=1, width=width),
        array(0, 0, nulls=1, width=width),
        array(1 << (8 * width - 1), width=width),
        array(1, width=width),
        array(1, 9, nulls=2, width=width),
        array(1, 2, width=width),
        array(2, width=width),
    ]
    assert compare(kernel, ascending, 1, ELEMENTS, 1, width) == [0] * 9
    assert compare(kernel, ascending[::-1], 1, ELEMENTS, 1, width) == [0] + [1] * 8


def test_arrays_of_floats_and_of_65_elements_are_compared(kernel: Kernel) -> None:
    floats = [array(0x80000000, 0, width=4), array(0, 0x80000000, width=4)]
    assert compare(kernel, [*floats, floats[0]], 1, ELEMENTS, 1, FLOAT) == [0, 0, 0]
    assert compare(kernel, [array(NAN), array(0)], 1, ELEMENTS, 1, DOUBLE) == [0, 1]
    zeros = struct.pack("<3Q", 65, 0, 0) + bytes(520 - 1)
    assert compare(kernel, [text(zeros + b"\2"), text(zeros + b"\1")], 1, ELEMENTS, 1, 8) == [0, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        text(bytes(7)),
        text(struct.pack("<4Q", 3, 0, 1, 2)),
        text(struct.pack("<4Q", 4, 0, 1, 2)),
        text(struct.pack("<4Q", 1 << 40, 0, 1, 2)),
        text(struct.pack("<4Q", 1 << 63, 0, 1, 2)),
        text(struct.pack("<4Q", ALL_ONES, 0, 1, 2)),
    ],
)
def test_arrays_with_wrong_element_count_are_not_compared(kernel: Kernel, wrong: bytes) -> None:
    assert compare(kernel, [array(1, 2), wrong], 1, ELEMENTS, 1, 8) is None
    assert compare(kernel, [wrong, array(1, 2)], 1, ELEMENTS, 1, 8) is None


@pytest.mark.parametrize("unknown", [UNORDERED, 17, 1 << 40, -(1 << 62)])
def test_no_descent_after_an_unordered_field(kernel: Kernel, unknown: int) -> None:
    assert below(kernel, [row(1, 2), row(1, 1), row(0, 0)], 8, unknown) == [0, 0, 1]
    assert below(kernel, [row(1, 2), row(0, 1)], unknown, 8) == [0, 0]
    assert below(kernel, [row(1), row(1, nulls=1)], unknown) == [0, 0]


def test_fields_compared_only_for_equality(kernel: Kernel) -> None:
    rows = [text(b"b"), text(b"a"), row(0, nulls=1), text(b"")]
    assert below(kernel, rows, EQUAL_BYTES) == [0, 0, 1, 0]
    first = row(24 << 32 | 1, 5, remainder=b"b" + bytes(7))
    second = row(24 << 32 | 1, 4, remainder=b"b" + bytes(7))
    assert below(kernel, [first, second], EQUAL_BYTES, 8) == [0, 1]
    assert below(kernel, [row(1, 5), row(0, 4, nulls=1)], NOTHING, 8) == [0, 1]
    assert compare(kernel, [array(1, 5), array(2, 4)], 1, ELEMENTS, 1, UNORDERED) == [0, 0]


def test_rows_too_short_for_their_fields_are_not_compared(kernel: Kernel) -> None:
    assert below(kernel, [row(1), row()], 8) is None
    assert below(kernel, [row(), row(1)], 8) is None
    assert below(kernel, [row(2), row(1, remainder=b"x")], 8) is None
    assert below(kernel, [row(1, 0), row(2, 0)], 8, BYTES) == [0, 0]  # the first has decided


@pytest.mark.parametrize(("offset", "size"), [(15, 1), (16, 9), (25, 0), (16, 1 << 31)])
def test_parts_outside_of_their_row_are_not_compared(
    kernel: Kernel, offset: int, size: int
) -> None:
    outside = row(offset << 32 | size, remainder=b"a" + bytes(7))
    assert below(kernel, [text(b"a"), outside], BYTES) is None
    assert below(kernel, [outside, text(b"a")], BYTES) is None


def test_overlapping_parts_are_not_compared(kernel: Kernel) -> None:
    shared = row(24 << 32 | 8, 24 << 32 | 8, remainder=b"bytes..." * 2)
    sound = row(24 << 32 | 8, 32 << 32 | 8, remainder=b"bytes..." * 2)
    assert below(kernel, [sound, sound, sound], BYTES, BYTES) == [0, 0, 0]
    assert below(kernel, [shared, sound, shared], BYTES, BYTES) == [0, 0, 0]  # of 16 bytes
    shared = row(24 << 32 | 8, 24 << 32 | 8, remainder=b"bytes...")
    assert below(kernel, [shared, shared], BYTES, BYTES) is None


def test_nested_arrays_that_share_bytes_end_early(kernel: Kernel) -> None:
    """Each of ten arrays holds the next array 64 times, which would be 64 ** 10 values."""
    inner = b""
    for _ in range(10):
        slot = 8 + 8 + 64 * 8 << 32 | len(inner)
        inner = struct.pack("<2Q", 64, 0) + struct.pack("<Q", slot) * 64 + inner
    program = [
        *(ELEMENTS, 19, ELEMENTS, 17, ELEMENTS, 15, ELEMENTS, 13, ELEMENTS, 11),
        *(ELEMENTS, 9, ELEMENTS, 7, ELEMENTS, 5, ELEMENTS, 3, ELEMENTS, 1),
    ]
    assert compare(kernel, [text(inner)] * 2, 1, *program, 8) is None


@pytest.mark.parametrize(
    "program", [[], [-1], [1 << 62], [1], [1, FIELDS], [1, FIELDS, -9, 1], [1, ELEMENTS, 5]]
)
def test_descents_with_malformed_programs_terminate(kernel: Kernel, program: list[int]) -> None:
    assert compare(kernel, [text(bytes(8))] * 2, *program) in ([0, 0], None)


def test_descents_of_deeply_nested_arrays_terminate(kernel: Kernel) -> None:
    deep = struct.pack("<3Q", 1, 0, 24 << 32)
    for _ in range(80):
        deep = struct.pack("<3Q", 1, 0, 24 << 32 | len(deep)) + deep
    assert compare(kernel, [text(deep)] * 2, 1, *[ELEMENTS, 99] * 99) == [0, 0]


numbers = st.integers(-2, 20) | st.sampled_from([24, 1 << 40, -(1 << 63)])
words = st.sampled_from(
    [0, 1, 2, 5, NAN, 1 << 63, 16 << 32 | 8, 16 << 32 | 16, 16 << 32 | 24, 24 << 32 | 8, ALL_ONES]
)
any_row = st.lists(words, max_size=9).map(lambda value: struct.pack(f"<{len(value)}Q", *value))
nested = st.lists(st.tuples(st.booleans(), any_row), max_size=3).map(
    lambda value: [text(item) if within else item for within, item in value]
)


@needs_c
@given(nested, st.lists(numbers, max_size=8), st.booleans())
def test_kernels_compare_rows_alike(rows: list[bytes], program: list[int], twice: bool) -> None:
    rows = sorted(rows * (1 + twice))  # equal rows are compared to their end
    python, c = load("python"), load("c")
    assert compare(c, rows, *program) == compare(python, rows, *program)


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 9), (9, 0), (1 << 62, 1 << 62)])
@pytest.mark.parametrize("program", [(1, 8), (-1,)])
def test_descents_refuses_rows_outside_of_the_buffer(
    kernel: Kernel, program: tuple[int, ...], offset: int, length: int
) -> None:
    span, out = (int64s(offset), int64s(length)), np.zeros(1, "u1")
    with pytest.raises(ValueError, match="outside"):
        kernel.descents(bytes(8), *span, int64s(*program), out)


def test_descents_refuses_arrays_of_different_length(kernel: Kernel) -> None:
    value, two, byte = int64s(0), int64s(0, 0), np.zeros(1, np.uint8)
    assert_refused(
        lambda: kernel.descents(bytes(8), value, value, value, np.zeros(2, np.uint8)),
        lambda: kernel.descents(bytes(8), value, two, value, byte),
        match="differ in length",
    )
    assert_refused(
        lambda: kernel.descents(bytes(8), value, value, int64s(), bytes(1)),
        lambda: kernel.descents(bytes(8), value, value, value * 1.0, byte),
    )
