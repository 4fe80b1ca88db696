"""Tables of data that are made of a partition's facts, where its files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from inspector import analyses
from inspector.analyses.shared.common import operator_names
from inspector.analyses.shared.data_tables import (
    DataTable,
    TableOptions,
    TablePlan,
    listed_problems,
)
from inspector.analyses.shared.declare import FactRequest
from inspector.analyses.shared.driver_tables import batch_spec, run_batches
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.codec import Message
from inspector.discovery.tasks import Task
from inspector.engines.engine import Work
from inspector.facts.registry import facts_in
from inspector.merge.collect import Facts
from inspector.merge.resolution import Resolution
from inspector.model import Problem
from inspector.passes.problem_mode import ProblemMode, problem_batches, with_problems
from inspector.passes.run import run_tasks
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.keys import Redact
from inspector.render.report import Column
from inspector.schemas import task_batch


@dataclass(frozen=True)
class FactTableTask(Message):
    """The rows of one partition in one of the tables.

    Attributes:
        analysis: the one that declares the table. table: its name.
        task: the partition; its ``leftover_limit`` is 0, so that all are reported.
        operator_name: of its operator.
        resolution: what all partitions together say of leftovers.
        redact: what is shown of keys.
        mode: error handling.
        listed: problems that the listing shows; emitted with the task's own.
    """

    analysis: str
    table: str
    task: Task
    operator_name: str
    resolution: Resolution
    redact: Redact = Redact.NONE
    mode: ProblemMode = ProblemMode.PERMISSIVE
    listed: tuple[Problem, ...] = ()


def run_fact_table(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of some partitions; the form of :func:`inspector.passes.run.run_tasks`.

    Args:
        batches: of schema :data:`inspector.schemas.TASKS`; ``spec`` is a :class:`FactTableTask`.

    Yields:
        Batches of the table's schema.

    Raises:
        InspectorError: something cannot be read, and ``mode`` is ``failfast``.
    """
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield from _of_task(FactTableTask.from_json(str(spec)))


def _of_task(request: FactTableTask) -> Iterator[pa.RecordBatch]:
    table = _declared(request)
    schema = table.batch_schema(request.mode)
    rows_of = table.rows(request)
    yield from problem_batches(schema, request.mode, request.listed)
    for batch in run_tasks([task_batch(request.task.to_json())]):
        facts = Facts(facts_in(batch))
        yield from problem_batches(schema, request.mode, facts.problems)
        rows = rows_of(facts)
        if rows:
            yield record_batch_of(schema, table.columns, rows)


def _declared(request: FactTableTask) -> FactTable:
    """The declaration of a task's table, where the task runs."""
    tables = analyses.load(request.analysis).data_tables
    return next(t for t in tables if isinstance(t, FactTable) and t.name == request.table)


RowsOfFacts = Callable[[Facts], list[dict[str, Any]]]


@dataclass(frozen=True)
class FactTable(DataTable):
    """A declared table of this kind.

    Attributes:
        columns: of its rows; ``key`` is JSON, times are times.
        rows: what makes rows of the facts of a task.
    """

    columns: Sequence[Column]
    rows: Callable[[FactTableTask], RowsOfFacts] = field(repr=False)

    def batch_schema(self, mode: ProblemMode) -> pa.Schema:
        """The schema of its batches."""
        return with_problems(columns_of(self.columns), mode)


def fact_table(  # noqa: PLR0913 - the parts of one declaration
    analysis: str,
    name: str,
    doc: str,
    columns: Sequence[Column],
    rows: Callable[[FactTableTask], RowsOfFacts],
    *,
    request: FactRequest,
    resolution: Callable[[Run], Resolution] = lambda _: Resolution(),
    options: tuple[str, ...] = (),
) -> DataTable:
    """Declare a table that is made of facts.

    Args:
        analysis: the name of the analysis that declares it.
        name: of the table.
        doc: what a row is.
        columns: of the rows.
        rows: for a task, what makes rows of its facts.
        request: the facts that are needed.
        resolution: what all partitions together say, where one alone cannot be sure.
        options: those that count besides part, version and mode.
    """

    def plan(path: str | Run, chosen: Options, table_options: TableOptions) -> TablePlan:
        run, mode = Run.start(path, chosen), table_options.mode
        names, redact = operator_names(run.checkpoint), run.options.redact or Redact.NONE
        merged = resolution(run)
        tasks = [
            FactTableTask(analysis, name, task, names[task.operator_id], merged, redact, mode)
            for task in run.tasks(request)
        ]
        schema, listed = table.batch_schema(mode), listed_problems(run, mode)
        if not tasks:
            work = tuple(Work(batch_spec(each)) for each in problem_batches(schema, mode, listed))
            return TablePlan(schema, run_batches, work, run)
        tasks[0] = replace(tasks[0], listed=listed)
        return TablePlan(schema, run_fact_table, tuple(map(_work, tasks)), run)

    def schema(_path: str | Run, _options: Options, table_options: TableOptions) -> pa.Schema:
        return table.batch_schema(table_options.mode)

    table = FactTable(name, doc, ("mode", *options), plan, schema, columns, rows)
    return table


def _work(task: FactTableTask) -> Work:
    # What the listing showed is of any partition: it is not left out with this one.
    return Work(
        task.to_json(), task.task.file_bytes, None if task.listed else task.task.partition_id
    )
