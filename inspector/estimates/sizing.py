"""Estimates of how many executors hold a state, and how large they have to be.

State lies on the heap, in objects that Spark's memory manager does not count. Of a heap Spark
reserves 300 MiB and leaves ``spark.memory.fraction`` of the rest to execution and storage
(``UnifiedMemoryManager``), which take it when a batch needs it; what is surely left is the
remainder.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

RESERVED_BYTES = 300 << 20  # ``UnifiedMemoryManager.RESERVED_SYSTEM_MEMORY_BYTES``
MANAGED_PERCENT = 60  # ``spark.memory.fraction`` by default (Spark 2.0 and later)


class Shape(NamedTuple):
    """An executor: its maximal heap in bytes, and how many tasks it runs at a time."""

    heap_bytes: int
    cores: int


SHAPES = tuple(
    Shape(gib << 30, cores) for gib, cores in ((2, 1), (4, 2), (8, 4), (16, 4), (32, 8), (64, 16))
)
"""Executors that are usual."""


def room_bytes(heap_bytes: int, percent: int | None = None) -> int:
    """Return the part of ``spark.executor.memory`` for the state; by default what Spark leaves."""
    if percent is not None:
        return heap_bytes * percent // 100
    return max(0, heap_bytes - RESERVED_BYTES) * (100 - MANAGED_PERCENT) // 100


def heap_bytes_for(room: int, percent: int | None = None) -> int:
    """The smallest heap that leaves so much to the state; the inverse of :func:`room_bytes`."""
    if percent is not None:
        return -(-room * 100 // percent)
    return RESERVED_BYTES + -(-room * 100 // (100 - MANAGED_PERCENT))


class Spread(NamedTuple):
    """Bytes on one executor: partitions spread evenly, and the largest of them together."""

    even: int
    worst: int


class Load:
    """Heap of the partitions of a state, between batches and at the peak of a batch."""

    def __init__(self, retained_bytes: Sequence[int], peak_bytes: Sequence[int]) -> None:
        pairs = zip(retained_bytes, peak_bytes, strict=True)
        self.partitions = len(retained_bytes)
        self._usual = _largest_first(retained_bytes)
        self._more = _largest_first([max(0, maximum - usual) for usual, maximum in pairs])

    def spread(self, executors: int, cores: int) -> Spread:
        """Return the heap that an executor needs while it processes one partition on each core."""
        share = -(-self.partitions // executors)
        busy_cores = min(cores, share)
        mean_more = self._more[-1] * busy_cores // self.partitions if self.partitions else 0
        even = self._usual[-1] // executors + mean_more
        return Spread(even, max(even, self._usual[share] + self._more[busy_cores]))

    def executors_for(self, room: int, cores: int, *, evenly: bool) -> int | None:
        """The fewest executors that hold it; None if more than one for each partition."""
        # Not evenly, the largest partitions may meet on one executor. The room is in bytes.
        numbers = range(1, max(1, self.partitions) + 1)

        def fits(executors: int) -> bool:
            spread = self.spread(executors, cores)
            return (spread.even if evenly else spread.worst) <= room

        fewest = bisect_left(numbers, True, key=fits)
        return numbers[fewest] if fewest < len(numbers) else None


def _largest_first(amounts: Sequence[int]) -> list[int]:
    """Sums of the largest none, one, two, ... of them."""
    return [0, *accumulate(sorted(amounts, reverse=True))]
