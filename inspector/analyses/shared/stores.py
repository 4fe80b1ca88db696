"""The tasks of analyses that show keys, and their rows and changes, store by store.

Their rows are written while they are read, so that nothing can be taken back. If files of a store
are gone or unreadable before its first row, the store is listed and read again, at the same
version. A problem of both attempts is damage. If the query has removed the version meanwhile, that
is an error. A caller that can begin again with the newest version does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from inspector.analyses.shared.data_tables import listed_problems, table_work
from inspector.analyses.shared.declare import DataTable, TableOptions, TablePlan
from inspector.analyses.shared.judged import operator_names
from inspector.analyses.shared.key_ranges import run_in_turns
from inspector.analyses.shared.opening import MORE_LOOKS, Opened, missing_files, restores
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.codec import Message
from inspector.decode.row_hash import HASH, hash_digits, row_hash
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Task
from inspector.engines.engine import Work
from inspector.exceptions import CheckpointError, OutpacedError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import DEFAULT_STORE, Problem, ProblemMode, StoreName, is_store
from inspector.passes import typed_rows
from inspector.passes.key_filter import KeyFilter, check_filter
from inspector.passes.problem_mode import COLUMN, refuse, take_problems
from inspector.passes.record_effects import ChangesTask, changes_of
from inspector.passes.worker import rows_of, tasks_in
from inspector.schemas import problem_batch
from inspector.sums import group_by

T = TypeVar("T")  # result of a reading function
TaskT = TypeVar("TaskT", bound=Message)  # class of tasks
Batches: TypeAlias = Iterator[pa.RecordBatch]  # batches of rows, changes or facts
_LISTED = 5  # number of matching hashes that a note lists, at most


class HashedKeys:
    """Watcher of key hashes that the user gave: adds a note for each hash that fits several keys.

    A hash may be the beginning of a longer one.
    """

    def __init__(self, options: Options, notes: list[str]) -> None:
        """Watch the hashes in ``key`` and ``where`` of the options; ``notes`` gets the messages."""
        hashes = KeyFilter(options.keys, options.where).hashes
        # hash that the user gave -> full hashes of the keys that it fits, in their order
        self._found: dict[str, dict[str, None]] = {text: {} for text in hashes}
        self._notes = notes
        self._place: dict[str, int] = {}  # hash that the user gave -> index of its note

    def watch(self, batches: Iterable[pa.RecordBatch]) -> Batches:
        """Yield the batches unchanged, and record which keys of their column ``key`` fit each hash.

        Adds notes as :meth:`see` does.
        """
        for batch in batches:
            if self._found:
                self.see(batch.column("key").to_pylist())
            yield batch

    def see(self, keys: Sequence[bytes | None]) -> None:
        """Record which of these keys fit each hash of the user; None is a row without a key.

        A hash that fits several keys adds a note, or changes its note.
        """
        for text, hashes in self._found.items():
            for key in keys:
                if key is None or len(hashes) > _LISTED:
                    continue
                if hash_digits(key).startswith(text[len(HASH) :].lower()):
                    hashes.setdefault(row_hash(key))
            if len(hashes) > 1:
                self._note(text, list(hashes))

    def _note(self, text: str, hashes: list[str]) -> None:
        """Add the note that the hash ``text`` is ambiguous, or replace its earlier note.

        ``hashes`` are the full hashes that begin with it, of which the note lists ``_LISTED``.
        """
        others = " and others" if len(hashes) > _LISTED else ""
        note = (
            f"{text} is ambiguous: it is the beginning of the hashes of several keys, "
            f"{', '.join(hashes[:_LISTED])}{others}; give more digits"
        )
        position = self._place.setdefault(text, len(self._notes))
        self._notes[position:] = [note, *self._notes[position + 1 :]]


# bytes of rows after which :func:`hold_batches` holds back no further batch
HELD_BYTES = 32 << 20


def table_name(store: StoreName) -> str:
    """Return the name of a store's table, and of its file in an export: ``operator-0.default``.

    It has the operator id and the store name.
    """
    return f"operator-{store[0]}.{store[1]}"


def by_store(tasks: Iterable[Task]) -> dict[StoreName, list[Task]]:
    """Return the tasks of each store, in the order of operators and store names.

    A task with several stores is divided: each task of the result has one store.
    """
    result = group_by(_walk_stores(tasks), lambda task: task.store_id(task.stores[0]).name)
    return dict(sorted(result.items()))


def selected_tasks(run: Run) -> list[Task]:
    """Return the tasks for the rows that a run's options select, to be read in this process.

    Raises CheckpointError if the filter on keys fits no store, and EngineError if the memory limit
    is too small.
    """
    return run_in_turns(_tasks(run), run.options)


def _tasks(run: Run) -> list[Task]:
    """Return the tasks for the rows that the options select, without history of repartitionings.

    Raises CheckpointError if the filter on keys fits no store.
    """
    return narrowed(run, plan(run.checkpoint, run.version, history=False))


def narrowed(run: Run, tasks: Iterable[Task]) -> list[Task]:
    """Return copies of the tasks with the filter on keys and values of the run's options.

    Raises CheckpointError if the filter fits no store.
    """
    keys = KeyFilter(run.options.keys, tuple(run.options.where))
    if keys:
        check_filter(run.checkpoint, keys)
    return [replace(task, key=keys.key, where=keys.where) for task in tasks]


def live_batches(run: Run, tasks: Iterable[Task]) -> Batches:
    """Yield the live rows of tasks, in the form of :data:`inspector.schemas.ROWS`.

    They are read in this process, store by store. Tasks of version 0 have none. Raises
    OutpacedError if the query removed the version.
    """
    present = _walk_stores(task for task in tasks if task.version)
    return _stream(run, present, rows_of)


def change_batches(run: Run, tasks: Iterable[Task], **fields: Any) -> Batches:
    """Yield the changes of tasks, in the form of :data:`inspector.schemas.CHANGES`.

    They are read in this process, store by store. ``fields`` are further fields of
    :class:`ChangesTask`. Raises OutpacedError if the query removed the version.
    """
    return _stream(run, _walk_stores(tasks), lambda task: changes_of(ChangesTask(task, **fields)))


def looking(run: Run) -> typed_rows.Look[Task]:
    """Return a function that reads a task of one store, and lists it again if files are gone.

    The function gets the task and the function that reads it. It yields the batches, and raises
    OutpacedError if the query removed the version or files of it.
    """
    return looking_by((run,), partial(listed_again, run))


def looking_by(
    runs: Sequence[Run], again: Callable[[TaskT, Sequence[str]], TaskT]
) -> typed_rows.Look[TaskT]:
    """Return a function that reads a task of ``runs``, and lists again if its files are gone.

    The function gets the task and the function that reads it, and yields the batches. If a run
    cannot list again, it reads only once. All runs have one engine; its reader, if any, fetches the
    files at each attempt. ``again`` returns the task by a new listing. It gets the task and the
    paths that must still exist.
    """
    look: typed_rows.Look[TaskT] = typed_rows.once
    if all(run.reopen for run in runs):
        look = partial(typed_rows.look_again, again=again, looks=MORE_LOOKS)
    reader = runs[0].engine.reader
    if reader is None:
        return look

    def fetch_and_look(task: TaskT, read: Callable[[TaskT], Batches]) -> Batches:
        """Read a task as ``look`` does, with its files fetched by the reader."""

        def read_files(task: TaskT) -> Batches:
            """Fetch the files of a task, and yield the batches of ``read``."""
            with reader.files_of(task.to_json()):
                yield from read(task)

        return look(task, read_files)

    return fetch_and_look


def check_there(run: Opened, paths: Iterable[str]) -> Checkpoint:
    """Return the checkpoint by a new listing, if it still has the run's version and ``paths``.

    Raises OutpacedError if a file is gone, or if an earlier listing could restore the version and
    the new one cannot. If it raises nothing, files that cannot be read are damage.
    """
    checkpoint = run.list_again()
    purged = run.listings.whole and not restores(checkpoint, run.version)
    if purged or missing_files(checkpoint, paths):
        raise OutpacedError(run.outpaced_problem().message, run.checkpoint.root)
    return checkpoint


def listed_again(run: Run, task: Task, paths: Iterable[str]) -> Task:
    """Return a task of one store with its files by a new listing.

    The task is unchanged if the listing no longer has the store. Raises OutpacedError as
    :func:`check_there` does; ``paths`` are files that must still exist.
    """
    store = task.stores[0]
    for again in _walk_stores(plan(check_there(run, paths), task.version, history=False)):
        if again.store_id(again.stores[0]) == task.store_id(store):
            return replace(task, stores=(replace(store, files=again.stores[0].files),))
    return task


def _stream(run: Run, tasks: Sequence[Task], read: Callable[[Task], Batches]) -> Batches:
    """Yield the batches that ``read`` gives for each task, read in this process one by one.

    A task has one store. Raises OutpacedError if the version was removed while it was listed or
    read.
    """
    run.check_lasting()
    look = looking(run)

    def function(batches: Iterable[pa.RecordBatch]) -> Batches:
        """Yield the batches of the tasks whose specs are in ``batches``."""
        for task in tasks_in(batches):
            yield from look(task, read)

    file_bytes = sum(task.file_bytes for task in tasks)
    return run.stream(function, [task.to_json() for task in tasks], file_bytes)


def hold_batches(
    schema: pa.Schema,
    batches_of: Callable[[], Batches],
    begin_anew: Callable[[OutpacedError], None],
    rows: int = 0,
) -> Batches:
    """Return an iterator over the batches of one version, the first of which are read now.

    Reading now ends after ``rows`` rows (0: no limit) or HELD_BYTES. If the query removes the
    version before that, ``batches_of`` is called again for a newer version, as by
    :func:`of_one_version`. If it does so later, the last batch has the problem, in the form of
    ``schema``. Raises OutpacedError if the query was faster at every attempt.
    """

    def begin() -> tuple[list[pa.RecordBatch], Batches]:
        """Return the batches that are read now, and an iterator over the others."""
        held, held_rows, held_bytes = list[pa.RecordBatch](), 0, 0
        batches = batches_of()
        for batch in batches:
            held.append(batch)
            held_rows, held_bytes = held_rows + batch.num_rows, held_bytes + batch.nbytes
            if held_bytes >= HELD_BYTES or 0 < rows <= held_rows:
                break
        return held, batches

    return _continue(*of_one_version(begin, begin_anew), schema)


def of_one_version(read: Callable[[], T], begin_anew: Callable[[OutpacedError], None]) -> T:
    """Return what ``read`` returns; call it again if the query removed the version.

    It is called again at most ``MORE_LOOKS`` times, if it raised OutpacedError. Each time
    ``begin_anew`` first changes to the newest version, or raises the error that it is given. Raises
    OutpacedError if the last call does.
    """
    for _ in range(MORE_LOOKS):
        try:
            return read()
        except OutpacedError as error:  # noqa: PERF203 - an attempt takes longer than its try
            begin_anew(error)
    return read()


def _continue(held: list[pa.RecordBatch], batches: Batches, schema: pa.Schema) -> Batches:
    """Yield the batches in ``held``, which it empties, and then ``batches``.

    If the query removes the version meanwhile, the last batch has the problem, in the form of
    ``schema``.
    """
    held.reverse()
    while held:
        yield held.pop()
    try:
        yield from batches
    except OutpacedError as error:
        yield problem_batch(schema, [Problem(error.slug, error.message, error.path)])


def _walk_stores(tasks: Iterable[Task]) -> list[Task]:
    """Return a task for each store of each task, in their order."""
    return [replace(task, stores=(store,)) for task in tasks for store in task.stores]


@dataclass(frozen=True)
class StoreTable:
    """Arrow table of a store's rows or changes, whose batches can be iterated once."""

    name: str  # name of the table, such as ``operator-0.default``
    schema: pa.Schema  # columns of the batches, without the column of problems
    batches: Iterable[pa.RecordBatch]  # rows of the table; files are read while it is iterated
    # problems so far; while batches are read, mode ``permissive`` adds theirs
    problems: list[Problem] = field(default_factory=list)


