"""Task specifications, rows and facts of batches, and a dictionary model of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow as pa

from inspector.discovery.tasks import Task
from inspector.facts.fact import Fact
from inspector.schemas import TASKS, batch_of
from tests.cases import Seen, place, tasks_of
from tests.encode import Record

FactT = TypeVar("FactT", bound=Fact)
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def specs_of(root: Path, version: int | None = None) -> list[str]:
    """Return the JSON of each task of a checkpoint."""
    return texts_of(tasks_of(root, version))


def texts_of(tasks: Iterable[Task]) -> list[str]:
    """Return the JSON of tasks."""
    return [task.to_json() for task in tasks]


def tasks_batch(specs: Sequence[str]) -> pa.RecordBatch:
    """Return one batch of tasks, given as JSON."""
    return batch_of(TASKS, [{"task_id": 0, "spec": spec} for spec in specs])


def facts_by_version(result: Iterable[Seen], kind: type[FactT]) -> dict[int, FactT]:
    """Return the facts of one type by version, if each version has one such fact."""
    return {item.version: item.fact for item in result if isinstance(item.fact, kind)}


def rows_in(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return the rows of record batches in their order."""
    return [row for batch in batches for row in batch.to_pylist()]


def rows_of_store(rows: Iterable[Any], *store: int | str) -> list[Any]:
    """Return the rows or facts of one operator, store name and partition."""
    return [row for row in rows if place(row) == store]


class Effect(NamedTuple, Generic[KeyT, ValueT]):
    """A record of a delta and the value that it replaces. None is the value of an absent key."""

    version: int
    record: int
    key: KeyT
    old: ValueT | None
    new: ValueT | None


def effects_of(
    history: Sequence[Sequence[tuple[KeyT, ValueT | None]]],
) -> list[Effect[KeyT, ValueT]]:
    """Return the records of all deltas in their order, each with the value that it replaces."""
    state: dict[KeyT, ValueT | None] = {}
    result = []
    for version, records in enumerate(history, 1):
        for ordinal, (key, value) in enumerate(records):
            result.append(Effect(version, ordinal, key, state.get(key), value))
            state[key] = value
    return result


def snapshot_of(states: Sequence[dict[bytes, bytes]], version: int) -> dict[int, list[Record]]:
    """Return the snapshot of a version, or no snapshot if there is no such version above 0."""
    has_version = 0 < version < len(states)
    return {version: list(states[version].items())} if has_version else {}


def states_after(
    history: Sequence[Sequence[tuple[KeyT, ValueT | None]]],
) -> list[dict[KeyT, ValueT]]:
    """Return the rows of each version, from version 0, if each delta has these records."""
    states: list[dict[KeyT, ValueT]] = [{}]
    for records in history:
        state = dict(states[-1])
        for key, value in records:
            state.pop(key, None)
            state.update({} if value is None else {key: value})
        states.append(state)
    return states
