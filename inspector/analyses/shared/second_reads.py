"""Second reads of tasks whose files were removed by the running query while they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from inspector import exceptions
from inspector.analyses.shared.key_ranges import in_whole
from inspector.analyses.shared.opening import MORE_LOOKS, Opened, version_problem
from inspector.checkpoint.logfile import DOUBTFUL, MOVED_SLUG
from inspector.discovery.tasks import (
    StoreTask,
    Task,
)
from inspector.facts.checks import ReadProblem
from inspector.facts.fact import Observed
from inspector.facts.registry import facts_in
from inspector.light_dataclasses import replace
from inspector.model import Problem
from inspector.providers.chain import chain_for
from inspector.providers.registry import provider_by_name
from inspector.quantities import count_text

# number of last attempts that read no older files than the judged version needs, if files vanish at
# every attempt
NEWEST_ALONE = 2
OperatorPartition: TypeAlias = tuple[int, int]  # operator id and partition id of a task

# reads the fact batches of tasks
Read: TypeAlias = Callable[[Sequence[Task]], Iterable[pa.RecordBatch]]


def read_observations(
    run: Opened, tasks_of: Callable[[], Iterable[Task]], read: Read
) -> Iterator[Observed[Any]]:
    """Return the observations (facts of stores and versions) of the tasks that ``tasks_of`` makes.

    ``read`` reads the tasks now. Partitions whose files were removed meanwhile are listed and read
    again, up to ``MORE_LOOKS`` times. If the judged version is gone, all are read again for another
    one. The run then gets a problem that says so. If files are still gone at the end, it gets the
    problem that the query was faster, and their problems are left out.
    """
    result: list[Observed[Any]] = []
    again: set[OperatorPartition] | None = None
    doubted = _Doubts()
    looks = MORE_LOOKS if run.reopen else 0
    first_version = version = None
    for left in range(looks, -1, -1):
        tasks = [
            replace(task, look_again=left > 0)
            for task in tasks_of()
            if again is None or (task.operator_id, task.partition_id) in again
        ]
        shorter = doubted.have_moved and left < NEWEST_ALONE
        if shorter:
            tasks = [_newest_alone(task) for task in tasks]
        version = tasks[0].version if tasks else version
        first_version = first_version or version
        new = list(in_whole(tasks, chain.from_iterable(map(facts_in, read(tasks)))))
        again = doubted.record(new) if left else set()
        result += [fact for fact in new if _partition_of(fact) not in again] if again else new
        if not again:
            break
        if run.look_again():
            result.clear()
            again = None
    doubtful = [fact for fact in result if _is_doubt(fact)] if doubted.partitions else []
    settled = doubted.partitions - set(map(_partition_of, doubtful))
    if settled or first_version != version:
        run.note(_moved_problem(len(settled), first_version, version, shorter=shorter))
    gone = run.gone({fact.fact.path for fact in doubtful} - {None, *doubted.paths})
    if not gone:
        return iter(result)
    # A problem of the last attempt is no damage if its file has been removed since.
    run.note(run.outpaced_problem())
    return (fact for fact in result if not (_is_doubt(fact) and fact.fact.path in gone))


class _Doubts:
    """Partitions and files whose problems a further attempt may not confirm, over all attempts."""

    def __init__(self) -> None:
        """Begin without doubts."""
        self.partitions: set[OperatorPartition] = set()  # partitions in doubt at any attempt
        # True if no file in doubt at the last attempt was in doubt before, and there is one
        self.have_moved = False
        self.paths: set[str | None] = set()  # files in doubt at any attempt

    def record(self, observations: Iterable[Observed[Any]]) -> set[OperatorPartition]:
        """Record the problems of an attempt that another one may not confirm.

        Returns the partitions that have such problems.
        """
        doubted = [observation for observation in observations if _is_doubt(observation)]
        paths = {observation.fact.path for observation in doubted}
        self.have_moved = bool(paths) and paths.isdisjoint(self.paths)
        self.paths |= paths
        partitions = set(map(_partition_of, doubted))
        self.partitions |= partitions
        return partitions


def _newest_alone(task: Task) -> Task:
    """Return the task without the files that its version does not need.

    These are files older than the snapshot from which the version is restored. A store that lacks a
    file for the version keeps all files.
    """
    files_of = provider_by_name(task.provider).files_of

    def trim(store: StoreTask) -> StoreTask:
        """Return the store without the older files; unchanged if it lacks a file."""
        with suppress(exceptions.MissingVersionError):
            base = chain_for(files_of(store.files), task.version).base
            first = (base.version if base else None) or 0
            files = tuple(file for file in store.files if (file.version or first) >= first)
            return replace(store, files=files)
        return store

    return replace(task, stores=tuple(map(trim, task.stores)))


def _moved_problem(
    partitions: int, previous: int | None, version: int | None, *, shorter: bool
) -> Problem:
    """Return the problem that files were removed while partitions were read.

    ``partitions`` is their number. ``shorter`` is True if older versions were left out. If another
    ``version`` replaced the ``previous`` one, the problem says this instead.
    """
    read = (
        f"{count_text(partitions, 'partition')} lost files while they were being read, and "
        f"{'was' if partitions == 1 else 'were'} listed and read again"
    )
    if previous == version or previous is None or version is None:
        missing = "only what older versions changed" if shorter else "nothing"
        return Problem(MOVED_SLUG, f"{read}; {missing} is missing from this report")
    return version_problem(previous, version)


def _partition_of(observation: Observed[Any]) -> OperatorPartition:
    """Return the operator id and partition id of an observation."""
    return observation.store.operator_id, observation.store.partition_id


def _is_doubt(observation: Observed[Any]) -> bool:
    """True if the observation is a problem that a further attempt may not confirm."""
    return isinstance(observation.fact, ReadProblem) and observation.fact.slug in DOUBTFUL
