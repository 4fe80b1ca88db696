"""Tables of data that are made of a partition's facts, where its files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector import analyses
from inspector.analyses.shared import data_tables
from inspector.analyses.shared.declare import DataTable, TableOptions, TablePlan
from inspector.analyses.shared.judged import operator_names
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import narrowed
from inspector.arrays import concatenate
from inspector.codec import Message
from inspector.decode.row_columns import RowDecoder
from inspector.discovery.tasks import Request, Task
from inspector.engines.engine import Work
from inspector.exceptions import CheckpointError
from inspector.facts.registry import facts_in
from inspector.light_dataclasses import dataclass, field, replace
from inspector.merge.collect import Facts
from inspector.merge.resolution import Resolution
from inspector.model import Problem, ProblemMode, Redact
from inspector.passes.problem_mode import problem_batches, with_problems
from inspector.passes.worker import run_tasks
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.tabular import Column
from inspector.schemas import specs_in, task_batch
from inspector.sparktypes.schema_json import parse_schema_json, to_json

KEY = "key"  # name of the column of keys


@dataclass(frozen=True)
class FactTableTask(Message):
    """Task that makes the rows of one table from the facts of one partition."""

    analysis: str  # name of the analysis that declares the table
    table: str  # name of the table
    task: Task  # the partition; its ``leftover_limit`` is 0, so that all are reported
    operator_name: str  # name of the partition's operator
    resolution: Resolution  # evidence of all partitions together on leftovers
    redact: Redact = Redact.NONE  # how keys are hidden
    key_schema: str | None = None  # StructType JSON of all keys, if ``key`` is to be a struct
    mode: ProblemMode = ProblemMode.PERMISSIVE  # handling of what cannot be read
    listed: tuple[Problem, ...] = ()  # problems that the listing shows; emitted with the task's own


def run_fact_table(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of the rows that tasks make from facts, after reading their partitions.

    ``batches`` have specs of :class:`FactTableTask`. Problems are rows, too, if the mode is
    ``permissive``. Raises InspectorError if something cannot be read and the mode is ``failfast``.
    """
    for spec in specs_in(batches):
        request = FactTableTask.from_json(spec)
        tables = analyses.load(request.analysis).data_tables
        table = next(t for t in tables if isinstance(t, FactTable) and t.name == request.table)
        schema = table.batch_schema(request.mode, request.key_schema)
        rows_of = table.rows(request)
        yield from problem_batches(schema, request.mode, request.listed)
        for batch in run_tasks([task_batch(request.task.to_json())]):
            facts = Facts(facts_in(batch))
            yield from problem_batches(schema, request.mode, facts.problems)
            rows = rows_of(facts)
            if rows:
                yield _batch(table, schema, rows, request.key_schema)


