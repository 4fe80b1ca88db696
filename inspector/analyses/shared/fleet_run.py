"""Many checkpoints by one analysis: several at a time, each for itself.

An error of one checkpoint ends only the run of this checkpoint. A run returns only the needed part
of its report, so that there are at most as many reports as runs at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from inspector.analyses.shared.opening import Recalled, begin
from inspector.analyses.shared.options import Options, cache_inside
from inspector.checkpoint.logs import OFFSETS
from inspector.checkpoint.roots import above
from inspector.checkpoint.search import Found, is_pattern, search
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import absolute, is_local, translate
from inspector.engines.choose import EngineOptions, SharedEngines
from inspector.engines.engine import CHECKPOINTS, HADOOP, Engine, Measure
from inspector.exceptions import EngineError, InspectorError
from inspector.findings.rule import all_kinds
from inspector.findings.verdict import Level
from inspector.light_dataclasses import dataclass, replace
from inspector.render.report import Report

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")  # result of an analysis


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """Result of the run of one checkpoint, or its error."""

    path: str  # path of the checkpoint as the user spelled it, or as it was found
    result: T | None = None  # result of the analysis; None if it failed
    error: Exception | None = None  # error that ended its run; None if it succeeded


@dataclass(frozen=True)
class Audited(Found):
    """A checkpoint whose report exists already, so that it is not opened."""

    run: Recalled | None = None  # report of the checkpoint, in place of a run


# makes reports on Spark before the runs, and yields all candidates: those with a report as
# :class:`Audited`, others as they are
Ahead = Callable[[Iterable[Found], Options, Engine], Iterable[Found]]


@dataclass(frozen=True)
class Shown:
    """Filter of the checkpoints that are reported: a least level, and findings to have one of."""

    level: Level = Level.OK  # least level of a reported checkpoint
    # ids of findings, one of which it must have; empty for any
    findings: frozenset[str] = frozenset()

    @classmethod
    def of(cls, level: str | None, findings: str | Iterable[str] | None) -> Shown:
        """Return the filter from the texts of a user; None for no such condition.

        ``level`` is the name of a level, and ``findings`` are ids of findings, in any case. Raises
        ValueError if there is no such level or finding.
        """
        ids = [findings] if isinstance(findings, str) else findings or ()
        declared = {kind.id for kind in all_kinds()}
        unknown = [name for name in ids if name.upper() not in declared]
        if unknown:
            raise ValueError(f"unknown finding {unknown[0]!r}: inspector explain lists them")
        return cls(Level(level or Level.OK), frozenset(map(str.upper, ids)))

    def shows(self, report: Report | None) -> bool:
        """Return True if the checkpoint of ``report`` passes the filter.

        ``report`` is None if the checkpoint could not be read. It then passes unless the filter
        has findings.
        """
        if report is None:
            return not self.findings
        ids = {finding.kind.id for finding in report.findings}
        has_one = not self.findings or bool(self.findings & ids)
        return report.level.rank >= self.level.rank and has_one


def find_all(paths: Iterable[str], options: Options, *, recursive: bool) -> Iterator[Found]:
    """Yield each checkpoint that the paths and patterns name, once, in their order.

    ``recursive`` also searches the folders below the paths. A search that fails yields a candidate
    with the error. Raises EngineError for a search with ``--io hadoop``.
    """
    result: set[str] = set()
    for path in paths:
        for candidate in _candidates(path, options, recursive=recursive):
            root = absolute(candidate.path).rstrip("/")
            if root not in result:
                result.add(root)
                yield candidate


def means_many(paths: Iterable[str], *, recursive: bool) -> bool:
    """Return True if ``paths`` may name another number of checkpoints than one.

    That is so for ``recursive``, for a pattern, and unless there is exactly one path.
    """
    path_list = list(paths)
    return recursive or len(path_list) != 1 or is_pattern(path_list[0])


def _candidates(path: str, options: Options, *, recursive: bool) -> Iterator[Found]:
    """Yield the checkpoints that ``path`` names: the path itself, or the results of a search.

    A path that is no pattern is yielded as it is, unless ``recursive``. If the search fails, the
    last candidate has the error. Raises EngineError for a search with ``--io hadoop``.
    """
    if not recursive and not is_pattern(path):
        yield Found(path)
        return
    if options.engine.io == HADOOP:
        raise EngineError(
            "--recursive and patterns are searched by fsspec, got --io hadoop: name each checkpoint"
        )
    was_root = None
    if options.cache is not None:
        from inspector.analyses.shared.report_cache import kept_reports  # noqa: PLC0415 - for few

        was_root = kept_reports(options)
    try:
        yield from search(path, options.storage_options, recursive=recursive, was_root=was_root)
    except (InspectorError, OSError) as error:
        yield Found(path, error)


def run_all(
    candidates: Iterable[Found],
    options: Options,
    make: Callable[[Any], T],
    at_once: int | None = None,
    ahead: Ahead | None = None,
) -> Iterator[Outcome[T]]:
    """Run an analysis on checkpoints, several at a time, and yield outcomes as they are ready.

    ``candidates`` are iterated while the first of them run. ``make`` gets the opened or recalled
    run of each and returns its result; an error of it becomes that of the outcome. ``at_once`` is
    the number of runs at the same time; None for a number that suits the engine. ``ahead`` makes
    reports on Spark before the runs. Raises EngineError if the engine cannot be had, and
    CheckpointError if the cache is in a checkpoint.
    """
    if options.cache is not None:
        _check_cache(options.cache, options.storage_options)
    engines = SharedEngines(options.engine, options.workers)
    # Several at a time would draw their progress over each other.
    quiet = replace(options, engine=replace(options.engine, watch=EngineOptions().watch))
    fleet = _Fleet(engines, quiet, make, at_once or engines.at_once)
    with options.engine.watch(fleet.measure):
        yield from fleet.run(candidates, ahead)


def _check_cache(folder: str, options: Mapping[str, str]) -> None:
    """Raise CheckpointError if ``folder``, of a cache, is a checkpoint or inside one.

    ``options`` are those of the storage. A folder that cannot be listed passes.
    """
    resolved = str(Path(translate(folder).target).resolve()) if is_local(folder) else folder
    for root in (resolved.rstrip("/"), *(root for root, _ in above(resolved))):
        is_inside = False
        with suppress(OSError, InspectorError):
            is_inside = all(map(Storage.open(root, options).exists, ("metadata", OFFSETS)))
        if is_inside:
            raise cache_inside(folder)


class _Fleet(Generic[T]):
    """Runs of one analysis on many checkpoints, with their progress."""

    def __init__(
        self, engines: SharedEngines, options: Options, make: Callable[[Any], T], at_once: int
    ) -> None:
        """Prepare the runs of ``make``; ``at_once`` is the number of runs at the same time."""
        self._engines, self._options = engines, options
        self._make, self._at_once = make, at_once
        # number of checkpoints that are done, that are known so far, and of all (0: not known yet)
        self._done = self._found = self._total = 0

    def measure(self) -> Measure:
        """Return the progress: checkpoints done, and all; 0 for all while they are searched."""
        return Measure(self._done, self._total, CHECKPOINTS)

    def run(self, candidates: Iterable[Found], ahead: Ahead | None) -> Iterator[Outcome[T]]:
        """Run the candidates and yield an outcome for each, in the order in which they end.

        A candidate with an error is not run. ``ahead`` is used only with an engine on Spark that
        reads files by fsspec.
        """
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not for one checkpoint

        pool = ThreadPoolExecutor(self._at_once, thread_name_prefix="checkpoint")
        waiting: dict[Future[T], str] = {}
        self._total = len(candidates) if isinstance(candidates, Sequence) else 0
        batched = self._engines.batched
        if ahead is not None and batched is not None and batched.reader is None:
            candidates = ahead(candidates, self._options, batched.engine)
        holding = nullcontext() if batched is None else batched.hold_jobs()
        release = nullcontext if batched is None else batched.release_jobs
        try:
            # All checkpoints that fit join before a job starts: one job reads all of them.
            with holding:
                for candidate in candidates:
                    self._found += 1
                    if candidate.error is not None:
                        self._done += 1
                        with release():
                            yield Outcome(candidate.path, error=candidate.error)
                        continue
                    if batched is not None:
                        batched.join()
                    waiting[pool.submit(self._run_checkpoint, candidate)] = candidate.path
                    if len(waiting) >= self._at_once:
                        with release():
                            yield from self._next(waiting)
            self._total = self._found
            while waiting:
                yield from self._next(waiting)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _run_checkpoint(self, candidate: Found) -> T:
        """Return the result of ``make`` on one candidate, which is opened unless it is audited."""
        batched = self._engines.batched
        try:
            if isinstance(candidate, Audited):
                return self._make(candidate.run)
            place, is_root = candidate.path, candidate.is_root
            return self._make(begin(place, self._options, self._engines, is_root=is_root))
        finally:
            if batched is not None:
                batched.leave()

    def _next(self, waiting: dict[Future[T], str]) -> Iterator[Outcome[T]]:
        """Wait for at least one run to end, and yield the outcomes of all that have ended.

        They are in the order of their paths. ``waiting`` has the path of each run, and runs
        that ended are removed. An :class:`Exception` of a run is part of its outcome. Other
        errors, such as KeyboardInterrupt, are raised.
        """
        from concurrent.futures import FIRST_COMPLETED, wait  # noqa: PLC0415 - as in run

        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda candidate: waiting[candidate]):
            self._done += 1
            path, error = waiting.pop(future), future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield Outcome(path, error=error) if error else Outcome(path, future.result())
