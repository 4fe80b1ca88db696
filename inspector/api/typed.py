"""Rows and changes with their types, one table for each store: for files of data and for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from inspector.analyses.common import operator_names
from inspector.api.run import Options, Run
from inspector.api.tables import Place, by_store, table_name, tasks_of
from inspector.model import Problem
from inspector.passes.problem_mode import (
    COLUMN,
    ProblemMode,
    problems_in,
    refuse,
    without_problems,
)
from inspector.passes.typed_rows import TypedTask, run_typed, typed_schema


@dataclass(frozen=True)
class Typed:
    """What is asked of a table.

    Attributes:
        changes: every change, else the rows of a version.
        from_batch: changes of older batches are left out.
        raw: with the UnsafeRow bytes beside the decoded key and value.
        mode: what becomes of what cannot be read.
    """

    changes: bool = False
    from_batch: int = 0
    raw: bool = False
    mode: ProblemMode = ProblemMode.PERMISSIVE


@dataclass(frozen=True)
class TypedTable:
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


def typed_tables(
    path: str | Run, options: Options | None = None, wanted: Typed | None = None
) -> list[TypedTable]:
    """The rows of a version, or its changes, as Arrow with their types: one table per store.

    Nothing of the state is read before the batches of a table are asked for.

    Raises:
        InspectorError: something is missing, and the mode is ``failfast``; while the batches are
            read, too.
    """
    wanted = wanted or Typed()
    run = Run.start(path, options)
    if wanted.mode is ProblemMode.FAILFAST:
        refuse(run.listed)
    tables = [_table(run, place, tasks) for place, tasks in typed_tasks(run, wanted).items()]
    if wanted.mode is ProblemMode.PERMISSIVE:
        for each in tables[:1]:
            each.problems.extend(run.listed)
    return tables


def typed_tasks(run: Run, wanted: Typed) -> dict[Place, list[TypedTask]]:
    """The tasks of each store's table.

    Raises:
        CheckpointError: no store has such keys as are looked for.
    """
    names = operator_names(run.checkpoint)
    first = wanted.from_batch + 1
    return {
        place: [
            TypedTask(task, names[place[0]], wanted.changes, first, wanted.raw, wanted.mode)
            for task in tasks
        ]
        for place, tasks in by_store(tasks_of(run)).items()
    }


def _table(run: Run, place: Place, tasks: list[TypedTask]) -> TypedTable:
    schema = typed_schema(tasks[0])
    problems: list[Problem] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in run.stream(run_typed, [task.to_json() for task in tasks]):
            rows = batch
            if COLUMN in schema.names:
                problems.extend(problems_in(batch))
                rows = without_problems(batch)
            if rows.num_rows:
                yield rows

    plain = pa.schema([each for each in schema if each.name != COLUMN])
    return TypedTable(table_name(place), plain, batches(), problems)
