"""Tasks in, facts out, of all versions or of fields; or tasks in, live rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from inspector.checkpoint.storage import Storage
from inspector.discovery.tasks import Task
from inspector.facts.fact import Observed
from inspector.facts.problems import ReadProblem
from inspector.facts.registry import fact_batches
from inspector.passes.joins import OF_JOIN, emit_sides
from inspector.passes.live_rows import live_rows
from inspector.passes.observe import audit_store
from inspector.passes.row_facts import emit_fields, emit_matched
from inspector.passes.store_reader import StoreReader
from inspector.schemas import ROWS, problem_batch
from inspector.state.replay import StateMap


def run_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the partitions of some tasks and emit the facts; signature of ``mapInArrow``.

    Args:
        batches: of schema :data:`inspector.schemas.TASKS`.

    Yields:
        Batches of :func:`inspector.facts.registry.facts_schema`, in an order that depends on the
        tasks alone.
    """
    for task in _tasks(batches):
        yield from fact_batches(_each_store(task))


def run_fields(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Measure what each field takes in the live rows of some tasks' version, without a replay.

    Yields:
        Batches of :func:`inspector.facts.registry.facts_schema`: field sizes, and problems.
    """
    for task in _tasks(batches):
        yield from fact_batches(_each_field(task))


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
                yield problem_batch(ROWS, reader.problems)


def _tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[Task]:
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield Task.from_json(str(spec))


def _each_store(task: Task) -> Iterator[Observed[Any]]:
    storage = Storage(task.url, task.options, task.root)
    states: dict[str, StateMap] = {}
    for store in task.stores:
        reader = StoreReader(task, storage, task.store_id(store), store.side_files)
        state = yield from audit_store(task, store, reader)
        reader.check_rest(store.files)
        yield from _problems(task, reader)
        if task.matched:
            # A reader of its own: what this one meets again has just been reported.
            yield from emit_matched(task, store, StoreReader(task, storage, task.store_id(store)))
        if state is not None and store.store_name in OF_JOIN:
            states[store.store_name] = state
    yield from emit_sides(task, states)


def _each_field(task: Task) -> Iterator[Observed[Any]]:
    storage = Storage(task.url, task.options, task.root)
    for store in task.stores:
        reader = StoreReader(task, storage, task.store_id(store))
        yield from emit_fields(task, store, reader)
        yield from _problems(task, reader)


def _problems(task: Task, reader: StoreReader) -> Iterator[Observed[Any]]:
    for found in reader.problems:
        yield ReadProblem.observe(found, reader.store, task.version)
