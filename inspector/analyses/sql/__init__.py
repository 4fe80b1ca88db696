"""``sql``: DuckDB over the decoded state of a checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import pyarrow as pa

from inspector.analyses.shared import options as o
from inspector.analyses.shared.declare import TableOptions, analysis
from inspector.analyses.shared.judged import Subject, vouching_notes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.sql.database import Database
from inspector.analyses.sql.views import views_of
from inspector.light_dataclasses import replace
from inspector.model import Problem, ProblemMode
from inspector.plain_text import escape
from inspector.render.report import Report
from inspector.render.tabular import Column, Table, Unit
from inspector.render.values import to_json_values

_ROWS = 1 << 13  # number of rows of a query's result that are fetched and converted together
# SQL query that lists the names of all views
_NAMES = "select view_name as name from duckdb_views() where not internal order by 1"


@analysis(uses=(o.MEMORY, o.STATE), relation=True)
def sql(
    path: str | Opened,
    query: Annotated[
        str | None, o.Option("SQL of DuckDB. Without it statements are read from stdin.")
    ] = None,
    options: o.Options | None = None,
    *,
    limit: Annotated[int, o.LIMIT] = 0,
    mode: str = ProblemMode.FAILFAST.value,
) -> Any:
    """SQL over the state: a view for each store, its changes, findings, leftovers, files, offsets.

    It is the SQL of DuckDB, and needs the extra sql (pip install '.[sql]'). Without a query it
    reads statements that end with a semicolon from stdin (``< queries.sql``). Formats (-o) are
    table, json, ndjson, csv, markdown and html; -O writes a file. For Parquet use ``export``, or in
    Python ``to_arrow_table()``. A query reads only the stores and partitions that it names, and
    cannot change the checkpoint, or read or write other files. If DuckDB refuses it, the exit code
    is 2. ``show tables`` lists the views, ``describe op0_default`` the columns:

    - op0_default: live rows of operator 0's store default. Columns: the fields of key (above one
    named ``value``) and value (a name that is taken gets the prefix key_ or value_), partition_id,
    batch_id, key_bytes, value_bytes, row_bytes, expires_at, last_put_batch.

    - op0_NAME: those of another store, such as a state variable; op1_left, op1_right: those of a
    join's sides.

    - op0_default_changes, and so on: puts and removals of all readable batches up to --batch, with
    event (insert, update, removal, ...) and old values. Join it to op0_default by the fields of the
    key: ``join op0_default_changes using (value)``.

    - findings: those of an audit; leftovers: expired keys that were not removed, as in ``select
    partition_id, count(*) from leftovers group by 1``, and ``op0_default o join leftovers l on
    l.key->>'value' = o.value``.

    - files: state files; problems: what cannot be read or is missing.

    - versions: sizes and changes by version, store and partition; offsets: positions of sources by
    batch.

    Args:
        path: the checkpoint.
        query: one statement.
        options: which part and version.
        limit: rows at most; 0 for all.
        mode: error handling where something cannot be read: ``failfast`` raises,
            ``dropmalformed`` is silent.

    Returns:
        A relation of DuckDB, which reads the state each time its rows are fetched; None for a
        statement without a result.

    Raises:
        CheckpointError: there is no query, or DuckDB refuses it.
        EngineError: DuckDB is not installed.
    """
    session = Session(path, options, ProblemMode(mode))
    relation = session.database.run(query or _NAMES)
    return relation.limit(limit) if relation is not None and limit else relation


class Session:
    """A checkpoint that was opened for SQL queries.

    Attributes:
        run: the run on the opened checkpoint.
        database: DuckDB with the views of the checkpoint.
    """

    def __init__(
        self,
        path: str | Opened,
        options: o.Options | None = None,
        mode: ProblemMode = ProblemMode.PERMISSIVE,
    ) -> None:
        """Open the checkpoint at ``path`` with ``options``.

        ``mode`` is the handling of files that cannot be read. EngineError: DuckDB is not installed.
        """
        self.run = Run.start(path, options)
        self._problems: list[Problem] = []  # problems of reading that the running query has met
        views = views_of(self.run, TableOptions(mode=mode), self._problems)
        self.database = Database(views, self.run.options.memory_limit)

    def report(self, query: str, limit: int = 0, *, head: bool = True) -> Report:
        """Run ``query`` and return its report, whose rows are read while the report is written.

        It has at most ``limit`` rows; 0 is no limit. For a statement without a result the table is
        empty. Without ``head`` the report has no summary of the checkpoint. CheckpointError: DuckDB
        refuses the query.
        """
        self._problems.clear()
        subject = self.run.subject()
        relation = self.database.run(query)
        if relation is None:
            return _report(subject, Table("result", "result", (), [], "done"), head=head)
        chosen = relation.limit(limit) if limit else relation
        with self.database.errors():
            reader = chosen.to_arrow_reader(_ROWS)
        columns = _columns(reader.schema)
        rows = self._rows(reader, columns, subject.problems)
        table = Table("result", "result", columns, rows, "no rows")
        return _report(subject, table, head=head)

    def _rows(
        self, reader: pa.RecordBatchReader, columns: Sequence[Column], problems: list[Problem]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a query's result, as mappings from names of ``columns`` to JSON values.

        At the end the problems of reading the state are added to ``problems``. Errors of DuckDB are
        raised as errors of this package.
        """
        names = [column.name for column in columns]
        with self.database.errors():
            for batch in reader:
                values = [
                    _values(array, column)
                    for array, column in zip(batch.columns, columns, strict=True)
                ]
                yield from (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
        problems += self._problems


def _report(subject: Subject, table: Table, *, head: bool) -> Report:
    """Return the report of ``table``, a query's result; with ``head`` False without a summary."""
    report = subject.report("sql", (table,), notes=vouching_notes(subject))
    return report if head else replace(report, summary={})


def _columns(schema: pa.Schema) -> list[Column]:
    """Return the columns of a report for a query's result of ``schema``.

    The second column with the name ``x`` becomes ``x_2``, and so on.
    """
    names = Counter[str]()
    columns = []
    for field in schema:
        names[field.name] += 1
        times = names[field.name]
        name = field.name if times == 1 else f"{field.name}_{times}"
        columns.append(Column(name, _unit(field.type), title=escape(name)))
    return columns


def _unit(kind: Any) -> Unit:
    """Return the unit by which a report shows a column of the Arrow type ``kind``.

    It is ID for whole numbers, which are shown as they are, FLAG for booleans, VALUE for floating
    point numbers and nested types, and TEXT for all others.
    """
    is_ = pa.types
    if is_.is_integer(kind) or _is_huge(kind):
        return Unit.ID
    if is_.is_boolean(kind):
        return Unit.FLAG
    return Unit.VALUE if is_.is_nested(kind) or is_.is_floating(kind) else Unit.TEXT


def _is_huge(kind: Any) -> bool:
    """Return True for a decimal type without fraction digits.

    DuckDB returns a HUGEINT, the type of a sum of integers, as such a decimal.
    """
    return bool(pa.types.is_decimal(kind)) and kind.scale == 0


def _values(array: Any, column: Column) -> list[Any]:
    """Return the values of ``array``, the data of ``column``, as JSON values.

    Decimals without fraction digits, such as sums of integers, become integers.
    """
    values = to_json_values(array)
    if column.unit is Unit.ID and _is_huge(array.type):
        return [None if value is None else int(value) for value in values]
    return values
