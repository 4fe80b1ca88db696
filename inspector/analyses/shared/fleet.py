"""Many checkpoints by one analysis: several at a time, each for itself.

What is wrong with one checkpoint, whatever it is, ends nothing but its own run. At most as many
reports exist at the same time as runs: what is kept of each is made where it was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.checkpoint.search import Found, is_pattern, search
from inspector.checkpoint.urls import absolute
from inspector.engines.engine import CHECKPOINTS, HADOOP, Measure
from inspector.engines.shared import SharedEngines, unwatched
from inspector.exceptions import EngineError, InspectorError

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of one checkpoint.

    Attributes:
        path: as its user spelled it, or as it was found.
        result: what was made of it; None if it failed.
        error: why it failed.
    """

    path: str
    result: T | None = None
    error: Exception | None = None


def find_all(paths: Iterable[str], options: Options, *, recursive: bool) -> Iterator[Found]:
    """The checkpoints that some paths mean, each once; one without a pattern means itself.

    Args:
        paths: of checkpoints, patterns, or folders.
        options: of the storage.
        recursive: all that lies in the folders.

    Raises:
        EngineError: a search by the file systems of Spark.
    """
    result: set[str] = set()
    for path in paths:
        for found in _meant(path, options, recursive=recursive):
            same = _place(found.path)
            if same not in result:
                result.add(same)
                yield found


def _place(path: str) -> str:
    """A path as one may spell it in several ways: ``a``, ``./a`` and ``a/``."""
    return absolute(path).rstrip("/")


def means_many(paths: Iterable[str], *, recursive: bool) -> bool:
    """Whether paths may mean any number of checkpoints other than one."""
    given = list(paths)
    return recursive or len(given) != 1 or is_pattern(given[0])


def _meant(path: str, options: Options, *, recursive: bool) -> Iterator[Found]:
    if not recursive and not is_pattern(path):
        yield Found(path)
        return
    if options.engine.io == HADOOP:
        raise EngineError(
            "--recursive and patterns are searched by fsspec, got --io hadoop: name each checkpoint"
        )
    try:
        yield from search(path, options.storage_options, recursive=recursive)
    except (InspectorError, OSError) as error:
        yield Found(path, error)


def run_all(
    candidates: Iterable[Found],
    options: Options,
    make: Callable[[Run], T],
    at_once: int | None = None,
) -> Iterator[Outcome[T]]:
    """Run an analysis on checkpoints, some at the same time; outcomes come as they are ready.

    Args:
        candidates: the checkpoints; an iterator is read while the first of them are.
        options: of all of them.
        make: what is to be kept of each.
        at_once: how many; by default as many as suit the engine.

    Raises:
        EngineError: an engine that is requested cannot be had.
    """
    engines = SharedEngines(options.engine, options.workers)
    quiet = replace(options, engine=unwatched(options.engine))
    fleet = _Fleet(engines, quiet, make, at_once or engines.at_once)
    with options.engine.watch(fleet.measure):
        yield from fleet.run(candidates)


class _Fleet(Generic[T]):
    """Runs under way."""

    def __init__(
        self, engines: SharedEngines, options: Options, make: Callable[[Run], T], at_once: int
    ) -> None:
        self._engines = engines
        self._options = options
        self._make = make
        self._at_once = at_once
        self._done = self._found = self._total = 0

    def measure(self) -> Measure:
        """How far they are; how many there will be is unknown as long as they are searched."""
        return Measure(self._done, self._total, CHECKPOINTS)

    def run(self, candidates: Iterable[Found]) -> Iterator[Outcome[T]]:
        pool = ThreadPoolExecutor(self._at_once, thread_name_prefix="checkpoint")
        waiting: dict[Future[T], str] = {}
        self._total = len(candidates) if isinstance(candidates, Sequence) else 0
        try:
            for candidate in candidates:
                self._found += 1
                if candidate.error is not None:
                    self._done += 1
                    yield Outcome(candidate.path, error=candidate.error)
                    continue
                waiting[self._submit(pool, candidate.path)] = candidate.path
                if len(waiting) >= self._at_once:
                    yield from self._next(waiting)
            self._total = self._found
            while waiting:
                yield from self._next(waiting)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, pool: ThreadPoolExecutor, path: str) -> Future[T]:
        batched = self._engines.batched
        if batched is not None:
            # Before its thread starts, so that a job waits for the tasks of all that are under way.
            batched.join()
        return pool.submit(self._one, path)

    def _one(self, path: str) -> T:
        batched = self._engines.batched
        try:
            return self._make(Run.start(path, self._options, self._engines))
        finally:
            if batched is not None:
                batched.leave()

    def _next(self, waiting: dict[Future[T], str]) -> Iterator[Outcome[T]]:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda each: waiting[each]):
            self._done += 1
            path, error = waiting.pop(future), future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error
            yield Outcome(path, error=error) if error else Outcome(path, future.result())
