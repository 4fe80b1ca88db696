"""The history of a partition's keys from those that had them before a repartitioning.

Each of those is replayed up to the version that was repartitioned, and forgotten but for what it
knows of these keys. Where one cannot be, or the rows are not those that it had, the history of the
keys begins with the repartitioning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.inherited import Inherited
from inspector.passes.lifetime import Lifetime
from inspector.passes.store_reader import StoreReader
from inspector.state.replay import StateMap


def origins_of(
    task: Task, store: StoreTask, reader: StoreReader
) -> Iterator[tuple[Task, StoreTask, StoreReader]]:
    """The same store in the partitions that its rows came from, each with a reader.

    Args:
        task: knows of them.
        store: of the task.
        reader: of the store.
    """
    for origin in map(Task.from_json, task.origins):
        clocks = tuple(clock for clock in task.clocks if clock.batch_id < origin.version)
        whole = replace(origin, clocks=clocks, codecs=task.codecs)
        for other in origin.stores:
            if other.store_name == store.store_name:
                bare = replace(other, side_files=())
                yield whole, bare, StoreReader(whole, reader.storage, bare)


def inherit(
    state: StateMap, life: Lifetime, origins: Iterable[tuple[StateMap, Lifetime] | None]
) -> None:
    """Go on with the history that the keys of a map had elsewhere, if all of it is known.

    Args:
        state: the map that a repartitioning's snapshot was loaded into.
        life: of its rows.
        origins: maps and lives of the partitions that they came from; None for one that cannot be
            replayed.
    """
    found, lives = Inherited(state), list[Lifetime]()
    for origin in origins:
        if origin is None:
            return
        other, of_other = origin
        found.add(other, of_other.runs, of_other.calls())
        lives.append(of_other)
    if lives and found.whole:
        life.inherit(lives, found)
