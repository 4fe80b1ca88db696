"""Exact size distributions of live rows, kept up to date by the changes of each version."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from inspector.arrays import Int64s, count_by, distinct, tally
from inspector.decode.field_sizes import RowBytes
from inspector.facts.fact import Fact, fact
from inspector.light_dataclasses import dataclass, field
from inspector.operators.rule import RowPart
from inspector.state.change import Change, Moves
from inspector.sums import Sums, counter_of, first_non_zero, sum_by


@dataclass(frozen=True)
class SizeCounts(Sums):
    """Number of rows, keys or values of each size in bytes. Adds up; the zero is empty."""

    # UnsafeRows come in multiples of 8 bytes: few distinct sizes, and every quantile over any union
    # of stores is exact.

    counts: Counter[int] = field(default_factory=Counter)  # number by size in bytes

    @property
    def total(self) -> int:
        """Number of rows, keys or values."""
        return sum(self.counts.values())

    @property
    def max(self) -> int | None:
        """The largest size, None if there is nothing."""
        return max(self.counts, default=None)

    def quantile(self, share: float) -> int | None:
        """Return the nearest-rank quantile: the least size that ``share`` do not exceed.

        Returns None if there is nothing.
        """
        want = share * self.total
        seen = 0
        for size in sorted(self.counts):
            seen += self.counts[size]
            if seen >= want:
                return size
        return None

    @classmethod
    def of(cls, sizes: npt.NDArray[np.int64]) -> SizeCounts:
        """Return the number of each size in an array of sizes."""
        return cls(count_by(*tally(sizes)))


class LiveSizes:
    """Sizes of the keys, values and rows that are live in the last version of a store."""

    def __init__(self) -> None:
        self.key: Counter[int] = Counter()
        self.value: Counter[int] = Counter()
        self.row: Counter[int] = Counter()

    def update(self, change: Change) -> None:
        """Apply one version's change."""
        if change.rebased:
            self.key, self.value, self.row = Counter(), Counter(), Counter()
        for name, added in change.sums.more_by_size.items():
            counter: Counter[int] = getattr(self, name)
            for size, count in added.items():
                counter[size] += count
                if not counter[size]:
                    del counter[size]

    def follow(self, moves: Moves, versions: int) -> dict[str, tuple[Int64s, Int64s]]:
        """Apply several versions' changes, and return the sizes after each one by column name.

        ``moves`` has the sizes that each version adds and removes. A column is a pair: sizes and
        counts in turns, and where the entries of each version end.
        """
        result = {}
        key, value = moves.key_size, moves.value_size
        for name, sizes in (("key", key), ("value", value), ("row", key + value)):
            previous: Counter[int] = getattr(self, name)
            distinct_sizes = distinct(np.concatenate([np.array([*previous], np.int64), sizes]))
            table = np.zeros((versions, len(distinct_sizes)), np.int64)
            np.add.at(table, (moves.at, distinct_sizes.searchsorted(sizes)), moves.rows)
            table[0] += np.array([previous[size] for size in distinct_sizes.tolist()], np.int64)
            counts = table.cumsum(axis=0)
            size_index, direction = counts.nonzero()
            numbers = np.empty((len(size_index), 2), np.int64)
            numbers[:, 0], numbers[:, 1] = distinct_sizes[direction], counts[size_index, direction]
            ends = 2 * np.bincount(size_index, minlength=versions).cumsum()
            result[f"{name}_sizes"] = numbers.ravel(), ends
            last = counts[-1].nonzero()
            setattr(self, name, count_by(distinct_sizes[last], counts[-1][last]))
        return result

    def snapshot(self) -> dict[str, SizeCounts]:
        """Return the present sizes of keys, values and rows by the names of their columns."""
        return {
            f"{name}_sizes": SizeCounts(counter_of(counts)) for name, counts in vars(self).items()
        }


@fact("field_sizes")
@dataclass(frozen=True)
class FieldSizes(Sums, Fact):
    """Bytes of each field of the live rows' keys or values. Adds up."""

    side: RowPart | None = sum_by(first_non_zero, None)  # keys or values
    rows: RowBytes = field(default_factory=RowBytes)  # bytes of each field

    def merge_key(self, _version: int) -> tuple[RowPart | None]:
        """Return the side: facts about keys add up, and facts about values."""
        return (self.side,)


@fact("sampled_sizes")
@dataclass(frozen=True)
class SampledSizes(FieldSizes):
    """Bytes of each field in samples of large rows: the first rows of some files. Adds up."""
