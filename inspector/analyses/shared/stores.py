"""The tasks of analyses that show keys, and their rows and changes, store by store.

Their rows are written while they are read, so that nothing can be taken back. A store whose files
went, or cannot be read, before it has given its first row is listed and read again, at the same
version; what both looks say is damage, or a version that the query has left behind meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from inspector.analyses.shared.run import Run
from inspector.analyses.shared.second_look import MORE_LOOKS
from inspector.checkpoint.logfile import DOUBTFUL
from inspector.discovery.plan import TaskRequest, plan
from inspector.discovery.tasks import Task
from inspector.engines.engine import BatchFunction, reader_of
from inspector.model import StoreName
from inspector.passes.changes import ChangesTask, run_changes
from inspector.passes.key_filter import KeyFilter, check_filter
from inspector.passes.run import run_rows, tasks_in
from inspector.schemas import task_batch


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
    there = _each_store(task for task in tasks if task.version)
    return run.stream(_Looking(run, run_rows), [task.to_json() for task in there], _bytes(there))


def change_batches(run: Run, tasks: Iterable[Task], **fields: Any) -> Iterator[pa.RecordBatch]:
    """The changes of tasks, as :data:`inspector.schemas.CHANGES`; ``fields`` of their tasks."""
    tasks = _each_store(tasks)

    def changes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        specs = [ChangesTask(task, **fields).to_json() for task in tasks_in(batches)]
        return run_changes(task_batch(spec, number) for number, spec in enumerate(specs))

    return run.stream(_Looking(run, changes), [task.to_json() for task in tasks], _bytes(tasks))


@dataclass(frozen=True)
class _Looking:
    """A function of the passes that looks again at a store whose files moved under it.

    Attributes:
        run: opens the checkpoint again. function: reads the task of one store.
    """

    run: Run
    function: BatchFunction

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # What Spark fetches for a task is a copy, which nothing moves.
        can = self.run.can_look_again and reader_of(self.run.engine) is None
        for task in tasks_in(batches):
            yield from self._of(task, MORE_LOOKS if can else 0)

    def _of(self, task: Task, looks: int) -> Iterator[pa.RecordBatch]:
        given = False
        for batch in self.function([task_batch(task.to_json(), 0)]):
            if looks and not given and _is_doubtful(batch):
                again = self._again(task)
                yield from self._of(again, looks - 1 if again != task else 0)
                return
            given = True
            yield batch

    def _again(self, task: Task) -> Task:
        """The same task by a new listing; as it is, if the store is not there any more."""
        store = task.stores[0]
        checkpoint = self.run.reopened()
        for other in plan(checkpoint, TaskRequest(task.version)):
            if (other.operator_id, other.partition_id) == (task.operator_id, task.partition_id):
                files = {one.store_name: one.files for one in other.stores}
                found = files.get(store.store_name, store.files)
                return replace(task, stores=(replace(store, files=found),))
        return task


def _is_doubtful(batch: pa.RecordBatch) -> bool:
    """Whether a batch is of problems, of which a second look may not confirm some."""
    if batch.column("kind")[0].as_py() != "problem":
        return False
    return not DOUBTFUL.isdisjoint(batch.column("slug").to_pylist())


def _each_store(tasks: Iterable[Task]) -> list[Task]:
    """The tasks with one store each, in the same order."""
    return [replace(task, stores=(store,)) for task in tasks for store in task.stores]


def _bytes(tasks: Iterable[Task]) -> int:
    return sum(task.file_bytes for task in tasks)
