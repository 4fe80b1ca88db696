"""Tasks in, facts out, of all versions or of fields; or tasks in, live rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from inspector.checkpoint.storage import Storage
from inspector.discovery.tasks import Task
from inspector.passes.joins import OF_JOIN, tell_sides
from inspector.passes.live_rows import live_rows
from inspector.passes.observe import audit_store
from inspector.passes.row_facts import tell_fields, tell_matched
from inspector.passes.store_reader import StoreReader
from inspector.schemas import FACTS, ROWS, batch_of
from inspector.state.replay import StateMap

BATCH_ROWS = 4096
"""Fact rows per batch: they are small, and a leftover's key is bounded by its file."""

BATCH_BYTES = 4 << 20
"""Key bytes per batch of facts."""


def run_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the partitions of some tasks and tell the facts; signature of ``mapInArrow``.

    Args:
        batches: of schema :data:`inspector.schemas.TASKS`.

    Yields:
        Batches of schema :data:`inspector.schemas.FACTS`, in an order that depends on the tasks
        alone.
    """
    for task in _tasks(batches):
        yield from _batched(_each_store(task))


def run_fields(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tell what each field takes in the live rows of some tasks' version; no version is replayed.

    Yields:
        Batches of schema :data:`inspector.schemas.FACTS` of kind ``fields``, and problems.
    """
    for task in _tasks(batches):
        yield from _batched(_each_field(task))


def run_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the live rows of some tasks' version; the same form as :func:`run_tasks`.

    Yields:
        Batches of schema :data:`inspector.schemas.ROWS`.
    """
    for task in _tasks(batches):
        storage = Storage(task.url, task.options, task.root)
        for store in task.stores:
            reader = StoreReader(task, storage, task.store_id(store))
            yield from live_rows(task, store, reader)
            if reader.problems:
                yield batch_of(ROWS, reader.problems)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[Task]:
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield Task.from_json(str(spec))


def _each_store(task: Task) -> Iterator[dict[str, Any]]:
    storage = Storage(task.url, task.options, task.root)
    readers: dict[str, StoreReader] = {}
    states: dict[str, StateMap] = {}
    for store in task.stores:
        reader = StoreReader(task, storage, task.store_id(store), store.side_files)
        readers[store.store_name] = reader
        state = yield from audit_store(task, store, reader)
        reader.check_rest(store.files)
        yield from reader.problems
        if task.matched:
            # A reader of its own: what this one meets again has just been told.
            yield from tell_matched(task, store, StoreReader(task, storage, task.store_id(store)))
        if state is not None and store.store_name in OF_JOIN:
            states[store.store_name] = state
    yield from tell_sides(task, states, readers)


def _each_field(task: Task) -> Iterator[dict[str, Any]]:
    storage = Storage(task.url, task.options, task.root)
    for store in task.stores:
        reader = StoreReader(task, storage, task.store_id(store))
        yield from tell_fields(task, store, reader)
        yield from reader.problems


def _batched(rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
    held: list[Mapping[str, Any]] = []
    key_bytes = 0
    for row in rows:
        held.append(row)
        key_bytes += len(row.get("key") or b"")
        if len(held) >= BATCH_ROWS or key_bytes >= BATCH_BYTES:
            yield batch_of(FACTS, held)
            held, key_bytes = [], 0
    if held:
        yield batch_of(FACTS, held)
