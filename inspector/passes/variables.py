"""The stores of a transformWithState meet: entries by grouping key, timers without a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.fact import Observed
from inspector.facts.grouping_keys import GroupingKeys, KeyPlace
from inspector.facts.variables import entries_of, timers_without_state
from inspector.operators.transform_with_state import Family
from inspector.passes.tracked import schemas
from inspector.state.replay import StateMap

_PLACES = {
    Family.VALUE: KeyPlace.WHOLE,
    Family.LIST: KeyPlace.INDEXED,
    Family.MAP: KeyPlace.FIRST,
    Family.TIMERS: KeyPlace.FIRST,
}
"""Where the rows of each family have their grouping key; the others are Spark's indexes."""


def meets_others(store: StoreTask) -> bool:
    """Whether a store has to be held until all of the partition's have been read."""
    return store.family in _PLACES


def emit_variables(task: Task, states: Mapping[str, StateMap]) -> Iterator[Observed[Any]]:
    """Facts on the variables and timers of a partition, from the maps of those that were read."""
    stores = [store for store in task.stores if meets_others(store)]
    keys = GroupingKeys()
    read = {name: each for name, each in _read(keys, stores, states) if each is not None}
    for store in stores:
        found = read.get(store.store_name)
        if found is not None and store.family in (Family.LIST, Family.MAP):
            for one in entries_of(found.state, found.owners, keys):
                yield Observed(task.store_id(store), task.version, one)
    variables = [store.store_name for store in stores if store.family is not Family.TIMERS]
    if not all(name in read for name in variables):
        return  # that a key has no state is known only if every variable is
    every = np.unique(np.concatenate([*(read[n].of_live for n in variables), _NO_IDS]))
    for store in stores:
        found = read.get(store.store_name)
        if found is not None and store.family is Family.TIMERS:
            one = timers_without_state(found.state, found.owners, every)
            yield Observed(task.store_id(store), task.version, one)


_NO_IDS: Int64s = np.empty(0, np.int64)


@dataclass(frozen=True)
class _Read:
    """A store that could be read: its map, and the grouping key of each of its rows."""

    state: StateMap
    owners: Int64s

    @property
    def of_live(self) -> Int64s:
        """The grouping keys of the live rows."""
        return self.owners[self.state.live[: len(self.state)]]


def _read(
    keys: GroupingKeys, stores: Sequence[StoreTask], states: Mapping[str, StateMap]
) -> Iterator[tuple[str, _Read | None]]:
    for store in stores:
        key, _ = schemas(store)
        state = states.get(store.store_name)
        if key is None or state is None or store.family is None:
            yield store.store_name, None
        else:
            owners = keys.owners(state, _PLACES[store.family], key)
            yield store.store_name, _Read(state, owners)
