"""Packs tasks into groups, one for each Spark task: large tasks alone, small ones together.

A Spark task takes some 30 ms of a core before it does anything, and a stage lasts as long as its
last task. So the heaviest tasks are placed first, each in the group that is lightest so far.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from inspector.engines.engine import BatchFunction, Work
from inspector.schemas import task_batch

MAX_GROUPS = 4096  # most Spark tasks of one job
# number of tasks up to which none are grouped, however small: clusters have many cores
UNGROUPED_TASKS = 64
GROUP_BYTES = 4 << 20  # cost in bytes that is worth a Spark task; files count as bytes too
# Spark tasks for each core, if their number is known, so that none idles at the end
GROUPS_PER_CORE = 4

_MASK = 0xFFFFFFFF  # 32 bits
_SEED = 42  # seed of Spark's hash


def group_count(work: Sequence[Work], cores: int | None = None) -> int:
    """Return the number of Spark tasks for some work, at least 1; ``cores`` None: unknown."""
    cost_groups = sum(item.cost for item in work) // GROUP_BYTES
    max_groups = MAX_GROUPS if cores is None else 1 if cores == 1 else GROUPS_PER_CORE * cores
    return max(1, min(MAX_GROUPS, max_groups, len(work), max(UNGROUPED_TASKS, cost_groups)))


def pack(work: Sequence[Work], count: int) -> list[list[Work]]:
    """Return ``count`` groups of tasks of similar cost, the most expensive group first."""
    groups: list[list[Work]] = [[] for _ in range(count)]
    loads = [(0, 0, number) for number in range(count)]
    for item in sorted(work, key=lambda task: -task.cost):
        load, tasks, number = heapq.heappop(loads)
        groups[number].append(item)
        heapq.heappush(loads, (load + item.cost, tasks + 1, number))
    return sorted(groups, key=lambda group: -sum(item.cost for item in group))


def by_group(function: BatchFunction, groups: Sequence[Sequence[Work]]) -> BatchFunction:
    """Return the batch function over numbers of groups (column ``id``) instead of tasks.

    It contains the tasks of all groups, compressed.
    """
    # It captures the tasks, so that no join has to bring them; compressed, as every Spark task is
    # sent all of them: they repeat the same file names, and take a tenth.
    numbers = itertools.count()
    packed = [[(next(numbers), zlib.compress(w.spec.encode())) for w in group] for group in groups]

    def tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the tasks of the groups in some batches, each as a batch."""
        for batch in batches:
            for group in map(int, batch.column("id").to_numpy()):
                for number, spec in packed[group]:
                    yield task_batch(zlib.decompress(spec).decode(), number)

    return lambda batches: function(tasks(batches))


def partition_keys(count: int) -> list[int]:
    """Return by Spark partition, of ``count``, an ``int`` that Spark hashes into it."""
    # repartition(n, key) uses that hash, so some of any other keys would share a partition. If a
    # release of Spark hashes otherwise, the only effect is that groups share partitions.
    result: dict[int, int] = {}
    for key in itertools.count():
        result.setdefault(partition_of(key, count), key)
        if len(result) == count:
            break
    return [result[partition] for partition in range(count)]


def partition_of(key: int, count: int) -> int:
    """Return ``pmod(hash(key), count)`` of an ``int`` as Spark: Murmur3 with seed 42."""
    mixed = (_rotate(key * 0xCC9E2D51 & _MASK, 15) * 0x1B873593) & _MASK
    hashed = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= 4  # bytes of an int
    hashed = ((hashed ^ hashed >> 16) * 0x85EBCA6B) & _MASK
    hashed = ((hashed ^ hashed >> 13) * 0xC2B2AE35) & _MASK
    hashed ^= hashed >> 16
    return (hashed - (1 << 32) if hashed >> 31 else hashed) % count


def _rotate(value: int, bits: int) -> int:
    """Return ``value``, an unsigned 32-bit number, rotated to the left by ``bits`` bits."""
    return (value << bits | value >> (32 - bits)) & _MASK
