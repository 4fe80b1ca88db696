"""Tables that Spark's executors can compute: for DataFrames and for Spark's data source.

Declared beside an analysis by ``store_table`` (typed rows of a store), ``fact_table`` (rows made of
the facts of a partition, where its files are read) or :func:`driver_table` (rows of the driver).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector import analyses
from inspector.analyses.shared.declare import DataTable, TableOptions, TablePlan
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options
from inspector.discovery.tasks import Task
from inspector.engines.engine import Work
from inspector.exceptions import CheckpointError
from inspector.model import Problem, ProblemMode, StoreName
from inspector.passes.problem_mode import refuse
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.tabular import Column, Row, values
from inspector.schemas import specs_in

_ROWS = 1 << 14  # rows of one task

RowsOfRun = Callable[[Opened], Iterable[Row]]  # makes the rows of a table from an opened checkpoint


def driver_table(
    kind: type[Row], doc: str, rows: RowsOfRun, *, options: tuple[str, ...] = ()
) -> DataTable:
    """Declare a table whose rows the driver makes when the table is planned.

    ``options`` are the names of options besides part and version.
    """
    columns = kind.columns()
    schema = pa.schema(columns_of(columns))

    def plan(path: str | Opened, chosen: Options, _: TableOptions) -> TablePlan:
        run = Opened.start(path, chosen)
        work = tuple(map(Work, batch_specs(schema, columns, map(values, rows(run)))))
        return TablePlan(schema, run_batches, work, run)

    return DataTable(kind.table_name, doc, options, plan, lambda *_: schema)


def batch_specs(
    schema: pa.Schema, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return rows as tasks that hold up to ``_ROWS`` rows each; no file is read for them."""
    listed = list(rows)
    chunks = (listed[start : start + _ROWS] for start in range(0, len(listed), _ROWS))
    return [batch_spec(record_batch_of(schema, columns, chunk)) for chunk in chunks]


def batch_spec(batch: pa.RecordBatch) -> str:
    """Return the spec of a task that holds ``batch``: an Arrow stream, as text in base64."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def run_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that tasks of :func:`batch_spec` hold: decode each, and read no file.

    An engine calls it as it calls :func:`inspector.passes.worker.run_tasks`.
    """
    for spec in specs_in(batches):
        yield from pa.ipc.open_stream(base64.b64decode(spec))


def plan_table(
    path: str | Opened,
    table: str,
    options: Options | None = None,
    table_options: TableOptions | None = None,
) -> TablePlan:
    """Return the plan of a table by its name (CheckpointError: no such table or store).

    ``leftovers`` of group state, ``findings`` and ``problems`` need the facts of all partitions
    first: they are made now, on the engine of the options. ``rows`` and ``changes`` are of one
    store: by default ``default`` of operator 0, as in Spark's source ``statestore``.

    InspectorError: something is missing, and the mode is ``failfast``.
    """
    return table_of_name(table).plan(path, options or Options(), table_options or TableOptions())


def table_of_name(name: str) -> DataTable:
    """Return a declared table; raise CheckpointError if none has this name."""
    tables = analyses.data_tables()
    if name not in tables:
        raise CheckpointError(f"got table {name!r}, expected one of {', '.join(tables)}")
    return tables[name]


def table_work(task: Task, spec: str, listed: Sequence[Problem]) -> Work:
    """Return a partition's task as work for an engine.

    With ``listed`` problems it has no partition, so that a filter on partitions cannot drop it.
    """
    partition = None if listed else task.partition_id
    return Work(spec, task.file_bytes, partition, task.has_small_files, task.file_count)


def listed_problems(
    run: Opened, mode: ProblemMode, stores: Sequence[StoreName] | None = None
) -> tuple[Problem, ...]:
    """Return the problems of the listing, of all stores or of some.

    InspectorError: there is one, and the mode is ``failfast``.
    """
    problems = tuple(
        problem
        for problem in run.listed
        if stores is None or problem.store is None or problem.store.name in stores
    )
    if mode is ProblemMode.FAILFAST:
        refuse(problems)
    return problems
