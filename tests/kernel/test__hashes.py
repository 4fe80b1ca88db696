"""Hashes of rows, by both kernels. tests/decode/test_spark_hash.py has hashes of Spark."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from inspector.kernel.programs import BOOLEAN, BYTES, DOUBLE, FIELDS, FLOAT, NOTHING
from tests.kernel.support import Kernel, assert_refused, int64s, needs_c, spans_of


def hashes(kernel: Kernel, rows: list[bytes], *program: int) -> list[int | None]:
    """Return the hash of each row, or None for a row without a known hash."""
    result, facts = np.full(len(rows), 7, np.int64), np.full(len(rows), 7, np.uint8)
    kernel.row_hashes(*spans_of(rows), int64s(*program), result, facts)
    assert not result[facts == 0].any()
    return list(np.ma.masked_array(result, facts == 0).tolist())


def row(*slots: int, nulls: int = 0, remainder: bytes = b"") -> bytes:
    return struct.pack(f"<{len(slots) + 1}Q", nulls, *slots) + remainder


def test_row_hash_of_each_field_kind(kernel: Kernel) -> None:
    # hash(1), hash(1L), hash('abc'), hash(null) of Spark
    assert hashes(kernel, [row(1)], 1, 1, 4) == [-559580957]
    assert hashes(kernel, [row(1)], 1, 1, 8) == [-1712319331]
    assert hashes(kernel, [row(16 << 32 | 3, remainder=b"abc\0\0\0\0\0")], 1, 1, BYTES) == [
        1322437556
    ]
    assert hashes(kernel, [row(1, nulls=1)], 1, 1, 8) == [42]
    assert hashes(kernel, [row(1)], 1, 1, NOTHING) == [42]


def test_malformed_rows_and_programs_have_no_hash(kernel: Kernel) -> None:
    assert hashes(kernel, [row(1), b"", bytes(15)], 1, 1, 4) == [-559580957, None, None]
    outside = [row(8 << 32 | 9), row(0 << 32 | 4), row(16 << 32 | 1)]
    assert hashes(kernel, outside, 1, 1, BYTES) == [None] * 3
    assert hashes(kernel, [row(1)], 1, 2, 4, 4) == [None]
    assert hashes(kernel, [row(1)], 1, 1, 99) == [None]
    assert hashes(kernel, [row(1)], -1, 0) == [None]


def test_deeply_nested_program_has_no_hash(kernel: Kernel) -> None:
    program = [1, 1, 4]
    for _ in range(70):
        program = [1, 1, FIELDS, len(program), *program]
    within = row(8 << 32 | 8)  # a struct that holds itself
    assert hashes(kernel, [within], *program) == [None]


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 9), (9, 0), (1 << 62, 1 << 62)])
def test_row_hashes_refuses_rows_outside_of_the_buffer(
    kernel: Kernel, offset: int, length: int
) -> None:
    with pytest.raises(ValueError, match="outside"):
        kernel.row_hashes(
            bytes(8), int64s(offset), int64s(length), int64s(1), int64s(0), np.zeros(1, np.uint8)
        )


def test_row_hashes_refuses_arrays_of_different_length(kernel: Kernel) -> None:
    item, two, byte = int64s(0), int64s(0, 0), np.zeros(1, np.uint8)
    assert_refused(
        lambda: kernel.row_hashes(bytes(8), item, item, item, two, byte),
        lambda: kernel.row_hashes(bytes(8), item, item, item, item, np.zeros(2, np.uint8)),
        match="differ in length",
    )


FLOATS = [0x7FC00000, 0x7F800001, 0xFF800001, 0x8000000000000000, 0x7FF0000000000001]
REGIONS = [8 << 32 | 8, 16 << 32 | 7, 16 << 32 | 8, 24 << 32 | 16, 24 << 32 | 5]
slots = st.integers(0, (1 << 64) - 1) | st.sampled_from([0, 1, 5, 1 << 31, *FLOATS, *REGIONS])
rows_of_words = st.lists(
    st.lists(slots, max_size=8).map(lambda item: struct.pack(f"<{len(item)}Q", *item)), max_size=4
)
kinds = st.sampled_from([1, 2, 4, 8, BYTES, BOOLEAN, FLOAT, DOUBLE, FIELDS, NOTHING])


@needs_c
@given(rows_of_words, st.lists(kinds | st.integers(-2, 20), max_size=12))
def test_kernels_hash_rows_alike(rows: list[bytes], program: list[int]) -> None:
    assert hashes(load("c"), rows, *program) == hashes(load("python"), rows, *program)


@needs_c
@given(rows_of_words, st.lists(kinds, min_size=1, max_size=4))
def test_kernels_hash_rows_of_valid_programs_alike(rows: list[bytes], words: list[int]) -> None:
    inner = [1, 1, 8]
    program = [len(words), len(words)]
    for word in words:
        program += [word, len(inner), *inner] if word == FIELDS else [word]
    assert hashes(load("c"), rows, *program) == hashes(load("python"), rows, *program)