def store_tables(
    path: str | Opened,
    options: Options | None = None,
    table_options: TableOptions | None = None,
    *,
    changes: bool = False,
) -> list[StoreTable]:
    """Return an Arrow table for each store: the live rows of a version, or its changes.

    ``changes`` selects the changes of all readable versions from ``from_batch`` on. No state file
    is read before the batches of a table are iterated. In mode ``permissive`` the first table has
    the problems of the listing. Raises InspectorError for them if the mode is ``failfast``.
    """
    table_options = table_options or TableOptions()
    run = Run.start(path, options)
    if table_options.mode is ProblemMode.FAILFAST:
        refuse(run.listed)
    tasks = store_tasks(run, table_options, changes=changes)
    tables = [_table(run, store, store_task_list) for store, store_task_list in tasks.items()]
    if table_options.mode is ProblemMode.PERMISSIVE:
        for table in tables[:1]:
            table.problems.extend(run.listed)
    return tables


def store_tasks(
    run: Run, table_options: TableOptions, *, changes: bool
) -> dict[StoreName, list[typed_rows.TypedTask]]:
    """Return the tasks that make each store's table, one for each partition, by store.

    ``changes`` makes them read changes in place of live rows.
    """
    names = operator_names(run.checkpoint)
    settings = changes, table_options.from_batch + 1, table_options.raw, table_options.mode
    return {
        store: [typed_rows.TypedTask(task, names[store.operator_id], *settings) for task in tasks]
        for store, tasks in by_store(_tasks(run)).items()  # executors have other tasks beside each
    }


