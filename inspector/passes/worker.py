"""Functions that an engine maps over encoded tasks: facts by replay, field sizes, or live rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from inspector.checkpoint.logfile import DOUBTFUL
from inspector.checkpoint.names import main_path
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import MissingVersionError
from inspector.facts.checks import ChecksPassed, ReadProblem
from inspector.facts.fact import FactColumns, Observed
from inspector.facts.registry import fact_batches
from inspector.light_dataclasses import replace
from inspector.model import StoreFile
from inspector.operators.join import VALUE_STORES
from inspector.passes import store_facts
from inspector.passes.live_rows import live_rows
from inspector.passes.observe import audit_stores, bounds_of
from inspector.passes.store_reader import StoreReader, open_stores
from inspector.providers.chain import chain_for, replay_steps
from inspector.providers.registry import provider_by_name
from inspector.schemas import ROWS, problem_batch, specs_in
from inspector.state.replay import StateMap
from inspector.sums import group_by


def run_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the partitions of some tasks and emit the facts; signature of ``mapInArrow``.

    Batches are of :func:`inspector.facts.registry.facts_schema`, in an order that depends on these
    tasks alone.
    """
    return fact_batches(observe_tasks(batches))


def observe_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[Observed[Any] | FactColumns]:
    """Yield the facts of encoded tasks, for an engine in this process."""
    for task in tasks_in(batches):
        yield from _look_at(task, _walk_files if task.request.subset else _walk_stores)


def run_bounds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield bounds, by version, of the records that data made and that timers made.

    Tasks that have a range of the keys of a group state are told what all ranges show
    (:attr:`inspector.discovery.tasks.StoreTask.call_bounds`). Batches are as of :func:`run_tasks`.
    """
    return fact_batches(chain.from_iterable(map(_bounds, tasks_in(batches))))


def _bounds(task: Task) -> Iterator[Observed[Any]]:
    """Yield the bounds of the stores of a task that have timers, without checking rows."""
    for store, reader in open_stores(replace(task, request=replace(task.request, fit=False))):
        if store.timeout_kinds:
            yield from bounds_of(task, store, reader)


def run_fields(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches with the bytes of each field in the live rows of some tasks, without a replay.

    Batches are as of :func:`run_tasks` and have field sizes and problems.
    """
    return fact_batches(fact for task in tasks_in(batches) for fact in _look_at(task, _walk_fields))


def rows_of(task: Task) -> Iterator[pa.RecordBatch]:
    """Yield the live rows of a task's version, as batches of :data:`inspector.schemas.ROWS`.

    Each store's problems follow its rows. Nothing is yielded for a partition that the version does
    not have.
    """
    for store, reader in open_stores(task) if task.present else ():
        yield from live_rows(task, store, reader)
        if reader.problems:
            yield problem_batch(ROWS, reader.problems)


def tasks_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Task]:
    """Return the tasks in batches of :data:`inspector.schemas.TASKS`, decoded one by one."""
    return map(Task.of_spec, specs_in(batches))


def files_ahead(tasks: Iterable[Task]) -> Iterator[StoreFile]:
    """Yield the files that :func:`run_tasks` reads for some tasks, in its order, each once.

    Checksum files precede their file. Nothing is yielded for a provider that reads files in parts.
    """
    for task in tasks:
        provider = provider_by_name(task.provider)
        for store in task.stores if provider.reads_each_file_whole else ():
            sides = group_by(store.side_files, main_path)
            steps = replay_steps(provider.files_of(store.files), task.version)
            ordered_files = [file for step in steps for file in step.files]
            for file in _of_subset(task, store) if task.request.subset else ordered_files:
                yield from sides.get(file.path, ())
                yield file


class _DoubtError(Exception):
    """Raised for a task with problems that a running query may have caused.

    Its arguments are these problems, as facts.
    """


def _look_at(
    task: Task, observe: Callable[[Task], Iterator[Observed[Any] | FactColumns]]
) -> Iterable[Observed[Any] | FactColumns]:
    """Return the facts of a task; if they are in doubt, only its problems.

    They are in doubt if the task is to be read a second time when a running query may have caused a
    problem (``task.look_again``).
    """
    if not task.look_again:
        return observe(task)
    try:
        return list(observe(task))
    except _DoubtError as doubt:
        return doubt.args


