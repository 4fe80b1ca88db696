"""Tables whose rows are made wherever the tasks run: for DataFrames and Spark's data source.

==========  ====================================================================================
table       a row is
==========  ====================================================================================
rows        a live row of one store at one version, key and value as structs
changes     a record of a delta of one store: what it did, its value, and the value before
versions    one version of one store in one partition: sizes, changes, what is shared
leftovers   an expired key that is still there, with its proof
files       a file in a store's folder
findings    a judged statement, as ``audit`` makes them
problems    what cannot be read, or is missing, as ``verify`` finds it
==========  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from inspector.analyses.common import operator_names
from inspector.analyses.flat_tables import FLAT, FlatTask, flat_schema, run_flat
from inspector.analyses.made_tables import (
    file_rows,
    made_schema,
    made_spec,
    made_specs,
    run_made,
)
from inspector.api.commands import findings_of, verified
from inspector.api.run import Options, Run
from inspector.api.tables import Place
from inspector.api.typed import Typed, typed_tasks
from inspector.engines.engine import BatchFunction, Work
from inspector.exceptions import CheckpointError
from inspector.merge.resolution import Resolution
from inspector.model import DEFAULT_STORE, Problem
from inspector.operators.rule import Clock
from inspector.passes.problem_mode import ProblemMode, problem_batches, refuse
from inspector.passes.typed_rows import TypedTask, run_typed, typed_schema
from inspector.render import plain
from inspector.render.keys import Redact

TYPED = ("rows", "changes")
TABLES = (*TYPED, "versions", "leftovers", "files", "findings", "problems")


@dataclass(frozen=True)
class SpreadTable:
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


def spread(
    path: str, table: str, options: Options | None = None, wanted: Typed | None = None
) -> SpreadTable:
    """A table of a checkpoint.

    ``leftovers`` of group state, ``findings`` and ``problems`` need the facts of all partitions
    first: they are made now, on the engine of the options.

    Args:
        path: the checkpoint.
        table: a name of :data:`TABLES`.
        options: which part and version. ``rows`` and ``changes`` are of one store: by default
            ``default`` of operator 0, as in Spark's source ``statestore``.
        wanted: of ``rows`` and ``changes``; its ``mode`` counts for ``versions`` and ``leftovers``
            too.

    Raises:
        CheckpointError: there is no such table or store.
        InspectorError: something is missing, and the mode is ``failfast``.
    """
    options, wanted = options or Options(), wanted or Typed()
    _known(table)
    if table in TYPED:
        return _typed(path, options, replace(wanted, changes=table == "changes"))
    run = Run.start(path, options)
    if table in FLAT:
        return flat(run, table, wanted.mode)
    rows: Sequence[Mapping[str, Any]]
    if table == "files":
        rows = list(file_rows(run.checkpoint))
    elif table == "findings":
        rows = [plain.finding_row(found) for found in findings_of(run)]
    else:
        rows = [plain.problem_row(found) for found in verified(run)]
    work = tuple(Work(spec) for spec in made_specs(table, rows))
    return SpreadTable(made_schema(table), run_made, work, run)


def schema_of(path: str, table: str, options: Options, wanted: Typed) -> pa.Schema:
    """The schema of the same table; nothing of the state is read."""
    _known(table)
    if table in TYPED:
        return _typed(path, options, replace(wanted, changes=table == "changes")).schema
    return flat_schema(table, wanted.mode) if table in FLAT else made_schema(table)


def _known(table: str) -> None:
    if table not in TABLES:
        raise CheckpointError(f"got table {table!r}, expected one of {', '.join(TABLES)}")


def _typed(path: str, options: Options, wanted: Typed) -> SpreadTable:
    operator_id = options.operator_id or 0
    store = options.store_name or DEFAULT_STORE
    run = Run.start(path, replace(options, operator_id=operator_id))
    places = typed_tasks(run, wanted)
    tasks = places.get((operator_id, store))
    if tasks is None:
        raise CheckpointError(
            f"operator {operator_id} has no store {store!r}, it has {_names(places)}", path
        )
    listed = _listed(run, wanted.mode, [(operator_id, store)])
    tasks = [replace(tasks[0], listed=listed), *tasks[1:]]
    return SpreadTable(typed_schema(tasks[0]), run_typed, work_of(tasks), run)


def _names(places: Mapping[Place, Any]) -> str:
    return ", ".join(repr(store) for _, store in places) or "none"


def flat(run: Run, table: str, mode: ProblemMode) -> SpreadTable:
    """``versions`` or ``leftovers`` of a run; see :func:`spread`."""
    resolution = Resolution()
    if table == "leftovers" and _needs_all(run):
        resolution = run.facts().resolution
    names = operator_names(run.checkpoint)
    redact = run.options.redact or Redact.NONE
    tasks = [
        FlatTask(table, task, names[task.operator_id], resolution, redact, mode)
        for task in run.tasks(leftover_limit=int(table != "leftovers"))
    ]
    schema, listed = flat_schema(table, mode), _listed(run, mode)
    if not tasks:
        made = tuple(Work(made_spec(batch)) for batch in problem_batches(schema, mode, listed))
        return SpreadTable(schema, run_made, made, run)
    tasks[0] = replace(tasks[0], listed=listed)
    return SpreadTable(schema, run_flat, work_of(tasks), run)


def work_of(tasks: Iterable[TypedTask | FlatTask]) -> tuple[Work, ...]:
    """The tasks of a table as an engine takes them."""
    return tuple(
        Work(
            each.to_json(),
            each.task.file_bytes,
            # What the listing told is of any partition: it is not left out with this one.
            None if each.listed else each.task.partition_id,
        )
        for each in tasks
    )


def _needs_all(run: Run) -> bool:
    """Whether one partition alone cannot be sure of its leftovers."""
    rules = [rule for operator in run.checkpoint.operators for rule in operator.rules.values()]
    return any(rule.expiry is not None and rule.expiry.clock is Clock.TIMEOUT for rule in rules)


def _listed(
    run: Run, mode: ProblemMode, places: Sequence[Place] | None = None
) -> tuple[Problem, ...]:
    """What the listing shows, of these stores if any are given."""
    problems = tuple(found for found in run.listed if _is_of(found, places))
    if mode is ProblemMode.FAILFAST:
        refuse(problems)
    return problems


def _is_of(found: Problem, places: Sequence[Place] | None) -> bool:
    if places is None or found.store is None:
        return True
    return (found.store.operator_id, found.store.store_name) in places
