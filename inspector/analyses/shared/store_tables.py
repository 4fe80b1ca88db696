"""Rows and changes with their types, one table for each store: for files of data and for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from inspector.analyses.shared.common import operator_names
from inspector.analyses.shared.data_tables import listed_problems, table_work
from inspector.analyses.shared.declare import DataTable, TableOptions, TablePlan
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import by_store, looking, selected_tasks, table_name
from inspector.engines.engine import Work
from inspector.exceptions import CheckpointError
from inspector.model import DEFAULT_STORE, Problem, ProblemMode, StoreName, is_store
from inspector.passes.problem_mode import COLUMN, problems_in, refuse, without_problems
from inspector.passes.typed_rows import TypedTask, run_typed_rows, typed_schema


@dataclass(frozen=True)
class StoreTable:
    """A store's rows, or its changes, with their types.

    Attributes:
        name: ``operator-0.default``.
        schema: of the batches.
        batches: read once, while they are written.
        problems: grows while the batches are read, in mode ``permissive``.
    """

    name: str
    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    problems: list[Problem] = field(default_factory=list)


def store_tables(
    path: str | Run,
    options: Options | None = None,
    table_options: TableOptions | None = None,
    *,
    changes: bool = False,
) -> list[StoreTable]:
    """The rows of a version, or its changes, as Arrow with their types: one table per store.

    Nothing of the state is read before the first batch of a table is.

    Raises:
        InspectorError: something is missing, and the mode is ``failfast``; while the batches are
            read, too.
    """
    table_options = table_options or TableOptions()
    run = Run.start(path, options)
    if table_options.mode is ProblemMode.FAILFAST:
        refuse(run.listed)
    tasks = store_tasks(run, table_options, changes=changes)
    tables = [_table(run, store, of_store) for store, of_store in tasks.items()]
    if table_options.mode is ProblemMode.PERMISSIVE:
        for table in tables[:1]:
            table.problems.extend(run.listed)
    return tables


def store_tasks(
    run: Run, table_options: TableOptions, *, changes: bool
) -> dict[StoreName, list[TypedTask]]:
    """The tasks of each store's table.

    Raises:
        CheckpointError: no store has such keys as the options name.
    """
    names = operator_names(run.checkpoint)
    first = table_options.from_batch + 1
    raw, mode = table_options.raw, table_options.mode
    return {
        store: [TypedTask(task, names[store[0]], changes, first, raw, mode) for task in tasks]
        for store, tasks in by_store(selected_tasks(run)).items()
    }


def work_of(tasks: Iterable[TypedTask]) -> tuple[Work, ...]:
    """The tasks of a table as an engine takes them."""
    return tuple(table_work(task.task, task.to_json(), task.listed) for task in tasks)


def store_table(name: str, doc: str, *, changes: bool) -> DataTable:
    """Declare a table of the rows, or of the changes, of one store.

    Args:
        name: of the table.
        doc: what a row is.
        changes: every change, else the rows of a version.
    """

    def plan(path: str | Run, options: Options, table_options: TableOptions) -> TablePlan:
        return _plan(path, options, table_options, changes=changes)

    def schema(path: str | Run, options: Options, table_options: TableOptions) -> pa.Schema:
        return plan(path, options, table_options).schema

    own = ("from_batch",) if changes else ()
    return DataTable(name, doc, (*own, "raw", "mode", "key", "where"), plan, schema)


def _plan(
    path: str | Run, options: Options, table_options: TableOptions, *, changes: bool
) -> TablePlan:
    operator_id = options.operator_id or 0
    name = options.store_name or DEFAULT_STORE
    run = Run.start(path, replace(options, operator_id=operator_id))
    of_stores = store_tasks(run, table_options, changes=changes)
    result = [store for store in of_stores if is_store(name, store.store_name)]
    if not result:
        raise CheckpointError(
            f"operator {operator_id} has no store {name!r}, it has {_names(of_stores)}",
            run.checkpoint.root,
        )
    store = result[0]
    tasks = of_stores[store]
    listed = listed_problems(run, table_options.mode, [store])
    tasks = [replace(tasks[0], listed=listed), *tasks[1:]]
    return TablePlan(typed_schema(tasks[0]), run_typed_rows, work_of(tasks), run)


def _names(stores: Mapping[StoreName, Any]) -> str:
    return ", ".join(repr(store) for _, store in stores) or "none"


def _table(run: Run, store: StoreName, tasks: list[TypedTask]) -> StoreTable:
    schema = typed_schema(tasks[0])
    problems: list[Problem] = []
    file_bytes = sum(task.task.file_bytes for task in tasks)

    def batches() -> Iterator[pa.RecordBatch]:
        run.check_lasting()
        read = partial(run_typed_rows, look=looking(run))
        for batch in run.stream(read, [task.to_json() for task in tasks], file_bytes):
            rows = batch
            if COLUMN in schema.names:
                problems.extend(problems_in(batch))
                rows = without_problems(batch)
            if rows.num_rows:
                yield rows

    plain = pa.schema([each for each in schema if each.name != COLUMN])
    return StoreTable(table_name(store), plain, batches(), problems)
