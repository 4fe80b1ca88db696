"""Facts for which several stores of a partition meet, or the live rows are read once more.

The variables and timers of a transformWithState meet by their grouping keys. The four stores of a
join meet: what one side's counters say against its rows, and its times. Of a join whose watermark
lies on the join key only the rows can show which field carries it: each partition counts what its
own rows say for and against every time in the key; the driver has all partitions
(:mod:`inspector.merge.collect`). The map that a pass keeps has no values, so bytes by field and
the flags of joins are read from the files, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inspector.arrays import Int64s, distinct
from inspector.decode.field_sizes import RowBytes, measure_rows
from inspector.decode.row_columns import count_flags
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts import variable_entries
from inspector.facts.expiring import now_ms
from inspector.facts.fact import Observed
from inspector.facts.join_rows import (
    KeyTimeVotes,
    MatchedRows,
    RowsTimedByKey,
    RowsTimedInRange,
    compare_index,
    compare_side,
)
from inspector.facts.largest_fields import LargestFields
from inspector.facts.size_distributions import FieldSizes
from inspector.model import JOIN_TIMED_ROW_STORES
from inspector.operators.join import COUNT_STORES, VALUE_STORES, key_times, match_flag_ordinal
from inspector.operators.rule import RowPart
from inspector.operators.transform_with_state import Family
from inspector.passes.live_rows import live_rows
from inspector.passes.store_reader import StoreReader
from inspector.passes.tracked import schemas
from inspector.schemas import spans_of
from inspector.sparktypes import StructType
from inspector.state.replay import StateMap

_PLACES = {
    Family.VALUE: variable_entries.KeyPlace.WHOLE,
    Family.LIST: variable_entries.KeyPlace.INDEXED,
    Family.MAP: variable_entries.KeyPlace.FIRST,
    Family.TIMERS: variable_entries.KeyPlace.FIRST,
}
"""Position of the grouping key in the keys of each family. Other families are Spark's own indexes.
"""


def meets_others(store: StoreTask) -> bool:
    """Return True if a store's map is needed until all stores of the partition are read."""
    return store.family in _PLACES or store.store_name in (*COUNT_STORES, *VALUE_STORES)


def emit_variables(task: Task, states: Mapping[str, StateMap]) -> Iterator[Observed[Any]]:
    """Yield facts about variables and timers of transformWithState, from the maps of their stores.

    They are the entries of lists and maps by group, timers without state, and fired groups with
    state. A store missing in ``states`` could not be replayed; facts that need it are left out.
    """
    stores = [store for store in task.stores if store.family in _PLACES]
    keys = variable_entries.GroupingKeys()
    read: dict[str, tuple[StateMap, Int64s]] = {}  # and the grouping key of each of its rows
    for store in stores:
        (key, _), state = schemas(store), states.get(store.store_name)
        if key is not None and state is not None and store.family is not None:
            read[store.store_name] = state, keys.owners(state, _PLACES[store.family], key)
    for store in stores:
        if store.store_name in read and store.family in (Family.LIST, Family.MAP):
            for item in variable_entries.entries_of(*read[store.store_name], keys):
                yield Observed(task.store_id(store), task.version, item)
    timers = [s for s in stores if s.family is Family.TIMERS and s.store_name in read]
    variables = [store for store in stores if store.family is not Family.TIMERS]
    if not timers or not all(store.store_name in read for store in variables):
        return  # that a key has no state is known only if every variable is
    variable_stores = [(store, *read[store.store_name]) for store in variables]
    stores_with_rows = [
        (store, ids[state.live[: len(state)]]) for store, state, ids in variable_stores
    ]
    all_ids = distinct(np.concatenate([*(ids for _, ids in stores_with_rows), _NO_IDS]))
    batch = task.clock(task.version)
    for store in timers:
        timed, owners = read[store.store_name]
        item = variable_entries.timers_without_state(timed, owners, all_ids)
        yield Observed(task.store_id(store), task.version, item)
        now = now_ms(store.expiry, batch) if store.expiry else None
        fired = _NO_IDS if now is None else variable_entries.fired_keys(timed, owners, now)
        for variable, ids in stores_with_rows if len(fired) else ():
            fired_keys = variable_entries.FiredKeys(len(fired), int(np.isin(fired, ids).sum()))
            yield Observed(task.store_id(variable), task.version, fired_keys)


