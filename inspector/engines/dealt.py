"""Which tasks share a Spark task: large ones run alone, small ones together.

A Spark task takes some 30 ms of a core before it does anything, and a stage lasts as long as its
last one. So the heaviest tasks come first, and each goes where least is to be done so far.
"""

from __future__ import annotations

import heapq
import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from inspector.engines.engine import BatchFunction, Work
from inspector.schemas import task_batch

SLOTS = 4096
"""Spark tasks of one job at most."""

FEW = 64
"""Tasks that are not put together, however small: an executor has some cores, a cluster many."""

SLOT_BYTES = 4 << 20
"""File bytes that are worth a Spark task."""


PER_CORE = 4
"""Spark tasks for each of several cores that are known: so that none waits long for another."""


def slots_for(work: Sequence[Work], cores: int | None = None) -> int:
    """How many Spark tasks some work is worth; at least 1.

    Args:
        work: the tasks.
        cores: those that there will ever be; None if that is not known.
    """
    by_bytes = sum(each.weight for each in work) // SLOT_BYTES
    most = SLOTS if cores is None else 1 if cores == 1 else PER_CORE * cores
    return max(1, min(SLOTS, most, len(work), max(FEW, by_bytes)))


def deal(work: Sequence[Work], slots: int) -> list[list[Work]]:
    """The work of each slot; the slots by falling weight, so that the heaviest start first.

    Args:
        work: the tasks.
        slots: how many; none is empty if there are as many tasks.
    """
    hands: list[list[Work]] = [[] for _ in range(slots)]
    loads = [(0, 0, slot) for slot in range(slots)]
    for each in sorted(work, key=lambda one: -one.weight):
        load, count, slot = heapq.heappop(loads)
        hands[slot].append(each)
        heapq.heappush(loads, (load + each.weight, count + 1, slot))
    return sorted(hands, key=lambda hand: -sum(each.weight for each in hand))


def handing(function: BatchFunction, hands: Sequence[Sequence[Work]]) -> BatchFunction:
    """A batch function that takes numbers of slots and hands on their tasks.

    The tasks are a part of the function, so that no join has to bring them together with their
    slots; small, because every Spark task is sent all of them. They name the same files over and
    over, and take a tenth when compressed.

    Args:
        function: takes batches of :data:`inspector.schemas.TASKS`.
        hands: the work of each slot.
    """
    numbers = itertools.count()
    handed_out = [
        [(next(numbers), zlib.compress(each.spec.encode())) for each in hand] for hand in hands
    ]

    def tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for slot in map(int, batch.column("id").to_numpy()):
                for number, spec in handed_out[slot]:
                    yield task_batch(zlib.decompress(spec).decode(), number)

    def handed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(tasks(batches))

    return handed
