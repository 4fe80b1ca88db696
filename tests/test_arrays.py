"""Arrays that grow."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from inspector.arrays import (
    GrowingArray,
    concatenate,
    count_and_weigh,
    distinct,
    longer,
    median,
    tally,
)


def test_grown_array_keeps_values_and_type() -> None:
    short = np.array([5, 6], np.int32)
    grown = longer(short, 4)
    assert grown.tolist() == [5, 6, 0, 0]
    assert longer(np.array([[1], [2]]), 2).tolist() == [[1, 0], [2, 0]]
    assert grown.dtype == short.dtype
    grown[0] = 7
    assert short[0] == 5


def test_growing_array_is_filled_with_zeros() -> None:
    growing = GrowingArray(np.int64)
    growing.reserve(10)[:10] = range(10)
    for room in (10, 9_000, 400_000, 3_000_000):  # the last ones are of large pages
        array = growing.reserve(room)
        assert len(array) >= room
        assert array[:10].tolist() == list(range(10))
        assert not array[10:].any()
    assert len(growing.reserve(1)) >= 3_000_000, "it never becomes shorter"


def test_view_stays_valid_when_array_grows() -> None:
    growing = GrowingArray(np.int64)
    used = growing.reserve(8)[3:5]
    used[:] = 7
    grown = growing.reserve(1_000_000)
    assert grown[3:5].tolist() == [7, 7]
    used[:] = 8
    assert used.tolist() == [8, 8]
    assert grown[3:5].tolist() == [7, 7], "a copy"


def test_array_grows_without_resizable_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, which has no ``mremap``."""

    class Fixed(mmap.mmap):
        def resize(self, newsize: int) -> None:
            raise SystemError(f"mmap: resizing to {newsize} not available--no mremap()")

    monkeypatch.setattr("inspector.arrays.mmap.mmap", Fixed)
    growing = GrowingArray(np.int32)
    growing.reserve(1)[:2] = 5, 6
    assert growing.reserve(100_000)[:3].tolist() == [5, 6, 0]


@pytest.mark.parametrize("numbers", [[], [4], [3, 1, 3, 2, 1, 3], [2.5, -1.0, 2.5]], ids=str)
def test_distinct_numbers_and_median_equal_numpy(numbers: list[float]) -> None:
    array = np.array(numbers)
    values, counts = np.unique(array, return_counts=True)
    assert distinct(array).tolist() == values.tolist()
    np.testing.assert_array_equal(tally(array)[0], values)
    np.testing.assert_array_equal(tally(array)[1], counts)


@pytest.mark.parametrize(
    ("numbers", "middle"), [([4], 4), ([3, 1, 3, 2, 1, 3], 2.5), ([2.5, -1.0, 2.5], 2.5)]
)
def test_median_of_numbers(numbers: list[float], middle: float) -> None:
    assert median(np.array(numbers)) == middle


@pytest.mark.parametrize(
    ("numbers", "values", "counts", "sums"),
    [
        ([], [], [], []),
        ([-3, 5, -3], [-3, 5], [2, 1], [0 + 20, 10]),
        ([0, 1 << 62, 0, -(1 << 62)], [-(1 << 62), 0, 1 << 62], [1, 2, 1], [30, 0 + 20, 10]),
    ],
)
def test_sparse_numbers_are_counted_and_weighed(
    numbers: list[int], values: list[int], counts: list[int], sums: list[int]
) -> None:
    result = count_and_weigh(np.array(numbers, np.int64), 10 * np.arange(len(numbers)))
    assert result[0].tolist() == values
    assert result[1].tolist() == counts
    assert result[2].tolist() == sums


def test_byte_strings_are_joined_with_offsets() -> None:
    buffer, offsets, lengths = concatenate([b"ab", b"", b"cde"])
    assert buffer == b"abcde"
    assert (offsets.tolist(), lengths.tolist()) == ([0, 2, 2], [2, 0, 3])
    buffer, offsets, lengths = concatenate([])
    assert (buffer, offsets.tolist(), lengths.tolist()) == (b"", [], [])
