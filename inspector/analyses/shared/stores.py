"""The tasks of analyses that show keys, and their rows and changes, store by store.

Their rows are written while they are read, so that nothing can be taken back. A store whose files
went, or cannot be read, before it has given its first row is listed and read again, at the same
version; what both looks say is damage. A version that the query has left behind meanwhile is an
error: whoever can begin anew with the newest one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from inspector.analyses.shared.run import Run
from inspector.analyses.shared.second_look import MORE_LOOKS, gone_from, restores
from inspector.decode.row_hash import HASH, hash_digits, row_hash
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Task
from inspector.exceptions import OutpacedError
from inspector.model import Problem, StoreName
from inspector.passes.changes import ChangesTask, changes_of
from inspector.passes.key_filter import KeyFilter, check_filter
from inspector.passes.looked_at import Look, looked_at, once
from inspector.passes.run import rows_of, tasks_in
from inspector.schemas import problem_batch

T = TypeVar("T")
_LISTED = 5


class HashedKeys:
    """What the rows that are read say of the hashes among the names of a key.

    Args:
        requested: what is looked for.
        notes: of the report; gets one for each hash that fits several keys. It grows while the rows
            are read, as a report's problems do.
    """

    def __init__(self, requested: KeyFilter, notes: list[str]) -> None:
        self._found: dict[str, dict[str, None]] = {text: {} for text in requested.hashes}
        self._notes = notes
        self._place: dict[str, int] = {}

    def watch(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass on batches that have a column ``key``, of rows that fit what is looked for."""
        for batch in batches:
            if self._found:
                self.see(batch.column("key").to_pylist())
            yield batch

    def see(self, keys: Sequence[bytes | None]) -> None:
        """Learn that some keys fit; None is a row without one."""
        for text, found in self._found.items():
            for key in keys:
                if key is None or len(found) > _LISTED:
                    continue
                if hash_digits(key).startswith(text[len(HASH) :].lower()):
                    found.setdefault(row_hash(key))
            if len(found) > 1:
                self._note(text, list(found))

    def _note(self, text: str, found: list[str]) -> None:
        more = " and others" if len(found) > _LISTED else ""
        note = (
            f"{text} is ambiguous: it is the beginning of the hashes of several keys, "
            f"{', '.join(found[:_LISTED])}{more}; give more digits"
        )
        position = self._place.setdefault(text, len(self._notes))
        self._notes[position:] = [note, *self._notes[position + 1 :]]


HELD_BYTES = 32 << 20
"""Rows that are held back until their version is seen to last, at most."""


def table_name(store: StoreName) -> str:
    """``operator-0.default``, also the name of a store's file in an export."""
    return f"operator-{store[0]}.{store[1]}"


def by_store(tasks: Iterable[Task]) -> dict[StoreName, list[Task]]:
    """Tasks of one store each, by operator and store name."""
    result: dict[StoreName, list[Task]] = {}
    for task in tasks:
        for store in task.stores:
            name = StoreName(task.operator_id, store.store_name)
            result.setdefault(name, []).append(replace(task, stores=(store,)))
    return dict(sorted(result.items()))


def selected_tasks(run: Run) -> list[Task]:
    """The tasks of a run, narrowed to the rows that its options name.

    Raises:
        CheckpointError: no store can have such rows.
    """
    return narrowed(run, plan(run.checkpoint, run.version, history=False))


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
    return _stream(run, there, rows_of)


def change_batches(run: Run, tasks: Iterable[Task], **fields: Any) -> Iterator[pa.RecordBatch]:
    """The changes of tasks, as :data:`inspector.schemas.CHANGES`; ``fields`` of their tasks."""
    return _stream(run, _each_store(tasks), lambda task: changes_of(ChangesTask(task, **fields)))


def looking(run: Run) -> Look[Task]:
    """What looks again at a store whose files moved under it."""
    if not looks_at(run):
        return once
    return partial(looked_at, again=partial(listed_again, run), looks=MORE_LOOKS)


def looks_at(run: Run) -> bool:
    """Whether a store may be listed again."""
    # What Spark fetches for a task is a copy, which nothing moves.
    return run.can_look_again and run.engine.reader is None


def listed_again(run: Run, task: Task, paths: Iterable[str]) -> Task:
    """The task of one store by a new listing; as it is, if the store is not there any more.

    Args:
        run: of the task.
        task: with one store.
        paths: of files that cannot be read: damage, if the new listing has them.

    Raises:
        OutpacedError: the run began when its version was whole, and it no longer is; or one of
            the files is gone.
    """
    store = task.stores[0]
    checkpoint = run.reopened()
    purged = run.listings.whole and not restores(checkpoint, run.version)
    if purged or gone_from(checkpoint, paths):
        raise OutpacedError(run.outpaced().message, run.checkpoint.root)
    for other in plan(checkpoint, task.version, history=False):
        if (other.operator_id, other.partition_id) == (task.operator_id, task.partition_id):
            files = {one.store_name: one.files for one in other.stores}
            result = files.get(store.store_name, store.files)
            return replace(task, stores=(replace(store, files=result),))
    return task


def _stream(
    run: Run, tasks: Sequence[Task], read: Callable[[Task], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    run.check_lasting()
    look = looking(run)

    def function(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in tasks_in(batches):
            yield from look(task, read)

    return run.stream(function, [task.to_json() for task in tasks], _bytes(tasks))


def held_batches(
    schema: pa.Schema,
    batches_of: Callable[[], Iterator[pa.RecordBatch]],
    begin_anew: Callable[[OutpacedError], None],
    rows: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Batches of one version: the first of them are read at once, and held back.

    As long as none was given away, all begins anew where the query removes the version. From then
    on that is a problem, and the last of the batches.

    Args:
        schema: of the batches.
        batches_of: begins to read.
        begin_anew: goes over to the newest version, or raises what it is given.
        rows: no more of them are needed; 0 for all.

    Raises:
        OutpacedError: the query was faster at every attempt, or its user chose the version.
    """

    def begin() -> tuple[list[pa.RecordBatch], Iterator[pa.RecordBatch]]:
        held, held_rows, held_bytes = list[pa.RecordBatch](), 0, 0
        batches = batches_of()
        for batch in batches:
            held.append(batch)
            held_rows, held_bytes = held_rows + batch.num_rows, held_bytes + batch.nbytes
            if held_bytes >= HELD_BYTES or 0 < rows <= held_rows:
                break
        return held, batches

    return _given(*of_one_version(begin, begin_anew), schema)


def of_one_version(read: Callable[[], T], begin_anew: Callable[[OutpacedError], None]) -> T:
    """What is read of one version: of a newer one, where the query removed it meanwhile.

    Args:
        read: reads the version.
        begin_anew: goes over to the newest version, or raises what it is given.

    Raises:
        OutpacedError: the query was faster at every attempt, or its user chose the version.
    """
    for _ in range(MORE_LOOKS):
        try:
            return read()
        except OutpacedError as error:  # noqa: PERF203 - an attempt takes longer than its try
            begin_anew(error)
    return read()


def _given(
    held: list[pa.RecordBatch], batches: Iterator[pa.RecordBatch], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    held.reverse()
    while held:
        yield held.pop()
    try:
        yield from batches
    except OutpacedError as error:
        yield problem_batch(schema, [Problem(error.slug, error.message, error.path)])


def _each_store(tasks: Iterable[Task]) -> list[Task]:
    """The tasks with one store each, in the same order."""
    return [replace(task, stores=(store,)) for task in tasks for store in task.stores]


def _bytes(tasks: Iterable[Task]) -> int:
    return sum(task.file_bytes for task in tasks)
