"""Tables of data whose rows the driver has: files, findings, problems; cut into tasks."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector.analyses.shared.data_tables import DataTable, TableOptions, TablePlan
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.engines.engine import Work
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.report import Column
from inspector.render.tabular import Row, values
from inspector.schemas import specs_in

_ROWS = 1 << 14
"""Rows of one task."""

RowsOfRun = Callable[[Run], Iterable[Row]]


def driver_table(
    kind: type[Row],
    doc: str,
    rows: RowsOfRun,
    *,
    options: tuple[str, ...] = (),
) -> DataTable:
    """Declare a table whose rows are made on the driver, when it is planned.

    Args:
        kind: of the rows; names the table.
        doc: what a row is.
        rows: of a run.
        options: those that count besides part and version.
    """
    columns = kind.columns()
    schema = pa.schema(columns_of(columns))

    def plan(path: str | Run, chosen: Options, _: TableOptions) -> TablePlan:
        run = Run.start(path, chosen)
        work = tuple(map(Work, batch_specs(schema, columns, map(values, rows(run)))))
        return TablePlan(schema, run_batches, work, run)

    return DataTable(kind.table_name, doc, options, plan, lambda *_: schema)


def batch_specs(
    schema: pa.Schema, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Rows as tasks that need only be opened."""
    listed = list(rows)
    return [
        batch_spec(record_batch_of(schema, columns, listed[start : start + _ROWS]))
        for start in range(0, len(listed), _ROWS)
    ]


def batch_spec(batch: pa.RecordBatch) -> str:
    """A batch as such a task: an Arrow stream in base64."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode()


def run_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of such tasks; the form of :func:`inspector.passes.run.run_tasks`."""
    for spec in specs_in(batches):
        yield from pa.ipc.open_stream(base64.b64decode(spec))