def _batch(
    table: FactTable, schema: pa.Schema, rows: Sequence[Mapping[str, Any]], key_schema: str | None
) -> pa.RecordBatch:
    """Return rows as a batch of ``schema``.

    With ``key_schema`` (StructType JSON) the column ``key`` has structs, decoded from ``key_hex``.
    """
    if key_schema is None:
        return record_batch_of(schema, table.columns, rows)
    keys = [bytes.fromhex(row["key_hex"]) for row in rows]
    structs = RowDecoder(parse_schema_json(key_schema)).decode(*concatenate(keys))
    position = schema.get_field_index(KEY)
    other_fields = schema.remove(position)
    columns = [column for column in table.columns if column.name != KEY]
    arrays = record_batch_of(other_fields, columns, rows).columns
    arrays.insert(position, structs.array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


# makes rows of a table from the facts of a task
RowsOfFacts = Callable[[Facts], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class FactTable(DataTable):
    """Declaration of a table whose rows are made of the facts of partitions."""

    columns: Sequence[Column]  # columns of its rows; keys are JSON, unless they become structs
    # returns for a task the function that makes rows of its facts
    rows: Callable[[FactTableTask], RowsOfFacts] = field(repr=False)

    def batch_schema(self, mode: ProblemMode, key_schema: str | None = None) -> pa.Schema:
        """Return the schema of the table's batches.

        ``key`` is a struct if there is a ``key_schema``; ``mode`` decides on the column of
        problems.
        """
        columns = dict(columns_of(self.columns))
        if key_schema is not None:
            columns[KEY] = RowDecoder(parse_schema_json(key_schema)).arrow_type
        return with_problems(list(columns.items()), mode)


def fact_table(  # noqa: PLR0913 - the parts of one declaration
    analysis: str,
    name: str,
    doc: str,
    columns: Sequence[Column],
    rows: Callable[[FactTableTask], RowsOfFacts],
    *,
    request: Request,
    resolution: Callable[[Run], Resolution] = lambda _: Resolution(),
    options: tuple[str, ...] = (),
    by_key: bool = False,
) -> DataTable:
    """Return the declaration of a table that is made of the facts in ``request``.

    ``analysis`` is the name of the analysis that declares it. ``rows`` returns for a task the
    function that makes rows of its facts; ``resolution`` returns the evidence of all partitions,
    when the table is planned. ``options`` are the names of accepted options in addition to part,
    version and mode. With ``by_key`` the rows are about keys of stores with an expiry rule and have
    a column ``key_hex``; ``rows`` then applies the filters ``key`` and ``where`` of its task.
    """

    def plan(path: str | Opened, chosen: Options, table_options: TableOptions) -> TablePlan:
        """Return the plan with a task for each partition; without any, with the problems alone."""
        run, mode = Run.start(path, chosen), table_options.mode
        if not by_key and (run.options.keys or run.options.where):
            raise CheckpointError(f"the table {name} has no keys, so that key and where do not fit")
        names, redact = operator_names(run.checkpoint), run.options.redact or Redact.NONE
        merged = resolution(run)
        keys = key_schema(run, table_options)
        tasks = [
            FactTableTask(analysis, name, task, names[task.operator_id], merged, redact, keys, mode)
            for task in narrowed(run, run.tasks(request))
        ]
        schema, listed = table.batch_schema(mode, keys), data_tables.listed_problems(run, mode)
        if not tasks:
            batches = problem_batches(schema, mode, listed)
            work = tuple(Work(data_tables.batch_spec(batch)) for batch in batches)
            return TablePlan(schema, data_tables.run_batches, work, run)
        tasks[0] = replace(tasks[0], listed=listed)
        work = tuple(data_tables.table_work(t.task, t.to_json(), t.listed) for t in tasks)
        return TablePlan(schema, run_fact_table, work, run)

    def schema(path: str | Opened, chosen: Options, table_options: TableOptions) -> pa.Schema:
        """Return the schema of the table of a checkpoint."""
        keys = key_schema(Run.start(path, chosen), table_options) if by_key else None
        return table.batch_schema(table_options.mode, keys)

    def key_schema(run: Run, table_options: TableOptions) -> str | None:
        """Return the schema of all keys as StructType JSON; None if keys are to be JSON."""
        shown = run.options.redact in (None, Redact.NONE)
        return _common_key_schema(run) if by_key and shown and not table_options.json_keys else None

    key_columns = ("key", "where") if by_key else ()
    table = FactTable(name, doc, ("mode", *options, *key_columns), plan, schema, columns, rows)
    return table


def _common_key_schema(run: Run) -> str | None:
    """Return the key schema of all stores whose rows can expire, as StructType JSON.

    None if their types differ, if one of them has no schema, or if no store has an expiry rule.
    """
    result: dict[pa.DataType, str] = {}
    for operator in run.checkpoint.operators:
        for store, rule in operator.rules.items():
            if rule.expiry is None:
                continue
            schema = operator.schemas.get(store)
            if schema is None:
                return None
            result.setdefault(RowDecoder(schema.key).arrow_type, to_json(schema.key))
    return next(iter(result.values())) if len(result) == 1 else None