def work_of(tasks: Iterable[typed_rows.TypedTask]) -> tuple[Work, ...]:
    """Return the tasks of a table as work for an engine, in their order."""
    return tuple(table_work(task.task, task.to_json(), task.listed) for task in tasks)


def store_table(name: str, doc: str, *, changes: bool) -> DataTable:
    """Return the declaration of a table of the live rows, or with ``changes`` of the changes.

    The table is about one store: by default ``default`` of operator 0. ``name`` is the name of the
    table and ``doc`` its description. A plan raises CheckpointError if there is no such store.
    """

    def plan(path: str | Opened, options: Options, table_options: TableOptions) -> TablePlan:
        operator_id = options.operator_id or 0
        name = options.store_name or DEFAULT_STORE
        run = Run.start(path, replace(options, operator_id=operator_id))
        tasks_by_store = store_tasks(run, table_options, changes=changes)
        result = [store for store in tasks_by_store if is_store(name, store.store_name)]
        if not result:
            names = ", ".join(repr(store) for _, store in tasks_by_store) or "none"
            raise CheckpointError(
                f"operator {operator_id} has no store {name!r}, it has {names}", run.checkpoint.root
            )
        first, *further = tasks_by_store[result[0]]
        listed = listed_problems(run, table_options.mode, result[:1])
        work = work_of([replace(first, listed=listed), *further])
        return TablePlan(typed_rows.schema_of_rows(first), typed_rows.run_typed_rows, work, run)

    def schema(path: str | Opened, options: Options, table_options: TableOptions) -> pa.Schema:
        return plan(path, options, table_options).schema

    change_options = ("from_batch",) if changes else ()
    return DataTable(name, doc, (*change_options, "raw", "mode", "key", "where"), plan, schema)


def _table(run: Run, store: StoreName, tasks: list[typed_rows.TypedTask]) -> StoreTable:
    """Return the table of one store, whose files are read when its batches are iterated.

    ``tasks`` are those of the store, at least one.
    """
    schema = typed_rows.schema_of_rows(tasks[0])
    problems: list[Problem] = []
    file_bytes = sum(task.task.file_bytes for task in tasks)

    def batches() -> Batches:
        """Yield the batches that have rows; problems are added to those of the table."""
        run.check_lasting()
        read = partial(typed_rows.run_typed_rows, look=looking(run))
        for batch in run.stream(read, [task.to_json() for task in tasks], file_bytes):
            rows = take_problems(batch, problems)
            if rows.num_rows:
                yield rows

    plain = pa.schema([field for field in schema if field.name != COLUMN])
    return StoreTable(table_name(store), plain, batches(), problems)
