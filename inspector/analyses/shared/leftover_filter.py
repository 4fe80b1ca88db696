"""Leftovers of which the key or the value is looked for.

Facts hold the bytes of a leftover's key and not its value: what a condition says of the value is
found by reading the live rows of the partitions that have such keys once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from inspector.discovery.tasks import Task
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.model import StoreId
from inspector.passes.key_filter import filter_of

ReadRows = Callable[[Task], Iterator[pa.RecordBatch]]
"""What reads the live rows of a task that meet its filter, as :data:`inspector.schemas.ROWS`."""

_Listed = Sequence[Observed[Leftover]]


def looked_for(
    listed: Iterable[Observed[Leftover]], tasks: Iterable[Task], read: ReadRows
) -> list[Observed[Leftover]]:
    """Those that meet the filter of their task, in the same order.

    Args:
        listed: leftovers of the tasks' partitions.
        tasks: with ``key`` and ``where``.
        read: how rows are read, where the filter is about values.
    """
    by_store: dict[StoreId, list[Observed[Leftover]]] = {}
    listed = list(listed)
    for one in listed:
        by_store.setdefault(one.store, []).append(one)
    met: set[tuple[StoreId, bytes]] = set()
    for task in tasks:
        met |= _of_task(task, by_store, read)
    return [one for one in listed if (one.store, one.fact.key) in met]


def _of_task(
    task: Task, by_store: dict[StoreId, list[Observed[Leftover]]], read: ReadRows
) -> set[tuple[StoreId, bytes]]:
    met: set[tuple[StoreId, bytes]] = set()
    by_value = False
    for store in task.stores:
        bound = filter_of(task, store)
        keys = [one.fact.key for one in by_store.get(task.store_id(store), ())]
        if bound is None or not keys:
            continue
        lengths = np.array(list(map(len, keys)), np.int64)
        offsets = np.cumsum(lengths) - lengths
        found = bound.keys_met(b"".join(keys), offsets, lengths, np.arange(len(keys)))
        by_value |= bound.values is not None and len(found) > 0
        met |= {(task.store_id(store), keys[at]) for at in found.tolist()}
    return _of_values(read(task), met) if by_value else met


def _of_values(
    batches: Iterable[pa.RecordBatch], met: set[tuple[StoreId, bytes]]
) -> set[tuple[StoreId, bytes]]:
    """Those whose live row was read: what could not be read is a problem that is reported."""
    kept: set[tuple[StoreId, bytes]] = set()
    for batch in batches:
        if batch.column("kind")[0].as_py() == "problem":
            continue
        names = ("operator_id", "store_name", "partition_id")
        store = StoreId(*(batch.column(name)[0].as_py() for name in names))
        live = {(store, key) for key in batch.column("key").to_pylist() if key is not None}
        kept |= live & met
    return kept
