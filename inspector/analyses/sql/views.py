"""Views of a checkpoint that SQL can name: one for each store, and one for each table of data.

The view of a store has its live rows in flat columns: the fields of the key, those of the value,
and their sizes. Other views are the tables that Spark's data source has too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from inspector import analyses
from inspector.analyses.shared.declare import DataTable, TableOptions
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import looking, store_tasks
from inspector.engines.local import stream_tasks
from inspector.light_dataclasses import dataclass, replace
from inspector.model import JOIN_SIDES, Problem, StoreName, is_store
from inspector.passes.problem_mode import COLUMN, take_problems
from inspector.passes.typed_rows import TypedTask, run_typed_rows, schema_of_rows
from inspector.render.values import to_json_values
from inspector.schemas import compute

Batches = Iterator[pa.RecordBatch]  # type of the batches of a view's rows

# names of tables of data that have the rows of one store; views of stores take their place
_OF_STORES = ("rows", "changes")
# names of the columns that come first in the view of a store, before the fields of keys and values
_PLACE = ("partition_id", "batch_id")
# names of the columns with the sizes of a row, in bytes
_SIZES = ("key_bytes", "value_bytes", "row_bytes")


@dataclass(frozen=True)
class Needs:
    """Part of a view that a query needs; all of the view by default."""

    columns: frozenset[str] | None = None  # names of columns; None for all columns
    partitions: frozenset[int] | None = None  # partition ids; None for all partitions


@dataclass(frozen=True)
class View:
    """A table that SQL can name; it is read again by each query that names it."""

    name: str  # name in SQL, in lower case
    doc: str  # description of its rows, in one sentence
    schema: pa.Schema  # columns that SQL sees
    # function that reads the view and yields its rows; it may leave out partitions that the query
    # does not need, and make columns null that the query does not need
    read: Callable[[Needs], Batches]
    # ids of all partitions, which ``read`` can leave out; empty if it reads all in any case
    partitions: tuple[int, ...] = ()


def views_of(run: Run, options: TableOptions, problems: list[Problem]) -> list[View]:
    """Return the views of a checkpoint that SQL can name, each with a name of its own.

    The live rows of each store come first, then the tables of data, then the changes of each store.
    In mode ``permissive``, problems of reading are added to ``problems`` while a view is read.
    """
    views = []
    tasks_by_store = store_tasks(run, options, changes=False)
    for store, tasks in tasks_by_store.items():
        names = [_store_view_name(store), *_side_names(store)]
        views += [_store_view(name, store, tasks, run, problems) for name in names]
    tables = analyses.data_tables()
    views += [
        _table_view(table, run, options, problems)
        for name, table in sorted(tables.items())
        if name not in _OF_STORES
    ]
    for store, tasks in tasks_by_store.items():
        of_changes = [replace(task, changes=True) for task in tasks]
        name = f"{_store_view_name(store)}_changes"
        views.append(_store_view(name, store, of_changes, run, problems))
    return _with_unique_names(views)


def _with_unique_names(views: Sequence[View]) -> list[View]:
    """Return ``views`` with unique names.

    If an earlier view has the name ``x``, the later view becomes ``x_2``, and so on.
    """
    result: dict[str, View] = {}
    for view in views:
        names = (view.name, *(f"{view.name}_{number}" for number in range(2, len(views) + 2)))
        name = next(name for name in names if name not in result)
        result[name] = replace(view, name=name)
    return list(result.values())


def _store_view_name(store: StoreName) -> str:
    """Return the name of the view of ``store``: operator id and store name, as ``op0_default``.

    Characters other than letters and digits become ``_``; letters become lower case.
    """
    words = re.findall("[0-9a-z]+", store.store_name.lower())
    return "_".join((f"op{store.operator_id}", *words))


def _side_names(store: StoreName) -> list[str]:
    """Return a list with the short name of a store of join rows, such as ``op1_left``.

    A store with the rows of one side of a join has a second view, with this name. The list is empty
    for other stores.
    """
    sides = (side for side in JOIN_SIDES if is_store(side, store.store_name))
    return [f"op{store.operator_id}_{side}" for side in sides]


# --- stores -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class FlatColumn:
    """A column of the view of a store."""

    name: str  # name in SQL
    kind: Any  # Arrow type
    # column of the typed rows that has its values: ``key``, ``value`` or ``old_value``; None for a
    # column that is no part of keys or values
    side: str | None
    field: int | None  # position of the field in the struct ``side``; None for the whole column


def _store_view(
    name: str, store: StoreName, tasks: Sequence[TypedTask], run: Run, problems: list[Problem]
) -> View:
    """Return the view ``name`` of a store's live rows, or of its changes.

    ``tasks`` are one task for each partition; they decide whether live rows or changes are read.
    Problems of reading are added to ``problems``.
    """
    changes = tasks[0].changes
    columns = flat_columns(schema_of_rows(tasks[0]))
    schema = pa.schema([(column.name, _sql_type(column.kind)) for column in columns])
    noun = "Every record of the deltas" if changes else "The live rows"
    return View(
        name,
        f"{noun} of store {store.store_name} of operator {store.operator_id}.",
        schema,
        partial(_read_store, run, tuple(tasks), columns, schema, problems),
        tuple(sorted({task.task.partition_id for task in tasks})),
    )


def flat_columns(typed: pa.Schema) -> list[FlatColumn]:
    """Return the columns of a store's view, from ``typed``, the schema of its typed rows.

    Fields of keys and values become columns of their own. A field whose name is taken, in any case,
    gets the prefix ``key_`` or ``value_``. Fields of old values begin with ``old_``. The columns
    are in the order: partition and batch, fields, all others.
    """
    fixed = [
        field.name for field in typed if field.name not in (*_NAMED_BY_VIEW, *_STRUCTS, COLUMN)
    ]
    columns = [FlatColumn(name, typed.field(name).type, None, None) for name in fixed]
    if "row_bytes" not in fixed:
        columns.append(FlatColumn("row_bytes", pa.int64(), None, None))
    taken = {column.name for column in columns}
    for side in filter(typed.names.__contains__, _STRUCTS):
        kind: Any = typed.field(side).type
        if not pa.types.is_struct(kind):
            columns.append(FlatColumn(side, kind, side, None))
            continue
        for ordinal in range(kind.num_fields):
            field = kind.field(ordinal)
            name = field.name if side != "old_value" else f"old_{field.name}"
            prefixes = ("", f"{side}_", *(f"{side}_{ordinal}_{n}_" for n in range(len(taken))))
            chosen = next(p + name for p in prefixes if (p + name).lower() not in taken)
            taken.add(chosen.lower())
            columns.append(FlatColumn(chosen, field.type, side, ordinal))
    own = {column.name: column for column in columns if column.side is None}
    places = [own.pop(name) for name in _PLACE if name in own]
    fields = [column for column in columns if column.side is not None]
    return [*places, *fields, *own.values()]


# names of the columns of typed rows whose fields become columns of a view
_STRUCTS = ("key", "value", "old_value")
# names of the columns of typed rows that a view leaves out: the store, which is in the name of the
# view, and the version, which is ``batch_id + 1``
_NAMED_BY_VIEW = ("operator_id", "operator_name", "store_name", "version")


def _read_store(
    run: Run,
    tasks: Sequence[TypedTask],
    columns: Sequence[FlatColumn],
    schema: pa.Schema,
    problems: list[Problem],
    needs: Needs,
) -> Batches:
    """Yield the rows of a store's view, of the partitions that a query needs.

    ``columns`` are all columns of the view and ``schema`` their schema. If the query needs no
    column of keys, values or old values, these are not decoded and their columns are null. Problems
    of reading are added to ``problems``; depending on the mode of ``tasks`` they are raised.
    """
    needed = [c for c in columns if needs.columns is None or c.name in needs.columns]
    sides = {column.side for column in needed}
    undecoded = tuple(side for side in _STRUCTS if side not in sides)
    chosen = [
        replace(task, undecoded=undecoded)
        for task in tasks
        if needs.partitions is None or task.task.partition_id in needs.partitions
    ]
    run.check_lasting()
    read = partial(run_typed_rows, look=looking(run))
    size = sum(task.task.file_bytes for task in chosen)
    for batch in run.stream(read, [task.to_json() for task in chosen], size):
        rows = take_problems(batch, problems)
        arrays = [_array(rows, column) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(rows: pa.RecordBatch, column: FlatColumn) -> Any:
    """Return the values of ``column``, a column of a store's view, from ``rows``, typed rows.

    ``row_bytes`` is the sum of the sizes of key and value if the typed rows do not have it.
    """
    if column.name not in rows.schema.names and column.side is None:
        pc = compute()
        sizes = [pc.coalesce(rows.column(name), 0) for name in _SIZES[:2]]
        return pc.add(*sizes)
    array: Any = rows.column(column.side or column.name)
    if column.field is not None:
        array = array.flatten()[column.field]
    return array if _sql_type(array.type) == array.type else _json_texts(array)


def _sql_type(kind: Any) -> Any:
    """Return the Arrow type in which DuckDB gets a column of the type ``kind``.

    It is text for a type that contains a struct without fields, which DuckDB does not have, and
    ``kind`` for all others.
    """
    return pa.string() if _has_empty_struct(kind) else kind


def _has_empty_struct(kind: Any) -> bool:
    """Return True if the Arrow type ``kind`` is, or contains, a struct without fields."""
    is_ = pa.types
    if is_.is_struct(kind):
        members = [field.type for field in kind]
        return not members or any(map(_has_empty_struct, members))
    if is_.is_map(kind):
        return _has_empty_struct(kind.key_type) or _has_empty_struct(kind.item_type)
    return is_.is_list(kind) and _has_empty_struct(kind.value_type)


def _json_texts(array: Any) -> Any:
    """Return an array with each value of ``array`` as a JSON text; null stays null."""
    values = to_json_values(array)
    texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
    return pa.array(texts, pa.string())


# --- tables of data ------------------------------------------------------------------------------


def _table_view(table: DataTable, run: Run, options: TableOptions, problems: list[Problem]) -> View:
    """Return the view of ``table``, a table of data that is computed when a query reads it.

    Its columns do not include ``problem``; problems of reading are added to ``problems``.
    """
    options = replace(options, json_keys=True)
    known = table.schema(run, run.options, options)
    schema = pa.schema([field for field in known if field.name != COLUMN])

    def read(_: Needs) -> Batches:
        """Compute the whole table and yield its rows without those of problems."""
        plan = table.plan(run, run.options, options)
        for batch in stream_tasks(plan.function, [work.spec for work in plan.work]):
            rows = take_problems(batch, problems)
            if rows.num_rows:
                yield rows.cast(schema) if rows.schema != schema else rows

    return View(table.name, table.doc.partition("\n")[0], schema, read)
