"""Ranges of keys, by both kernels."""

from __future__ import annotations

import struct
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from tests.kernel.support import Kernel, int64s, needs_c, spans_of


def chosen(
    kernel: Kernel, keys: list[bytes], ranges: int, number: int, masks: tuple[int, ...] = ()
) -> list[int]:
    rows = np.full(len(keys), -9, np.int64)
    count = kernel.rows_of_range(*spans_of(keys), int64s(*masks), 5, ranges, number, rows)
    assert (rows[count:] == -9).all()
    result: list[int] = rows[:count].tolist()
    return result


def test_every_key_is_in_one_range(kernel: Kernel) -> None:
    keys = [b"%d" % i for i in range(500)]
    ranges = [chosen(kernel, keys, 7, number) for number in range(7)]
    assert sorted(chain(*ranges)) == list(range(500))
    assert ranges == list(map(sorted, ranges))
    assert list(map(len, ranges)) == [75, 73, 67, 63, 73, 71, 78]
    assert chosen(kernel, keys, 1, 0) == list(range(500))


def test_masked_words_do_not_choose_the_range(kernel: Kernel) -> None:
    """A mask of zero skips its word. Other masks select the bits of the word that are hashed."""
    keys = [struct.pack("<3Q", i, 6, 0xAA00 | i) for i in range(64)]
    sizes = [len(chosen(kernel, keys, 3, number, (0, -1, 0xFF00))) for number in range(3)]
    assert sorted(sizes) == [0, 0, 64]
    short = chosen(kernel, [struct.pack("<Q", 6) + b"tail"], 1 << 31, 0, (-1,))
    second = chosen(kernel, [struct.pack("<2Q", 9, 6) + b"tail"], 1 << 31, 0, (0, -1))
    assert short == second


def test_rows_of_range_refuses_wrong_arguments(kernel: Kernel) -> None:
    item = int64s(0)
    with pytest.raises(ValueError, match="outside"):
        kernel.rows_of_range(b"", item, int64s(1), int64s(), 0, 1, 0, item.copy())
    with pytest.raises(ValueError, match="differ in length"):
        kernel.rows_of_range(b"", item, item, int64s(), 0, 1, 0, int64s())


@pytest.mark.parametrize(("ranges", "number"), [(0, 0), (2, 2), (2, -1), ((1 << 31) + 1, 0)])
def test_range_numbers_outside_are_refused(kernel: Kernel, ranges: int, number: int) -> None:
    item = int64s(0)
    with pytest.raises(ValueError, match="no such range"):
        kernel.rows_of_range(b"", item, item, int64s(), 0, ranges, number, item.copy())


@needs_c
@given(
    st.lists(st.binary(max_size=70), max_size=20),
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=6),
    st.integers(1, 9),
    st.data(),
)
def test_kernels_choose_ranges_alike(
    keys: list[bytes], masks: list[int], ranges: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, ranges - 1))
    arguments = (keys, ranges, number, tuple(masks))
    assert chosen(load("c"), *arguments) == chosen(load("python"), *arguments)
