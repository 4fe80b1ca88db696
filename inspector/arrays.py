"""The numpy arrays that travel between the rooms, by what they hold; and how they grow."""

from __future__ import annotations

import contextlib
import mmap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int8s = npt.NDArray[np.int8]
UInt8s = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
ArrayT = TypeVar("ArrayT", bound=npt.NDArray[Any])


def longer(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """A copy of an array, each row of which is lengthened by zeros."""
    *rows, old_length = array.shape
    grown = np.zeros((*rows, length), array.dtype)  # which costs nothing until they are written
    grown[..., :old_length] = array
    return grown


def make_room(owner: object, names: Sequence[str], elements: int) -> None:
    """Lengthen columns of an object, which are its attributes, if they are too short."""
    if elements > getattr(owner, names[0]).shape[-1]:
        room = max(1024, elements + (elements >> 3))
        for name in names:
            setattr(owner, name, longer(getattr(owner, name), room))


def chunks(array: ArrayT, max_rows: int) -> Iterator[ArrayT]:
    """An array in parts of at most so many elements."""
    for start in range(0, len(array), max_rows):
        yield array[start : start + max_rows]  # type: ignore[misc]


def concatenate(parts: Sequence[bytes]) -> tuple[bytes, Int64s, Int64s]:
    """Byte strings one behind the other, with the offset and the length of each."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return b"".join(parts), np.cumsum(lengths) - lengths, lengths


def distinct(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distinct numbers of an array, in order; ``np.unique`` imports masked arrays first."""
    return tally(numbers)[0]


def tally(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int64s]:
    """The distinct numbers of an array in order, and how many there are of each."""
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
    """The median of an array that is not empty; ``np.median`` imports masked arrays first."""
    ordered = np.sort(numbers)
    return float(ordered[(len(ordered) - 1) // 2]) / 2 + float(ordered[len(ordered) // 2]) / 2


def count_by(numbers: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Counter[int]:
    """Return the count of each number."""
    counter: Counter[int] = Counter()  # which would first ask what it is given
    dict.update(counter, zip(numbers.tolist(), counts.tolist(), strict=True))
    return counter


def weigh(positions: npt.NDArray[Any], weights: npt.NDArray[Any], length: int) -> Int64s:
    """The sum of the weights at each position; in doubles, which are exact up to 2^53 bytes."""
    return np.bincount(positions, weights, length).astype(np.int64)


_NEAR = 1 << 12  # numbers that lie no further apart are counted without sorting them


def count_and_weigh(numbers: Int64s, weights: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The distinct numbers in order, how many there are of each, and the sum of its weights."""
    first = int(numbers.min()) if len(numbers) else 0
    if len(numbers) and int(numbers.max()) - first < _NEAR:
        counts = np.bincount(numbers - first)
        (positions,) = counts.nonzero()
        sums = weigh(numbers - first, weights, len(counts))
        return positions + first, counts[positions], sums[positions]
    ordered, positions, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return ordered, counts, weigh(positions, weights, len(ordered))


def rows_of(columns: Sequence[npt.NDArray[Any]], are_chosen: Bools) -> Sequence[npt.NDArray[Any]]:
    """The chosen rows of some columns; of all rows the columns themselves."""
    return columns if are_chosen.all() else [column[are_chosen] for column in columns]


class GrowingArray:
    """One array that grows, zeroed where nothing was written.

    Its pages change their place when it grows, and no byte is copied, where the system can do that
    (Linux). What was never written takes no memory. A large one lies in large pages, if there
    are any: where elements are met in any order, most of the time for each would go into the
    look-up of its page.
    """

    _SMALLEST = 1 << 16
    _LARGE_PAGE = 1 << 21

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._memory = _zero_pages(self._SMALLEST)

    def reserve(self, room: int) -> npt.NDArray[Any]:
        """The array with room for so many elements at least.

        If an array of before is still in use anywhere, or what looks at one, it stays valid and
        what this returns is a copy.
        """
        size = len(self._memory)
        while size < room * self._dtype.itemsize:
            size *= 2
        if size > len(self._memory):
            self._grow(size)
        return np.frombuffer(self._memory, self._dtype, size // self._dtype.itemsize)

    def _grow(self, size: int) -> None:
        try:
            self._memory.resize(size)
        except (BufferError, SystemError):  # it is in use, or the system cannot
            old, self._memory = self._memory, _zero_pages(size)
            self._memory[: len(old)] = old
        if size >= self._LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # of a system without
                self._memory.madvise(mmap.MADV_HUGEPAGE)


def _zero_pages(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
