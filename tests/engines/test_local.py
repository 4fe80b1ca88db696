"""The engine in this process: a batch function mapped over tasks, in their order."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest

from inspector.engines.engine import BatchFunction, Job, Work
from inspector.engines.local import LocalEngine, stream_tasks
from inspector.schemas import ROWS, TASKS, batch_of


def echo(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each task's text twice, in two batches."""
    for batch in batches:
        assert batch.schema.equals(TASKS)
        for spec in batch.column("spec").to_pylist():
            for _ in range(2):
                yield batch_of(ROWS, [{"message": spec}])


def mapped(
    function: BatchFunction, specs: list[str], workers: int | None
) -> Iterator[pa.RecordBatch]:
    return LocalEngine(workers).run(Job(function, ROWS, [Work(spec) for spec in specs]))


def texts(batches: Iterable[pa.RecordBatch]) -> list[str]:
    return [str(text) for batch in batches for text in batch.column("message").to_pylist()]


@pytest.mark.parametrize("workers", [None, 0, 1, 2, 7, 50])
@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_results_are_in_task_order(workers: int | None, count: int) -> None:
    specs = [f"task {number}" for number in range(count)]
    expected = [spec for spec in specs for _ in range(2)]
    assert texts(mapped(echo, specs, workers)) == expected
    assert texts(stream_tasks(echo, specs)) == expected


@pytest.mark.parametrize("workers", [None, 2])
def test_python_bound_tasks_start_no_threads(workers: int | None) -> None:
    threads: set[str] = set()

    def noting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        threads.add(threading.current_thread().name)
        return echo(batches)

    work = [Work(text, in_python=True) for text in "abcd"]
    assert texts(LocalEngine(workers).run(Job(noting, ROWS, work))) == list("aabbccdd")
    here = {threading.current_thread().name}
    assert (threads == here) is (workers is None), "who asks for threads gets them"
    threads.clear()
    list(LocalEngine(None).run(Job(noting, ROWS, [*work, Work("large")])))
    assert threads.isdisjoint(here) is (LocalEngine(None).cores > 1)


def test_tasks_have_consecutive_ids() -> None:
    def number(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column("task_id").to_pylist()
            yield batch_of(ROWS, [{"offset": number} for number in numbers])

    for item in (mapped(number, ["a", "b", "c"], 2), stream_tasks(number, ["a", "b", "c"])):
        assert [n for batch in item for n in batch.column("offset").to_pylist()] == [0, 1, 2]


def test_tasks_run_concurrently() -> None:
    meet = threading.Barrier(3, timeout=300)

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        meet.wait()
        yield from echo(batches)

    assert len(texts(mapped(wait, ["a", "b", "c"], 3))) == 6


def test_number_of_untaken_results_is_limited() -> None:
    started: list[str] = []

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            started.append(batch.column("spec")[0].as_py())
            yield batch

    result = mapped(count, [str(number) for number in range(100)], 2)
    next(result)
    result.close()  # type: ignore[attr-defined]
    assert len(started) <= 5


@pytest.mark.parametrize("workers", [1, 3])
def test_exception_of_a_task_reaches_the_caller(workers: int) -> None:
    def fail(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.column("spec").to_pylist() == ["bad"]:
                raise ZeroDivisionError("a fault")
            yield batch_of(ROWS, [{"message": "good"}])

    result = mapped(fail, ["good", "bad", "good"], workers)
    assert next(result).num_rows == 1
    with pytest.raises(ZeroDivisionError, match="a fault"):
        list(result)


def test_stream_tasks_is_lazy() -> None:
    started: list[str] = []

    def note(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            started.append(batch.column("spec")[0].as_py())
            yield batch

    result = stream_tasks(note, ["a", "b"])
    next(result)
    assert started == ["a"]
