"""The four stores of a join meet: what one side's counters say against its rows, and its times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.discovery.tasks import Task
from inspector.facts.joins import compare_side
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.passes.join_times import Side, tell_key_times
from inspector.passes.observe import schemas
from inspector.passes.store_reader import StoreReader
from inspector.state.replay import StateMap

OF_JOIN = (*COUNT_STORES, *VALUE_STORES)


def tell_sides(
    task: Task, states: Mapping[str, StateMap], readers: Mapping[str, StoreReader]
) -> Iterator[dict[str, Any]]:
    """Facts of kind ``join``, and leftovers, of each side whose stores could be replayed whole."""
    by_name = {store.store_name: store for store in task.stores}
    sides: list[Side] = []
    for counts, values in zip(COUNT_STORES, VALUE_STORES, strict=True):
        if counts not in states or values not in states:
            continue
        key, _ = schemas(by_name[values])
        if key is None or states[counts].tracking.clock is None:
            continue
        found = compare_side(states[counts], states[values], key)
        for slug, number in vars(found).items():
            row = readers[values].row("join", task.version)
            yield row | {"slug": slug, "bad_keys": number}
        sides.append(Side(by_name[values], states[values], readers[values]))
    yield from tell_key_times(task, sides)
