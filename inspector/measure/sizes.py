"""Exact size distributions of live rows, kept up to date by what each version touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inspector.state.replay import Change

_SMALL = 1 << 14
"""Bytes below which sizes are counted in an array of that length."""


@dataclass(frozen=True)
class SizeCounts:
    """How many things have each size in bytes. Adds; the zero is empty.

    UnsafeRows come in multiples of 8 bytes, so there are few distinct sizes, and every quantile
    over any union of stores is exact.
    """

    counts: Counter[int] = field(default_factory=Counter)

    def __add__(self, other: SizeCounts) -> SizeCounts:
        return SizeCounts(self.counts + other.counts)

    @property
    def total(self) -> int:
        """How many things."""
        return sum(self.counts.values())

    @property
    def max(self) -> int | None:
        """The largest size, None if there is nothing."""
        return max(self.counts, default=None)

    def quantile(self, share: float) -> int | None:
        """The nearest-rank quantile: the smallest size that at least ``share`` do not exceed."""
        want = share * self.total
        seen = 0
        for size in sorted(self.counts):
            seen += self.counts[size]
            if seen >= want:
                return size
        return None

    def flat(self) -> list[int]:
        """``[size, count, size, count, ...]``, by size: the form that crosses the pipeline."""
        return [number for size in sorted(self.counts) for number in (size, self.counts[size])]

    @classmethod
    def of(cls, sizes: npt.NDArray[np.int64]) -> SizeCounts:
        """The counts of some sizes."""
        return cls(Counter(dict(_counted(sizes))))

    @classmethod
    def from_flat(cls, numbers: Iterable[int] | None) -> SizeCounts:
        """The inverse of :meth:`flat`."""
        flat: Sequence[int] = list(numbers or ())
        return cls(Counter(dict(zip(flat[::2], flat[1::2], strict=True))))


class LiveSizes:
    """Key, value and row sizes of the live rows of one store, version after version."""

    def __init__(self) -> None:
        self.key: Counter[int] = Counter()
        self.value: Counter[int] = Counter()
        self.row: Counter[int] = Counter()

    def update(self, change: Change) -> None:
        """Take one version's change over."""
        if change.rebased:
            self.key, self.value, self.row = Counter(), Counter(), Counter()
        was, now, keys, values = change.was_live, change.now_live, change.key_size, change.now_size
        for counter, before, after in (
            (self.key, keys, keys),
            (self.value, change.was_size, values),
            (self.row, keys + change.was_size, keys + values),
        ):
            _tally(counter, after[now], 1)
            _tally(counter, before[was], -1)

    def snapshot(self) -> tuple[SizeCounts, SizeCounts, SizeCounts]:
        """Key, value and row sizes as they stand, as facts."""
        return SizeCounts(+self.key), SizeCounts(+self.value), SizeCounts(+self.row)


def _tally(counter: Counter[int], sizes: npt.NDArray[np.int64], sign: int) -> None:
    for size, count in _counted(sizes):
        counter[size] += sign * count
        if not counter[size]:
            del counter[size]


def _counted(sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """How often each size occurs; small ones, which nearly all are, without sorting."""
    if int(sizes.max(initial=0)) < _SMALL:
        counts = np.bincount(sizes)
        distinct = np.flatnonzero(counts)
        counts = counts[distinct]
    else:
        distinct, counts = np.unique(sizes, return_counts=True)
    return zip(distinct.tolist(), counts.tolist(), strict=True)
