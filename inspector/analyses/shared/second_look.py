"""Damage, or a query that runs: what looks like the one is looked at again before it is said.

Spark's cleanup removes old files while they are listed and read, and a query that restarts writes
some anew. So wherever a file is gone, or the files of a listing do not make a whole, the checkpoint
is listed again and what was in doubt is read again. What two looks say is damage. If the version
that was judged can no longer be restored, the newest whole one takes its place and all is read
anew: every number of a report is of one version. Where the cleanup is faster than two looks, the
last ones read no more than what makes that version, which stays longest. Where it is faster than
these too, that is said, and no damage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from inspector.analyses.shared.splitting import in_whole
from inspector.checkpoint.logfile import DOUBTFUL, MOVED_SLUG
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import MissingVersionError
from inspector.model import Problem
from inspector.providers.chain import chain_for, restorable_versions
from inspector.providers.registry import provider_by_name
from inspector.quantities import count_text

if TYPE_CHECKING:
    import pyarrow as pa

    from inspector.facts.fact import Observed

MORE_LOOKS = 3
"""Further looks at most."""
NEWEST_ALONE = 2
"""So many of them, the last ones, leave out the versions before the one that is judged."""

OUTPACED = "the query removes versions faster than they can be read"

Place: TypeAlias = tuple[int, int]
"""Operator and partition: what a task is about."""

Read: TypeAlias = "Callable[[Sequence[Task]], Iterable[pa.RecordBatch]]"


class Looked(Protocol):
    """A run, as far as it can be looked at again."""

    @property
    def can_look_again(self) -> bool:
        """Whether the checkpoint can be opened again."""

    def look_again(self) -> bool:
        """Open the checkpoint again; whether another version is judged now."""

    def note(self, problem: Problem) -> None:
        """Add to what the report says."""

    def outpaced(self) -> Problem:
        """What is said in place of doubts that no second look confirmed."""

    def gone(self, paths: Collection[str]) -> set[str]:
        """The files of some paths that are not there now."""


def observed(
    run: Looked, tasks_of: Callable[[], Iterable[Task]], read: Read
) -> Iterator[Observed[Any]]:
    """What tasks observe; those whose files moved under them, by a later look.

    Args:
        run: is looked at again, and told what has moved.
        tasks_of: the tasks by what the run has seen last.
        read: runs tasks.
    """
    from inspector.facts.registry import facts_in  # noqa: PLC0415 - imports every fact

    result: list[Observed[Any]] = []
    again: set[Place] | None = None
    doubted = _Doubts()
    looks = MORE_LOOKS if run.can_look_again else 0
    before = version = None
    for left in range(looks, -1, -1):
        tasks = [
            replace(task, look_again=left > 0)
            for task in tasks_of()
            if again is None or (task.operator_id, task.partition_id) in again
        ]
        shorter = doubted.move and left < NEWEST_ALONE
        if shorter:
            tasks = [_newest_alone(task) for task in tasks]
        version = tasks[0].version if tasks else version
        before = before or version
        new = list(
            in_whole(
                tasks, (observation for batch in read(tasks) for observation in facts_in(batch))
            )
        )
        again = doubted.see(new) if left else set()
        result += [one for one in new if _place(one) not in again]
        if not again:
            break
        if run.look_again():
            result.clear()
            again = None
    settled = doubted.places - {_place(one) for one in result if _is_doubt(one)}
    if settled or before != version:
        run.note(_moved(len(settled), before, version, shorter=shorter))
    return iter(_confirm(run, result, doubted.paths) if looks else result)


class _Doubts:
    """What was in doubt, look by look.

    Attributes:
        places: of all looks. move: whether all of the last look are of other files than before:
            what is so twice is damage, of whatever file. paths: what they are of.
    """

    def __init__(self) -> None:
        self.places: set[Place] = set()
        self.move = False
        self.paths: set[str | None] = set()

    def see(self, observations: Iterable[Observed[Any]]) -> set[Place]:
        """Take in what a look found; the places that are in doubt by it."""
        doubted = [observation for observation in observations if _is_doubt(observation)]
        paths = {one.fact.path for one in doubted}
        self.move = bool(paths) and paths.isdisjoint(self.paths)
        self.paths |= paths
        partitions = set(map(_place, doubted))
        self.places |= partitions
        return partitions


def _confirm(
    run: Looked, observations: list[Observed[Any]], seen: Collection[str | None]
) -> list[Observed[Any]]:
    """What was observed, without doubts of the last look that are of files which went since.

    Args:
        run: knows what is there now, and is told that the query is too fast.
        observations: what the last look observed.
        seen: paths of which the looks before had doubts too.
    """
    new = {observation.fact.path for observation in observations if _is_doubt(observation)} - {
        None,
        *seen,
    }
    gone = run.gone(new)
    if gone:
        run.note(run.outpaced())
    return [
        observation
        for observation in observations
        if not (_is_doubt(observation) and observation.fact.path in gone)
    ]


def _newest_alone(task: Task) -> Task:
    """The task without the files of which its version does not need any."""
    files_of = provider_by_name(task.provider).files_of

    def trimmed(store: StoreTask) -> StoreTask:
        with suppress(MissingVersionError):
            base = chain_for(files_of(store.files), task.version).base
            first = (base.version if base else None) or 0
            kept = tuple(file for file in store.files if (file.version or first) >= first)
            return replace(store, files=kept)
        return store

    return replace(task, stores=tuple(map(trimmed, task.stores)))


@dataclass
class Listings:
    """What the listings of a run showed, one after the other.

    Attributes:
        doubts: of the newest listing, and those that it shares with an earlier one are damage.
        whole: whether any of them could restore the version that is judged now.
    """

    doubts: list[Problem] = field(default_factory=list)
    whole: bool = False
    _seen: set[object] = field(default_factory=set)

    def add(self, problems: Iterable[Problem], *, whole: bool) -> list[Problem]:
        """Take in what a listing showed, and whether it restores the version.

        Returns:
            The doubts that no earlier listing had, or that are of a version which one of them had
            and which is gone.
        """
        self.doubts = doubts(problems)
        gone = self.whole and not whole
        new = [
            problem
            for problem in self.doubts
            if _identity(problem) not in self._seen
            or (gone and problem.slug == MissingVersionError.slug)
        ]
        self._seen |= set(map(_identity, self.doubts))
        self.whole |= whole
        return new


def _identity(problem: Problem) -> object:
    return problem.slug, problem.path, problem.message


def newest_whole(checkpoint: Checkpoint) -> int | None:
    """The newest committed version that every store can restore; None if there is no such one."""
    versions = [set(restorable_versions(files)) for files in checkpoint.store_files.values()]
    whole = set.intersection(*versions) if versions else set()
    return max((v for v in whole if v <= checkpoint.newest_version), default=None)


def doubts(problems: Iterable[Problem]) -> list[Problem]:
    """Those that a second look may not confirm."""
    return [problem for problem in problems if problem.slug in DOUBTFUL]


def restores(checkpoint: Checkpoint, version: int) -> bool:
    """Whether every store of a checkpoint can restore a version that is committed."""
    files = checkpoint.store_files.values()
    return version <= checkpoint.newest_version and all(
        version in restorable_versions(file) for file in files
    )


def gone_from(checkpoint: Checkpoint, paths: Iterable[str]) -> set[str]:
    """The files of some paths that are not there: neither by a listing, nor when asked for.

    Args:
        checkpoint: as it was listed just now.
        paths: of state files, and of what lies beside them.
    """
    listed = {file.path for store in checkpoint.layout.stores for file in store.files}
    storage = checkpoint.storage
    return {p for p in paths if p not in listed and storage.stat(storage.relative(p)) is None}


def listing_moved() -> Problem:
    """The report's word on a listing that a second one did not confirm."""
    return Problem(
        MOVED_SLUG,
        "files changed while they were being listed; they were listed again, and the "
        "report is complete",
    )


def _moved(partitions: int, before: int | None, version: int | None, *, shorter: bool) -> Problem:
    read = (
        f"{count_text(partitions, 'partition')} lost files while they were being read, and "
        f"{'was' if partitions == 1 else 'were'} listed and read again"
    )
    if before == version or before is None or version is None:
        missing = "only what older versions changed" if shorter else "nothing"
        return Problem(MOVED_SLUG, f"{read}; {missing} is missing from this report")
    return version_moved(before, version)


def version_moved(before: int, version: int) -> Problem:
    """The report's word on a version that took the place of one which is gone."""
    return Problem(
        MOVED_SLUG,
        f"files of batch {before - 1} were removed while they were being read; the newest "
        f"batch, {version - 1}, is judged instead",
    )


def _place(observation: Observed[Any]) -> Place:
    return observation.store.operator_id, observation.store.partition_id


def _is_doubt(observation: Observed[Any]) -> bool:
    return _is_problem(observation) and observation.fact.slug in DOUBTFUL


def _is_problem(observation: Observed[Any]) -> bool:
    from inspector.facts.checks import ReadProblem  # noqa: PLC0415 - as above

    return isinstance(observation.fact, ReadProblem)
