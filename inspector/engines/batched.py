"""An engine that runs the tasks of several users as one job, to save the cost of many small jobs.

A Spark session runs the tasks of one job faster than many small jobs, and no core idles while the
last partition of one checkpoint is read. (24 checkpoints of the fixtures, ``local[2]``: 24 to 30 s
as one job, 50 to 68 s with a job each, however many of these ran at the same time.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from threading import Condition

import pyarrow as pa

from inspector.engines.engine import BatchFunction, Engine, Job, Merge, Work
from inspector.light_dataclasses import dataclass, field
from inspector.schemas import array_of, parts_of
from inspector.sums import group_by

# name of the first column of results in a shared job: number of the group of requests that have the
# task of the result
OWNERS = "owners"


@dataclass
class _Request:
    """Job of one user that waits for its results."""

    job: Job  # the user's job
    # batches of results; empty before the job has run, and if it failed
    results: list[pa.RecordBatch] = field(default_factory=list)
    error: BaseException | None = None  # error to raise in the user's thread; None without one
    done: bool = False  # True when ``results`` or ``error`` is final


class BatchedEngine(Engine):
    """An engine whose users' tasks become one job as soon as all users wait for results.

    A user is a thread that runs jobs. It is added with :meth:`join` before it starts, and removed
    with :meth:`leave` when it ends. Jobs with different functions are run one after the other. If a
    common job fails, the job of each user is run on its own, so that no user gets an error of
    another user's checkpoint.
    """

    def __init__(self, engine: Engine) -> None:
        """Wrap ``engine``, which runs the common jobs, with no users yet."""
        self.engine = engine
        self.reader, self.cores = engine.reader, engine.cores
        self._changed = Condition()  # guards the two fields below
        self._users = 0  # number of users that were added and not removed
        self._waiting: list[_Request] = []  # requests that no job has taken yet

    def join(self) -> None:
        """Add one user. No job starts until this user waits for results or calls :meth:`leave`."""
        with self._changed:
            self._users += 1

    def leave(self) -> None:
        """Remove one user that :meth:`join` added. A job starts if all others wait for results."""
        with self._changed:
            self._users -= 1
            self._changed.notify_all()

    @contextmanager
    def hold_jobs(self) -> Iterator[None]:
        """Return a context inside which no job starts.

        Users that are added inside the block share one job, which starts after it.
        """
        self.join()
        try:
            yield
        finally:
            self.leave()

    @contextmanager
    def release_jobs(self) -> Iterator[None]:
        """Return a context inside which jobs can start, for use inside :meth:`hold_jobs`."""
        self.leave()
        try:
            yield
        finally:
            self.join()

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Run ``job`` together with the jobs of the other users, and return an iterator of results.

        Waits until all users wait for results, and then until the common job has ended. Raises the
        error of ``job``, such as EngineError; errors of other users' jobs are not raised. An
        interrupt is raised for all users whose jobs ran together.
        """
        request = _Request(job)
        with self._changed:
            self._waiting.append(request)
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: request.done or (bool(self._waiting) and len(self._waiting) >= self._users)
            )
            # The waiting requests, if this thread is to run them; empty if another thread did.
            requests, self._waiting = ([], self._waiting) if request.done else (self._waiting, [])
        if requests:
            try:
                # The lock is free, but no second job can start: these users wait for this one.
                for alike in group_by(requests, lambda request: request.job.function).values():
                    self._run_alike(alike)
            except BaseException as error:  # an interrupt of this thread, which ends the others too
                for item in requests:
                    item.error = item.error or error
                raise
            finally:
                with self._changed:
                    for item in requests:
                        item.done = True
                    self._changed.notify_all()
        if request.error is not None:
            raise request.error
        return iter(request.results)

    def _run_alike(self, requests: Sequence[_Request]) -> None:
        """Run the jobs of ``requests``, which have the same function, as one job.

        If that job fails, run each job on its own. Each request then has its results or its error.
        """
        try:
            run_as_one(self.engine, requests)
        except Exception:  # noqa: BLE001 - its user gets it when the user's job runs alone
            for request in requests:
                self._run_alone(request)

    def _run_alone(self, request: _Request) -> None:
        """Run the job of ``request`` on its own, and store its results or its exception there.

        ``done`` stays unchanged; :meth:`run` sets it. An interrupt is raised and not stored.
        """
        try:
            request.results[:] = self.engine.run(request.job)
        except Exception as error:  # noqa: BLE001 - raised in the thread it belongs to
            request.results.clear()
            request.error = error


