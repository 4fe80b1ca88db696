"""An engine that several analyses share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from inspector.engines.batched import BatchedEngine
from inspector.engines.engine import BatchFunction, Engine, Job, Merge, Work
from inspector.engines.local import LocalEngine
from inspector.schemas import ROWS, batch_of
from tests.attributes import attributes


def echo(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            if spec == "bad":
                raise ValueError("a bad task")
            yield batch_of(ROWS, [{"message": spec, "operator_id": 1}])


def shout(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield batch_of(ROWS, [{"message": text.upper()} for text in texts(echo(batches))])


def texts(batches: Iterable[pa.RecordBatch]) -> list[Any]:
    return pa.Table.from_batches(batches, ROWS)["message"].to_pylist()


class Cluster(Engine):
    """A substitute for Spark that pickles functions and mixes all results into one batch."""

    def __init__(self) -> None:
        self.jobs: list[list[str]] = []
        reader: Any = object()
        self.reader = reader

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        self.jobs.append(attributes(job.work, "spec"))
        assert cloudpickle.dumps((job.function, job.merge))  # type: ignore[no-untyped-call]
        results: Iterable[pa.RecordBatch] = list(LocalEngine(1).run(replace(job, merge=None)))
        if job.merge is not None:
            results = list(job.merge.function([_mixed(results, job.schema)]))
        yield _mixed(results, job.schema)


def _mixed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Return all rows in one batch, the last one first."""
    rows = pa.Table.from_batches(batches, schema).to_pylist()
    return pa.RecordBatch.from_pylist(rows[::-1], schema)


def counting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    result = texts(batches)
    yield batch_of(ROWS, [{"message": f"{len(result)} of {min(result)[0]}"}])


def together(
    cluster: Cluster, users: Sequence[Callable[[BatchedEngine], list[str]]]
) -> list[list[str] | BaseException]:
    engine = BatchedEngine(cluster)

    def run_and_leave(user: Callable[[BatchedEngine], list[str]]) -> list[str]:
        try:
            return user(engine)
        finally:
            engine.leave()

    with ThreadPoolExecutor(len(users)) as pool:
        for _ in users:
            engine.join()
        futures = [pool.submit(run_and_leave, user) for user in users]
        return [f.exception(30) or f.result() for f in futures]


def mapping(
    *specs: str, function: BatchFunction = echo, merge: Merge | None = None
) -> Callable[[BatchedEngine], list[str]]:
    return lambda engine: sorted(
        texts(engine.run(Job(function, ROWS, [Work(spec) for spec in specs], merge)))
    )


def test_tasks_of_all_users_run_as_one_job() -> None:
    cluster = Cluster()
    result = together(cluster, [mapping("a1", "a2"), mapping("b1"), mapping()])
    assert result == [["a1", "a2"], ["b1"], []]
    (job,) = cluster.jobs
    assert sorted(job) == ["a1", "a2", "b1"]


def test_no_job_starts_while_users_join() -> None:
    cluster = Cluster()
    engine = BatchedEngine(cluster)

    def run_and_leave(spec: str) -> list[str]:
        try:
            return mapping(spec)(engine)
        finally:
            engine.leave()

    with ThreadPoolExecutor(2) as pool:
        with engine.hold_jobs():
            engine.join()
            first = pool.submit(run_and_leave, "a")
            # Without the hold, the first user would have run alone by now.
            assert not wait([first], 0.05).done
            engine.join()
            second = pool.submit(run_and_leave, "b")
        assert (first.result(30), second.result(30)) == (["a"], ["b"])
    assert [sorted(job) for job in cluster.jobs] == [["a", "b"]]


def test_release_jobs_starts_jobs_within_hold_jobs() -> None:
    cluster = Cluster()
    engine = BatchedEngine(cluster)
    with ThreadPoolExecutor(1) as pool, engine.hold_jobs():
        engine.join()
        first = pool.submit(lambda: mapping("a")(engine))
        with engine.release_jobs():
            assert first.result(30) == ["a"]
    assert cluster.jobs == [["a"]]


def test_user_joins_while_a_job_runs() -> None:
    started, end = threading.Event(), threading.Event()

    def slow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started.set()
        end.wait(60)
        yield from echo(batches)

    engine = BatchedEngine(LocalEngine(1))
    with ThreadPoolExecutor(1) as pool:
        engine.join()
        first = pool.submit(lambda: mapping("a", function=slow)(engine))
        started.wait(10)
        engine.join()  # a lock that the job holds would wait here for a minute
        assert not end.is_set()
        assert not first.done()
        end.set()
        assert first.result(30) == ["a"]


def test_common_task_of_two_users_runs_once() -> None:
    cluster = Cluster()
    assert together(cluster, [mapping("a", "b"), mapping("b", "c")]) == [["a", "b"], ["b", "c"]]
    assert sorted(cluster.jobs[0]) == ["a", "b", "c"]


def test_results_are_merged_per_user() -> None:
    merge = Merge(("message",), counting)
    users = [mapping("a1", "a2", merge=merge), mapping("b1", "b2"), mapping("c1", merge=merge)]
    assert together(Cluster(), users) == [["2 of a"], ["b1", "b2"], ["1 of c"]]


def test_batched_engine_does_not_wait_for_users_that_left() -> None:
    def twice(engine: BatchedEngine) -> list[str]:
        return mapping("a")(engine) + mapping("b")(engine)

    assert together(Cluster(), [twice, lambda _: [], mapping("c")]) == [["a", "b"], [], ["c"]]


def test_different_functions_run_as_separate_jobs() -> None:
    cluster = Cluster()
    assert together(cluster, [mapping("a"), mapping("b", function=shout)]) == [["a"], ["B"]]
    assert len(cluster.jobs) == 2


def test_failure_of_one_user_does_not_fail_others() -> None:
    first, second, third = together(Cluster(), [mapping("a"), mapping("bad", "b"), mapping("c")])
    assert (first, third) == (["a"], ["c"])
    assert isinstance(second, ValueError)


class Interrupted(Cluster):
    """Engine whose jobs are interrupted, as by Ctrl-C."""

    def run(self, _job: Job) -> Iterator[pa.RecordBatch]:
        raise KeyboardInterrupt


def test_interrupt_reaches_every_user() -> None:
    results = together(Interrupted(), [mapping("a"), mapping("b")])
    assert list(map(type, results)) == [KeyboardInterrupt, KeyboardInterrupt]


def test_batched_engine_uses_the_reader_of_its_engine() -> None:
    cluster = Cluster()
    assert BatchedEngine(cluster).reader is cluster.reader
    assert BatchedEngine(LocalEngine(1)).reader is None


@pytest.mark.parametrize("maximum", [1, 3])
def test_shared_local_engine_limits_concurrent_tasks(maximum: int) -> None:
    running: list[int] = []
    highest = 0
    lock, all_in = threading.Lock(), threading.Event()

    def slow(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nonlocal highest
        with lock:
            running.append(1)
            highest = max(highest, len(running))
            if len(running) == maximum:
                all_in.set()
        all_in.wait(10)
        with lock:
            running.pop()
        yield from echo(batches)

    engine = LocalEngine(maximum, shared=True)
    specs = [Work(f"{n:02}") for n in range(12)]
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(lambda: texts(engine.run(Job(slow, ROWS, specs)))) for _ in range(3)]
        assert [f.result(30) for f in futures] == [attributes(specs, "spec")] * 3
    assert highest == maximum
