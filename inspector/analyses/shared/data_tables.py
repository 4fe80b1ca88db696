"""Tables that Spark's executors can compute: for DataFrames and for Spark's data source.

The module of an analysis declares them by one of three functions. ``store_table`` is for typed rows
of a store, ``fact_table`` for rows made of a partition's facts where its files are read, and
:func:`driver_table` for rows that the driver makes.
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

_ROWS = 1 << 14  # number of rows that one task of the driver's rows holds, at most

RowsOfRun = Callable[[Opened], Iterable[Row]]  # makes the rows of a table from an opened checkpoint


def driver_table(
    kind: type[Row], doc: str, rows: RowsOfRun, *, options: tuple[str, ...] = ()
) -> DataTable:
    """Return the declaration of a table whose rows the driver makes when the table is planned.

    ``kind`` is the class of its rows, with the table's name; ``rows`` makes them. ``doc`` describes
    a row. ``options`` are the names of accepted options in addition to part and version.
    """
    columns = kind.columns()
    schema = pa.schema(columns_of(columns))

    def plan(path: str | Opened, chosen: Options, _: TableOptions) -> TablePlan:
        """Open the checkpoint, make all rows, and return the plan with tasks that hold them."""
        run = Opened.start(path, chosen)
        work = tuple(map(Work, batch_specs(schema, columns, map(values, rows(run)))))
        return TablePlan(schema, run_batches, work, run)

    return DataTable(kind.table_name, doc, options, plan, lambda *_: schema)


def batch_specs(
    schema: pa.Schema, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return the specs of tasks that hold ``rows``, up to ``_ROWS`` rows each.

    The rows have the ``columns`` and become batches of ``schema``. No file is read for such a task.
    There is no task without rows.
    """
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
    """Yield the batches of rows that tasks hold; ``batches`` have specs of :func:`batch_spec`.

    An engine calls it as the function of a job. No file is read.
    """
    for spec in specs_in(batches):
        yield from pa.ipc.open_stream(base64.b64decode(spec))


def plan_table(
    path: str | Opened,
    table: str,
    options: Options | None = None,
    table_options: TableOptions | None = None,
) -> TablePlan:
    """Return the plan of the declared table with the name ``table``.

    ``leftovers`` of group state, ``findings`` and ``problems`` need the facts of all partitions
    first: they are made now, on the engine of the options. ``rows`` and ``changes`` are of one
    store: by default ``default`` of operator 0, as in Spark's source ``statestore``.

    Raises CheckpointError if there is no such table or store, and InspectorError if something is
    missing and the mode is ``failfast``.
    """
    return table_of_name(table).plan(path, options or Options(), table_options or TableOptions())


def table_of_name(name: str) -> DataTable:
    """Return the declared table with this name; raise CheckpointError if there is none."""
    tables = analyses.data_tables()
    if name not in tables:
        raise CheckpointError(f"got table {name!r}, expected one of {', '.join(tables)}")
    return tables[name]


def table_work(task: Task, spec: str, listed: Sequence[Problem]) -> Work:
    """Return the reading of one partition, ``task``, as work for an engine.

    ``spec`` is the text that the engine passes on. ``listed`` are the problems of the listing that
    the work reports, too. If there are any, the work names no partition, so that a filter on
    partitions cannot drop it.
    """
    partition = None if listed else task.partition_id
    return Work(spec, task.file_bytes, partition, task.has_small_files, task.file_count)


def listed_problems(
    run: Opened, mode: ProblemMode, stores: Sequence[StoreName] | None = None
) -> tuple[Problem, ...]:
    """Return the problems of the listing.

    With ``stores`` they are those of these stores, and those that are about no single store.
    Raises InspectorError if there is one and the mode is ``failfast``.
    """
    problems = tuple(
        problem
        for problem in run.listed
        if stores is None or problem.store is None or problem.store.name in stores
    )
    if mode is ProblemMode.FAILFAST:
        refuse(problems)
    return problems
