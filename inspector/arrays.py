"""The numpy arrays that travel between the rooms, by what they hold; and how they grow."""

from __future__ import annotations

import contextlib
import mmap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int8s = npt.NDArray[np.int8]  # array of signed 8-bit integers
UInt8s = npt.NDArray[np.uint8]  # array of unsigned 8-bit integers
Int32s = npt.NDArray[np.int32]  # array of signed 32-bit integers
Int64s = npt.NDArray[np.int64]  # array of signed 64-bit integers
UInt64s = npt.NDArray[np.uint64]  # array of unsigned 64-bit integers
Bools = npt.NDArray[np.bool_]  # array of booleans
ArrayT = TypeVar("ArrayT", bound=npt.NDArray[Any])  # type of an array


def longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return a copy of an array whose last dimension is extended by zeros to ``length``."""
    *rows, old_length = array.shape
    grown = np.zeros((*rows, length), array.dtype)  # which costs nothing until they are written
    grown[..., :old_length] = array
    return grown


def make_room(owner: object, names: Sequence[str], elements: int) -> None:
    """Lengthen the named arrays, attributes of an object, if they are shorter than ``elements``.

    They get some room to spare.
    """
    if elements > getattr(owner, names[0]).shape[-1]:
        room = max(1024, elements + (elements >> 3))
        for name in names:
            setattr(owner, name, longer(getattr(owner, name), room))


def chunks(array: ArrayT, max_rows: int) -> Iterator[ArrayT]:
    """Yield an array in parts of at most ``max_rows`` elements."""
    for start in range(0, len(array), max_rows):
        yield array[start : start + max_rows]  # type: ignore[misc]


def concatenate(parts: Sequence[bytes]) -> tuple[bytes, Int64s, Int64s]:
    """Return byte strings joined into one, and the offset and the length of each."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return b"".join(parts), np.cumsum(lengths) - lengths, lengths


def distinct(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct numbers of an array, sorted.

    ``np.unique`` would import masked arrays first.
    """
    return tally(numbers)[0]


def tally(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64s]:
    """Return the distinct numbers of an array, sorted, and the count of each."""
    ordered = np.sort(numbers)
    last = np.ones(len(ordered), np.bool_)
    last[:-1] = ordered[1:] != ordered[:-1]
    (ends,) = last.nonzero()
    return ordered[ends], lengths_of(ends + 1)


def lengths_of(ends: Int64s) -> Int64s:
    """Return the lengths of consecutive parts, given where each part ends."""
    result = ends.copy()
    result[1:] -= ends[:-1]
    return result


def median(numbers: npt.NDArray[Any]) -> float:
    """Return the median of an array that is not empty.

    ``np.median`` would import masked arrays first.
    """
    ordered = np.sort(numbers)
    return float(ordered[(len(ordered) - 1) // 2]) / 2 + float(ordered[len(ordered) // 2]) / 2


def count_by(numbers: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Counter[int]:
    """Return a counter of distinct numbers, each with the count at its position.

    Counts of a repeated number are not added up: only the last one is kept.
    """
    counter: Counter[int] = Counter()  # which would first ask what it is given
    dict.update(counter, zip(numbers.tolist(), counts.tolist(), strict=True))
    return counter


def weigh(positions: npt.NDArray[Any], weights: npt.NDArray[Any], length: int) -> Int64s:
    """Return an array of ``length`` with the sum of the weights at each position.

    Sums are made in doubles, which are exact up to 2^53 bytes.
    """
    return np.bincount(positions, weights, length).astype(np.int64)


# a smaller difference of the largest and the smallest number allows counting without sorting
_NEAR = 1 << 12


def count_and_weigh(numbers: Int64s, weights: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return the distinct numbers, sorted, the count of each, and the sum of its weights."""
    first = int(numbers.min()) if len(numbers) else 0
    if len(numbers) and int(numbers.max()) - first < _NEAR:
        counts = np.bincount(numbers - first)
        (positions,) = counts.nonzero()
        sums = weigh(numbers - first, weights, len(counts))
        return positions + first, counts[positions], sums[positions]
    ordered, positions, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return ordered, counts, weigh(positions, weights, len(ordered))


def rows_of(columns: Sequence[npt.NDArray[Any]], are_chosen: Bools) -> Sequence[npt.NDArray[Any]]:
    """Return the chosen rows of each column; the columns themselves if all rows are chosen."""
    return columns if are_chosen.all() else [column[are_chosen] for column in columns]


class GrowingArray:
    """An array that can grow, with zeros where nothing was written.

    On Linux it grows without copying bytes, and what was never written takes no memory. A large one
    uses large pages if there are any, which makes access in random order faster.
    """

    _SMALLEST = 1 << 16  # bytes of memory at the beginning
    _LARGE_PAGE = 1 << 21  # bytes of a large page

    def __init__(self, dtype: npt.DTypeLike) -> None:
        """Make an empty array of a type."""
        self._dtype = np.dtype(dtype)
        self._memory = _zero_pages(self._SMALLEST)

    def reserve(self, room: int) -> npt.NDArray[Any]:
        """Return the array with room for at least this number of elements.

        If an array that was returned before is still in use, it stays valid, and the new one is a
        copy.
        """
        size = len(self._memory)
        while size < room * self._dtype.itemsize:
            size *= 2
        if size > len(self._memory):
            self._grow(size)
        return np.frombuffer(self._memory, self._dtype, size // self._dtype.itemsize)

    def _grow(self, size: int) -> None:
        """Enlarge the memory to a size in bytes, in place if possible."""
        try:
            self._memory.resize(size)
        except (BufferError, SystemError):  # it is in use, or the system cannot
            old, self._memory = self._memory, _zero_pages(size)
            self._memory[: len(old)] = old
        if size >= self._LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # of a system without
                self._memory.madvise(mmap.MADV_HUGEPAGE)


def _zero_pages(size: int) -> mmap.mmap:
    """Return anonymous memory of a size in bytes, filled with zeros."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
