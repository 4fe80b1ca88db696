"""The tasks of analyses that show keys, and their rows and changes, store by store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from inspector.analyses.shared.run import Run
from inspector.discovery.plan import TaskRequest, plan
from inspector.discovery.tasks import Task
from inspector.model import StoreName
from inspector.passes.changes import ChangesTask, run_changes
from inspector.passes.key_filter import KeyFilter, check_filter
from inspector.passes.run import run_rows


def table_name(store: StoreName) -> str:
    """``operator-0.default``, also the name of a store's file in an export."""
    return f"operator-{store[0]}.{store[1]}"


def by_store(tasks: Iterable[Task]) -> dict[StoreName, list[Task]]:
    """Tasks of one store each, by operator and store name."""
    found: dict[StoreName, list[Task]] = {}
    for task in tasks:
        for store in task.stores:
            name = StoreName(task.operator_id, store.store_name)
            found.setdefault(name, []).append(replace(task, stores=(store,)))
    return dict(sorted(found.items()))


def selected_tasks(run: Run) -> list[Task]:
    """The tasks of a run, narrowed to the rows that its options name.

    Raises:
        CheckpointError: no store can have such rows.
    """
    return narrowed(run, plan(run.checkpoint, TaskRequest(run.version)))


def narrowed(run: Run, tasks: Iterable[Task]) -> list[Task]:
    """Tasks of a run, which find only the rows that its options name.

    Raises:
        CheckpointError: no store can have such rows.
    """
    keys = KeyFilter(run.options.keys, tuple(run.options.where))
    if keys:
        check_filter(run.checkpoint, keys)
    return [replace(task, key=keys.key, where=keys.where) for task in tasks]


def live_batches(run: Run, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    """The live rows of tasks, as :data:`inspector.schemas.ROWS`."""
    there = [task for task in tasks if task.version]
    return run.stream(run_rows, [task.to_json() for task in there], _file_bytes(there))


def change_batches(run: Run, tasks: Iterable[Task], **fields: Any) -> Iterator[pa.RecordBatch]:
    """The changes of tasks, as :data:`inspector.schemas.CHANGES`; ``fields`` of their tasks."""
    tasks = list(tasks)
    specs = [ChangesTask(task, **fields).to_json() for task in tasks]
    return run.stream(run_changes, specs, _file_bytes(tasks))


def _file_bytes(tasks: Iterable[Task]) -> int:
    return sum(task.file_bytes for task in tasks)