def run_as_one(engine: Engine, requests: Sequence[_Request]) -> None:
    """Run the jobs of ``requests`` as one job on ``engine``, and add the results to each request.

    All jobs have the same function. A task that several requests have runs once, and each of these
    requests gets its results. EngineError: the engine fails.
    """
    owners: dict[str, list[int]] = {}
    work: dict[str, Work] = {}
    for number, request in enumerate(requests):
        for item in request.job.work:
            owners.setdefault(item.spec, []).append(number)
            work[item.spec] = item
    groups = list(dict.fromkeys(map(tuple, owners.values())))
    number_of = {group: number for number, group in enumerate(groups)}
    first = requests[0].job
    numbers_by_digest = {digest(spec): number_of[tuple(group)] for spec, group in owners.items()}
    tagged = tagging(first.function, numbers_by_digest)
    schema = pa.schema([pa.field(OWNERS, pa.int32()), *first.schema])
    merges = [requests[group[0]].job.merge for group in groups]
    for batch in engine.run(Job(tagged, schema, list(work.values()), merging(merges))):
        for number, part in by_owners(batch):
            for owner in groups[number]:
                requests[owner].results.append(part)


def digest(spec: str) -> bytes:
    """Return a 16-byte hash of a task's spec.

    A worker looks up the number of the task's group by this hash. The function that is sent to
    workers holds these hashes instead of the longer specs.
    """
    return blake2b(spec.encode(), digest_size=16).digest()


def tagging(function: BatchFunction, owners: dict[bytes, int]) -> BatchFunction:
    """Return ``function`` with :data:`OWNERS` as first column of its results.

    ``owners`` has the number of each task's group of requests by the :func:`digest` of its spec.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of each task with the number of the task's group."""
        for batch in batches:
            for row, spec in enumerate(batch.column("spec").to_pylist()):
                number = owners[digest(str(spec))]
                for result in function([batch.slice(row, 1)]):
                    yield _tag(result, number)

    return run


def merging(merges: Sequence[Merge | None]) -> Merge | None:
    """Return one merge for the tagged results of all groups; None if no group has a merge.

    ``merges`` has the merge of each group by its number. Batches have the number of the group in
    the column :data:`OWNERS`, before and after the merge. Results of groups without a merge stay
    unchanged. The keys are OWNERS and the keys of the first merge, which all merges must share.
    """
    keys = next((merge.keys for merge in merges if merge is not None), None)
    if keys is None:
        return None

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the merged results of each group."""
        parts_by_number: dict[int, list[pa.RecordBatch]] = {}
        for batch in batches:
            for number, part in by_owners(batch):
                parts_by_number.setdefault(number, []).append(part)
        for number, parts in parts_by_number.items():
            merge = merges[number]
            for result in parts if merge is None else merge.function(parts):
                yield _tag(result, number)

    return Merge((OWNERS, *keys), run)


def by_owners(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Split ``batch`` by its column :data:`OWNERS`, which must be the first.

    Yield (number of the group, batch of its rows without this column) for each group.
    """
    for (number,), part in parts_of(batch, (OWNERS,)):
        yield number, part.select(part.schema.names[1:])


def _tag(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """Return ``batch`` with ``number``, the number of its group, in a first column OWNERS."""
    column = array_of([number] * batch.num_rows, pa.int32())
    schema = pa.schema([pa.field(OWNERS, pa.int32()), *batch.schema])
    return pa.RecordBatch.from_arrays([column, *batch.columns], schema=schema)