_NO_IDS: Int64s = np.empty(0, np.int64)  # no ids of grouping keys


def emit_fields(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[Observed[Any]]:
    """Yield the bytes of each column of keys and of values, and the keys that have most of them.

    As many keys are listed as of other rankings. A store without a schema has no such fact; its
    files are read nevertheless. Problems stay with ``reader``.
    """
    sides = zip((RowPart.KEY, RowPart.VALUE), schemas(store), strict=True)
    side_schemas = {side: schema for side, schema in sides if schema is not None}
    result = {side: RowBytes.empty(schema) for side, schema in side_schemas.items()}
    largest = LargestFields(task.request.top)
    for batch in live_rows(task, store, reader):
        for side, schema in side_schemas.items():
            take_sizes = largest.taker(side, batch.column("key")) if task.request.top else None
            spans = spans_of(batch.column(side.value))
            result[side] += measure_rows(schema, *spans, take_sizes)
    for side, measured in result.items():
        yield Observed(reader.store, task.version, FieldSizes(side, measured))
    for one in largest.facts():
        yield Observed(reader.store, task.version, one)


def emit_partners(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[Observed[Any]]:
    """Yield how many rows of a join's side are flagged as matched with a row of the other side.

    Nothing is yielded if the rows have no such flag, which state format 2 added. Problems stay with
    ``reader``; the pass over the same files has reported them.
    """
    _, value = schemas(store) if store.store_name in VALUE_STORES else (None, None)
    ordinal = None if value is None else match_flag_ordinal(value)
    if value is None or ordinal is None:
        return
    counts = np.zeros(2, np.int64)
    for batch in live_rows(task, store, reader):
        counts += count_flags(value, ordinal, *spans_of(batch.column("value")))
    yield Observed(reader.store, task.version, MatchedRows(int(counts[0]), int(counts[1])))


def emit_sides(task: Task, states: Mapping[str, StateMap]) -> Iterator[Observed[Any]]:
    """Yield facts about each side of a join both of whose stores are in ``states``.

    They compare the counters, or the index by key, with the rows, and count times that equal the
    key's.
    """
    stores_by_name = {store.store_name: store for store in task.stores}
    for counts, values in zip(COUNT_STORES, VALUE_STORES, strict=True):
        if counts not in states or values not in states:
            continue
        key, _ = schemas(stores_by_name[values])
        timed = values in JOIN_TIMED_ROW_STORES
        if key is None or (states[counts].tracking.clock is None and not timed):
            continue
        store = task.store_id(stores_by_name[values])
        if timed:
            check = compare_index(states[counts], states[values])
        else:
            check = compare_side(states[counts], states[values], key)
        yield Observed(store, task.version, check)
        yield from _key_times(task, stores_by_name[values], states[values], key)


def _key_times(
    task: Task, store: StoreTask, state: StateMap, key: StructType
) -> Iterator[Observed[Any]]:
    """Yield facts about the times in the join key: evidence which one has the watermark."""
    batch = task.clock(task.version)
    watermark_ms = (batch.watermark_ms if batch else None) or 0
    votes = [KeyTimeVotes.observe(state, key, field, watermark_ms) for field in key_times(key)]
    most_votes = max((vote.same for vote in votes), default=0)
    store_id = task.store_id(store)
    if task.key_range is None:
        yield Observed(store_id, task.version, RowsTimedByKey(most_votes))
    else:
        equal_rows = RowsTimedInRange(tuple(vote.same for vote in votes))
        yield Observed(store_id, task.version, equal_rows)
    for vote in votes if store.by_key_time else ():
        yield Observed(store_id, task.version, vote)
