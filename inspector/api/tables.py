"""``rows``, ``history``, ``diff`` and what ``export`` writes: the commands that show keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from inspector.analyses import reports as build
from inspector.analyses.changes import ChangeRows
from inspector.api.run import Options, Run
from inspector.discovery.plan import FactRequest, plan
from inspector.discovery.tasks import Task
from inspector.exceptions import CheckpointError
from inspector.merge.collect import collect
from inspector.model import Problem
from inspector.passes.changes import ChangesTask, run_changes
from inspector.passes.diff import DiffTask, run_diff
from inspector.passes.key_filter import KeyFilter, check_filter
from inspector.passes.run import run_fields, run_rows
from inspector.render.keys import Redact
from inspector.render.report import Report

Place = tuple[int, str]


@dataclass(frozen=True)
class Ends:
    """What a diff compares, as batches or as state versions; None for the command's default."""

    from_batch: int | None = None
    to_batch: int | None = None
    from_version: int | None = None
    to_version: int | None = None


def rows(path: str, options: Options | None = None, *, limit: int = 0, raw: bool = False) -> Report:
    """The live rows of a version, decoded; with their bytes in hex if ``raw``.

    The rows are read while the report is written. Problems are in the report when its rows have
    been read to the end.
    """
    run = Run.start(path, options)
    redact = run.options.redact or Redact.NONE
    return build.rows(
        run.checkpoint,
        run.version,
        _live(run, tasks_of(run)),
        list(run.listed),
        build.RowsWanted(limit, raw, redact, bool(run.options.key or run.options.where)),
    )


def fields(path: str, options: Options | None = None) -> Report:
    """Where the bytes of a version are: null bits, words, variable parts and padding by field."""
    run = Run.start(path, options)
    facts = collect(run.map(run_fields, tasks_of(run)))
    return build.fields(run.checkpoint, run.version, facts, run.listed)


def history(
    path: str,
    options: Options | None = None,
    *,
    uncommitted: bool = False,
    limit: int = 0,
    raw: bool = False,
) -> Report:
    """Every put and removal of the keys that the options look for, oldest version first.

    All of them are held in memory: they are the history of one key, or of a few.

    Args:
        path: the checkpoint.
        options: ``key`` or ``where`` say which keys.
        uncommitted: read files of versions without a commit too.
        limit: the newest so many; 0 for all.
        raw: with their bytes in hex.

    Raises:
        CheckpointError: no key is given, or it fits no store.
    """
    run = Run.start(path, options)
    if not KeyFilter(run.options.key, tuple(run.options.where)):
        raise CheckpointError("no key is given, expected --key or --where")
    if uncommitted:
        run = replace(run, version=max([run.version, *run.checkpoint.uncommitted]))
    problems = list(run.listed)
    redact = run.options.redact or Redact.NONE
    found = ChangeRows(run.checkpoint, redact, raw=raw).rows(
        _changed(run, tasks_of(run), bases=True), problems
    )
    return build.history(run.checkpoint, run.version, list(found), problems, limit)


def changes(
    path: str, options: Options | None = None, *, from_batch: int = 0, raw: bool = False
) -> Report:
    """Every record of every delta that can be replayed, with what it did to its key."""
    run = Run.start(path, options)
    batches = _changed(run, tasks_of(run), first_version=from_batch + 1)
    return build.changes(run.checkpoint, run.version, batches, list(run.listed), raw=raw)


def diff(
    path: str,
    other: str | None = None,
    options: Options | None = None,
    *,
    ends: Ends | None = None,
    limit: int = 0,
    raw: bool = False,
) -> Report:
    """The rows in which two versions differ, old values beside new ones.

    Args:
        path: the checkpoint; of two, the old one.
        other: the new one; None to compare two versions of ``path``.
        options: which part; ``key`` and ``where`` narrow the keys.
        ends: the versions. By default the newest committed one, and of one checkpoint that
            before it.
        limit: rows at most; 0 for all.
        raw: with their bytes in hex.
    """
    ends, options = ends or Ends(), options or Options()
    new_options = replace(options, batch=ends.to_batch, state_version=ends.to_version)
    new = Run.start(other or path, new_options)
    if other is None:
        old = _before(new, ends)
    else:
        old_options = replace(options, batch=ends.from_batch, state_version=ends.from_version)
        old = Run.start(path, old_options)
    units, notes = _units(old, new, limit)
    specs = [unit.to_json() for unit in units]
    wanted = build.DiffWanted(limit, raw, options.redact or Redact.NONE, notes)
    return build.diff(
        (old.checkpoint, old.version),
        (new.checkpoint, new.version),
        new.stream(run_diff, specs),
        list(dict.fromkeys((*old.listed, *new.listed))),
        wanted,
    )


