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

MAX_GROUPS = 4096  # largest number of groups, that is of Spark tasks of one job
# Smallest limit on the number of groups: up to this number of tasks, each task is a group of its
# own, however small. If the number of cores is known, GROUPS_PER_CORE limits the groups further.
UNGROUPED_TASKS = 64
# cost of tasks, in bytes as of ``Work.cost``, that is worth a group, that is a Spark task, of its
# own
GROUP_BYTES = 4 << 20
# largest number of groups for each core, if the number of cores is known; several, so that no core
# idles at the end of the job
GROUPS_PER_CORE = 4

_MASK = 0xFFFFFFFF  # mask that keeps the lowest 32 bits of a number
_SEED = 42  # seed with which Spark hashes the keys of a repartition


def group_count(work: Sequence[Work], cores: int | None = None) -> int:
    """Return the number of groups, one for each Spark task, into which to pack ``work``.

    It is the cost of all tasks divided by GROUP_BYTES, but at least UNGROUPED_TASKS. It is limited
    by the number of tasks, MAX_GROUPS, and GROUPS_PER_CORE times ``cores``; one core gets one
    group. ``cores`` is None if the number of cores is not known. The result is at least 1.
    """
    cost_groups = sum(item.cost for item in work) // GROUP_BYTES
    max_groups = MAX_GROUPS if cores is None else 1 if cores == 1 else GROUPS_PER_CORE * cores
    return max(1, min(MAX_GROUPS, max_groups, len(work), max(UNGROUPED_TASKS, cost_groups)))


def pack(work: Sequence[Work], count: int) -> list[list[Work]]:
    """Divide the tasks ``work`` into ``count`` groups whose sums of costs are similar.

    Return the groups, the most expensive first. A group is empty if there are too few tasks.
    """
    groups: list[list[Work]] = [[] for _ in range(count)]
    loads = [(0, 0, number) for number in range(count)]
    for item in sorted(work, key=lambda task: -task.cost):
        load, tasks, number = heapq.heappop(loads)
        groups[number].append(item)
        heapq.heappush(loads, (load + item.cost, tasks + 1, number))
    return sorted(groups, key=lambda group: -sum(item.cost for item in group))


def by_group(function: BatchFunction, groups: Sequence[Sequence[Work]]) -> BatchFunction:
    """Return a batch function that takes numbers of groups and runs ``function`` on their tasks.

    Its batches have the positions of groups in ``groups`` in the column ``id``. It holds the specs
    of the tasks of all groups, compressed, and yields the results of ``function``.
    """
    # The function holds the tasks, so that no join has to send them. Each Spark task gets all of
    # them; compressed they take a tenth, because they repeat the same file names.
    numbers = itertools.count()
    packed = [[(next(numbers), zlib.compress(w.spec.encode())) for w in group] for group in groups]

    def tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each task of the groups whose numbers are in ``batches`` as a batch of one row."""
        for batch in batches:
            for group in map(int, batch.column("id").to_numpy()):
                for number, spec in packed[group]:
                    yield task_batch(zlib.decompress(spec).decode(), number)

    return lambda batches: function(tasks(batches))


def partition_keys(count: int) -> list[int]:
    """Return a list of ``count`` integers, one for each of ``count`` Spark partitions in order.

    ``repartition(count, key)`` puts a row with the integer at position ``i`` into partition ``i``.
    """
    # With other keys, such as 0 to count - 1, several would share a partition. If a release of
    # Spark uses another hash, the only effect is that groups share partitions.
    result: dict[int, int] = {}
    for key in itertools.count():
        result.setdefault(partition_of(key, count), key)
        if len(result) == count:
            break
    return [result[partition] for partition in range(count)]


def partition_of(key: int, count: int) -> int:
    """Return the partition, of ``count``, into which Spark puts rows with the integer ``key``.

    It is ``pmod(hash(key), count)`` for Spark's hash of an ``int``: Murmur3 with seed 42.
    """
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
