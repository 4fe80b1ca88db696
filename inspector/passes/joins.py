"""The four stores of a join meet: what one side's counters say against its rows, and its times.

Of a join whose watermark lies on the join key only the rows can show which field carries it. Each
partition counts what its own rows say for and against every time in the key; the driver has all
partitions (:mod:`inspector.merge.key_times`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.fact import Observed
from inspector.facts.join_times import KeyTimeVotes, RowsTimedByKey, RowsTimedInRange
from inspector.facts.joins import compare_index, compare_side
from inspector.model import JOIN_TIMED_ROW_STORES
from inspector.operators.join import COUNT_STORES, VALUE_STORES, key_times
from inspector.passes.tracked import schemas
from inspector.sparktypes import StructType
from inspector.state.replay import StateMap

OF_JOIN = (*COUNT_STORES, *VALUE_STORES)


def emit_sides(task: Task, states: Mapping[str, StateMap]) -> Iterator[Observed[Any]]:
    """Facts on each side of a join whose stores could be replayed whole."""
    by_name = {store.store_name: store for store in task.stores}
    for counts, values in zip(COUNT_STORES, VALUE_STORES, strict=True):
        if counts not in states or values not in states:
            continue
        key, _ = schemas(by_name[values])
        timed = values in JOIN_TIMED_ROW_STORES
        if key is None or (states[counts].tracking.clock is None and not timed):
            continue
        store = task.store_id(by_name[values])
        if timed:
            check = compare_index(states[counts], states[values])
        else:
            check = compare_side(states[counts], states[values], key)
        yield Observed(store, task.version, check)
        yield from _key_times(task, by_name[values], states[values], key)


def _key_times(
    task: Task, store: StoreTask, state: StateMap, key: StructType
) -> Iterator[Observed[Any]]:
    batch = next((clock for clock in task.clocks if clock.batch_id == task.version - 1), None)
    watermark_ms = (batch.watermark_ms if batch else None) or 0
    votes = [KeyTimeVotes.observe(state, key, field, watermark_ms) for field in key_times(key)]
    most = max((one.same for one in votes), default=0)
    store_id = task.store_id(store)
    if task.key_range is None:
        yield Observed(store_id, task.version, RowsTimedByKey(most))
    else:
        same = RowsTimedInRange(tuple(one.same for one in votes))
        yield Observed(store_id, task.version, same)
    for one in votes if store.by_key_time else ():
        yield Observed(store_id, task.version, one)