def _walk_stores(task: Task) -> Iterator[Observed[Any] | FactColumns]:
    """Yield the facts of all stores of a task: of versions, files, rows, and of stores together."""
    states: dict[str, StateMap] = {}
    shared: _Causes = set()
    for _, same_files in groupby(open_stores(task), key=_files_read):
        stores = list(same_files)
        for store, reader in stores:
            _keep(task, store, reader)
        result = yield from audit_stores(task, stores)
        for _, reader in stores:
            _check_doubts(task, reader)  # before more is read in vain
        for (store, reader), state in zip(stores, result, strict=True):
            yield from _of_files(task, store, reader, shared)
            yield from _of_rows(task, store, reader)
            if state is not None and store_facts.meets_others(store):
                states[store.store_name] = state
    yield from store_facts.emit_sides(task, states)
    yield from store_facts.emit_variables(task, states)


def _walk_files(task: Task) -> Iterator[Observed[Any]]:
    """Yield facts about each file of a partition; stores that share files are read once."""
    shared: _Causes = set()
    for store, reader in open_stores(task):
        if store.counts_files:
            yield from _of_files(task, store, reader, shared)


def _of_subset(task: Task, store: StoreTask) -> list[StoreFile]:
    """Return the files of a store that are decoded and checked: all, or the requested subset.

    Checksums of files newer than the version are compared too; these files are not decoded.
    """
    subset, root = task.request.subset, task.root
    if subset is None:
        return list(store.files)
    return [f for f in store.files if subset.has(f.path.removeprefix(root).lstrip("/"))]


def _files_read(opened: tuple[StoreTask, StoreReader]) -> object:
    """Return a value that is equal for stores that read the same files (column families)."""
    store, _ = opened
    return store.store_name if store.column_family is None else store.files


_Causes = set[tuple[str, str | None, int | None]]
"""Slug, path and offset of the problems that the stores of shared files have reported."""


def _of_files(
    task: Task, store: StoreTask, reader: StoreReader, shared: _Causes
) -> Iterator[Observed[Any]]:
    """Yield facts about the files of a store, including files that no version needs."""
    if task.request.fit and task.speaks_for_files:
        files = _of_subset(task, store)
        reader.decode_rest(f for f in files if (f.version or 0) <= task.version)
        reader.check_rest(files)
    _check_doubts(task, reader)
    if store.column_family is not None:
        reader.leave_out(shared)
        shared.update((p.slug, p.path, p.offset) for p in reader.problems if p.path is not None)
    yield from _problems(task, reader)
    if task.request.fit and task.speaks_for_files:
        checked = reader.checks
        if not store.counts_files:
            checked = ChecksPassed(row_checksums=checked.row_checksums)
        yield Observed(reader.store, task.version, checked)


def _of_rows(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[Observed[Any]]:
    """Yield the facts that need the live rows once more, if requested: partners, fields."""
    first = len(reader.problems)
    request, emitters = task.request, (store_facts.emit_partners, store_facts.emit_fields)
    for emit, is_requested in zip(emitters, (request.matched, request.fields), strict=True):
        if is_requested and task.present:
            second_rows = reader.again(task, store)
            yield from emit(task, store, second_rows)
            reader.add(second_rows.problems)
    _check_doubts(task, reader)
    yield from _problems(task, reader, first)


def _keep(task: Task, store: StoreTask, reader: StoreReader) -> None:
    """Ask the storage to keep the files that will be read again for the live rows."""
    if task.request.fields or (task.request.matched and store.store_name in VALUE_STORES):
        files = reader.provider.files_of(store.files)
        with suppress(MissingVersionError):
            reader.storage.keep(chain_for(files, task.version).files)


def _walk_fields(task: Task) -> Iterator[Observed[Any]]:
    """Yield the bytes of each field in the live rows of a task's stores, and problems."""
    for store, reader in open_stores(task) if task.present else ():
        yield from store_facts.emit_fields(task, store, reader)
        _check_doubts(task, reader)
        yield from _problems(task, reader)


def _check_doubts(task: Task, reader: StoreReader) -> None:
    """Raise _DoubtError if a running query may have caused a problem and the task cares."""
    if task.look_again and any(problem.slug in DOUBTFUL for problem in reader.problems):
        raise _DoubtError(*_problems(task, reader))


def _problems(task: Task, reader: StoreReader, first: int = 0) -> Iterator[Observed[Any]]:
    """Yield the reader's problems as facts, from index ``first`` on."""
    for problem in reader.problems[first:]:
        yield ReadProblem.observe(problem, reader.store, task.version)
