"""Estimates of the number and size of executors that a state needs.

State is on the heap, in objects that Spark's memory manager does not count. Spark reserves 300 MiB
of a heap and leaves ``spark.memory.fraction`` of the rest to execution and storage
(``UnifiedMemoryManager``), which use it when a batch needs it. Only the remainder is surely free.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

# bytes of a heap that Spark reserves (``UnifiedMemoryManager.RESERVED_SYSTEM_MEMORY_BYTES``)
RESERVED_BYTES = 300 << 20
# percent of the rest for execution and storage: default of ``spark.memory.fraction`` (Spark 2.0 on)
MANAGED_PERCENT = 60


class Shape(NamedTuple):
    """Size of an executor."""

    heap_bytes: int  # maximal heap in bytes
    cores: int  # tasks that it runs at the same time


SHAPES = tuple(
    Shape(gib << 30, cores) for gib, cores in ((2, 1), (4, 2), (8, 4), (16, 4), (32, 8), (64, 16))
)
"""Usual sizes of executors."""


def room_bytes(heap_bytes: int, percent: int | None = None) -> int:
    """Return the bytes of a heap (``spark.executor.memory``) that are free for state.

    ``percent`` of the heap; by default the part that Spark leaves.
    """
    if percent is not None:
        return heap_bytes * percent // 100
    return max(0, heap_bytes - RESERVED_BYTES) * (100 - MANAGED_PERCENT) // 100


def heap_bytes_for(room: int, percent: int | None = None) -> int:
    """Return the smallest heap with ``room`` bytes for state; the inverse of :func:`room_bytes`."""
    if percent is not None:
        return -(-room * 100 // percent)
    return RESERVED_BYTES + -(-room * 100 // (100 - MANAGED_PERCENT))


class Spread(NamedTuple):
    """Bytes of state on one executor."""

    even: int  # if partitions are spread evenly
    worst: int  # if the largest partitions are together on one executor


class Load:
    """Heap of the partitions of a state, between batches and at the peak of a batch.

    ``retained_bytes`` and ``peak_bytes`` have the bytes of each partition.
    """

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
        """Return the fewest executors that hold the state; None if that is more than partitions.

        ``room`` is in bytes. ``evenly``: partitions are spread evenly; otherwise the largest may
        meet on one executor.
        """
        # Not evenly, the largest partitions may meet on one executor. The room is in bytes.
        numbers = range(1, max(1, self.partitions) + 1)

        def fits(executors: int) -> bool:
            """Return True if the state fits on a number of executors."""
            spread = self.spread(executors, cores)
            return (spread.even if evenly else spread.worst) <= room

        fewest = bisect_left(numbers, True, key=fits)
        return numbers[fewest] if fewest < len(numbers) else None


def _largest_first(amounts: Sequence[int]) -> list[int]:
    """Return the sums of the largest 0, 1, 2, ... amounts."""
    return [0, *accumulate(sorted(amounts, reverse=True))]