def report_tables(
    path: str | Run,
    options: Options | None = None,
    *,
    changes: bool = False,
    from_batch: int = 0,
    raw: bool = False,
) -> list[tuple[str, Report]]:
    """The same as reports, for formats of text: name and report of each store."""
    run = Run.start(path, options)

    def report(tasks: Sequence[Task], problems: list[Problem]) -> Report:
        if not changes:
            wanted = build.RowsWanted(0, raw)
            return build.rows(run.checkpoint, run.version, _live(run, tasks), problems, wanted)
        batches = _changed(run, tasks, first_version=from_batch + 1)
        return build.changes(run.checkpoint, run.version, batches, problems, raw=raw)

    stores = by_store(tasks_of(run)).items()
    return [
        (table_name(place), report(tasks, [] if i else list(run.listed)))
        for i, (place, tasks) in enumerate(stores)
    ]


def table_name(place: Place) -> str:
    """``operator-0.default``, also the name of a store's file in an export."""
    return f"operator-{place[0]}.{place[1]}"


def by_store(tasks: Iterable[Task]) -> dict[Place, list[Task]]:
    """Tasks of one store each, by operator and store name."""
    found: dict[Place, list[Task]] = {}
    for task in tasks:
        for store in task.stores:
            place = (task.operator_id, store.store_name)
            found.setdefault(place, []).append(replace(task, stores=(store,)))
    return dict(sorted(found.items()))


def tasks_of(run: Run) -> list[Task]:
    """The tasks of a run, with the keys that are looked for.

    Raises:
        CheckpointError: no store has such keys.
    """
    wanted = KeyFilter(run.options.key, tuple(run.options.where))
    if wanted:
        check_filter(run.checkpoint, wanted)
    tasks = plan(run.checkpoint, FactRequest(run.version))
    return [replace(task, key=wanted.key, where=wanted.where) for task in tasks]


def _live(run: Run, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
    return run.stream(run_rows, [task.to_json() for task in tasks if task.version])


def _changed(run: Run, tasks: Iterable[Task], **asked: Any) -> Iterator[pa.RecordBatch]:
    return run.stream(run_changes, [ChangesTask(task, **asked).to_json() for task in tasks])


def _before(new: Run, ends: Ends) -> Run:
    """The old end in the same checkpoint: as asked, else the version before."""
    batch, version = ends.from_batch, ends.from_version
    if batch is None and version is None:
        version = max(new.version - 1, 0)
    chosen = new.checkpoint.version_of(batch, version)
    options = replace(new.options, batch=None, state_version=chosen)
    return Run.at(new.checkpoint, chosen, options, new.engine)


def _units(old: Run, new: Run, limit: int) -> tuple[list[DiffTask], list[str]]:
    """What to compare with what: by operator and store; by partition where their number is equal.

    A key keeps its partition as long as their number stays.
    """
    stores = by_store(tasks_of(old)), by_store(tasks_of(new))
    units: list[DiffTask] = []
    notes: list[str] = []
    for place in sorted({*stores[0], *stores[1]}):
        sides = [{task.partition_id: task for task in side.get(place, ())} for side in stores]
        if not all(sides):
            where = (new if sides[1] else old).checkpoint.root
            notes.append(f"operator {place[0]}, store {place[1]} is only in {where}: not compared")
        elif sides[0].keys() == sides[1].keys():
            units += [DiffTask((sides[0][p],), (sides[1][p],), limit) for p in sorted(sides[0])]
        else:
            old_tasks, new_tasks = (tuple(side.values()) for side in sides)
            units.append(DiffTask(old_tasks, new_tasks, limit))
    return units, notes
