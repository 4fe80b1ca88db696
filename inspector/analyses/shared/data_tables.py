"""Tables that Spark's executors can compute: for DataFrames and for Spark's data source.

A table is declared beside its analysis, by one of three functions:

* :func:`inspector.analyses.shared.store_tables.store_table`: typed rows of one store.
* :func:`inspector.analyses.shared.fact_tables.fact_table`: rows made of the facts of a partition,
  where its files are read.
* :func:`inspector.analyses.shared.driver_tables.driver_table`: rows that the driver has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, get_type_hints

import pyarrow as pa

from inspector import analyses
from inspector.analyses.shared.declare import Option, Parameter, parameter
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Task
from inspector.engines.engine import BatchFunction, Work
from inspector.exceptions import CheckpointError
from inspector.model import Problem, StoreName
from inspector.passes.problem_mode import ProblemMode, refuse


@dataclass(frozen=True)
class TableOptions:
    """Options of tables of data, besides those of all analyses.

    Attributes:
        from_batch: changes of older batches are left out.
        raw: with the UnsafeRow bytes beside the decoded key and value.
        mode: error handling: what happens where something cannot be read.
        json_keys: keys of facts as JSON, as the files of reports have them, and never as structs.
    """

    from_batch: Annotated[
        int, Option("Leave out changes of older batches.", minimum=0, source="changeStartBatchId")
    ] = 0
    raw: Annotated[bool, Option("Add the UnsafeRow bytes of key and value.")] = False
    mode: Annotated[
        ProblemMode,
        Option("Error handling where something cannot be read: an error, a row, or nothing."),
    ] = ProblemMode.PERMISSIVE
    json_keys: bool = False

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Their declarations, by name."""
        hints = get_type_hints(cls, include_extras=True)
        found = (parameter(each.name, hints[each.name], each.default) for each in fields(cls))
        return {each.name: each for each in found if each is not None}


@dataclass(frozen=True)
class TablePlan:
    """A table that nobody has computed yet.

    Attributes:
        schema: of its batches.
        function: makes them. work: from these tasks, each for itself.
        run: what was found of the checkpoint.
    """

    schema: pa.Schema
    function: BatchFunction
    work: tuple[Work, ...]
    run: Run = field(compare=False)


@dataclass(frozen=True)
class DataTable:
    """A declared table of data.

    Attributes:
        name: in the data source, and of the function in :mod:`inspector.spark`.
        doc: what a row is, and what is done when; its first line is a sentence.
        options: those that it has besides part and version: fields of :class:`TableOptions`, or
            of :class:`~inspector.analyses.shared.options.Options`.
        plan: how a table of a checkpoint is to be computed; it may read the state.
        schema: its columns; reads nothing of the state.
    """

    name: str
    doc: str
    options: tuple[str, ...]
    plan: Callable[[str | Run, Options, TableOptions], TablePlan] = field(repr=False)
    schema: Callable[[str | Run, Options, TableOptions], pa.Schema] = field(repr=False)


def plan_table(
    path: str | Run,
    table: str,
    options: Options | None = None,
    table_options: TableOptions | None = None,
) -> TablePlan:
    """How a table of a checkpoint is computed, by its name.

    ``leftovers`` of group state, ``findings`` and ``problems`` need the facts of all partitions
    first: they are made now, on the engine of the options.

    Args:
        path: the checkpoint.
        table: a name of :func:`inspector.analyses.data_tables`.
        options: which part and version. ``rows`` and ``changes`` are of one store: by default
            ``default`` of operator 0, as in Spark's source ``statestore``.
        table_options: those of them that the table has count.

    Raises:
        CheckpointError: there is no such table or store.
        InspectorError: something is missing, and the mode is ``failfast``.
    """
    return table_named(table).plan(path, options or Options(), table_options or TableOptions())


def table_named(name: str) -> DataTable:
    """A declared table.

    Raises:
        CheckpointError: there is none of this name.
    """
    tables = analyses.data_tables()
    if name not in tables:
        raise CheckpointError(f"got table {name!r}, expected one of {', '.join(tables)}")
    return tables[name]


def table_work(task: Task, spec: str, listed: Sequence[Problem]) -> Work:
    """The task of a table's rows in one partition, as an engine takes it.

    Args:
        task: the partition.
        spec: the task of the table, as JSON.
        listed: problems of any partition, which are emitted with this one: it is never left out.
    """
    partition = None if listed else task.partition_id
    return Work(spec, task.file_bytes, partition, in_python=task.has_small_files)


def listed_problems(
    run: Run, mode: ProblemMode, stores: Sequence[StoreName] | None = None
) -> tuple[Problem, ...]:
    """What is wrong by the listing; of these stores only, if any are named.

    Raises:
        InspectorError: there is something, and the mode is ``failfast``.
    """
    problems = tuple(found for found in run.listed if _is_of(found, stores))
    if mode is ProblemMode.FAILFAST:
        refuse(problems)
    return problems


def _is_of(found: Problem, stores: Sequence[StoreName] | None) -> bool:
    if stores is None or found.store is None:
        return True
    return found.store.name in stores
