"""The engine in this process, which maps a batch function over tasks in their order."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from inspector.engines.engine import BatchFunction, Job, Work
from inspector.engines.local import LocalEngine, stream_tasks
from inspector.schemas import ROWS, TASKS, batch_of


def echo(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield two batches with the spec of each task."""
    for batch in batches:
        assert batch.schema.equals(TASKS)
        (spec,) = batch.column("spec").to_pylist()
        yield batch_of(ROWS, [{"message": spec}])
        yield batch_of(ROWS, [{"message": spec}])


def mapped(
    function: BatchFunction, specs: list[str], workers: int | None
) -> Iterator[pa.RecordBatch]:
    return LocalEngine(workers).run(Job(function, ROWS, list(map(Work, specs))))


def texts(batches: Iterable[pa.RecordBatch]) -> list[Any]:
    return pa.Table.from_batches(batches, ROWS)["message"].to_pylist()


def note(started: list[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Note the spec of each task when it starts."""
    for batch in batches:
        started.append(batch.column("spec")[0].as_py())
        yield batch


@pytest.mark.parametrize("workers", [None, 0, 1, 2, 7, 50])
@pytest.mark.parametrize(
    ("specs", "expected"),
    [("", ""), ("a", "aa"), ("ba", "bbaa"), ("zyxwvutsrq", "zzyyxxwwvvuuttssrrqq")],
)
def test_results_are_in_task_order(workers: int | None, specs: str, expected: str) -> None:
    assert "".join(texts(mapped(echo, list(specs), workers))) == expected
    assert "".join(texts(stream_tasks(echo, list(specs)))) == expected


@pytest.mark.parametrize("workers", [None, 2])
def test_python_bound_tasks_start_no_threads(workers: int | None) -> None:
    threads: set[str] = set()

    def noting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        threads.add(threading.current_thread().name)
        return echo(batches)

    work = [Work(text, in_python=True) for text in "abcd"]
    assert texts(LocalEngine(workers).run(Job(noting, ROWS, work))) == list("aabbccdd")
    here = {threading.current_thread().name}
    assert (threads == here) is (workers is None), "requested threads are started"
    threads.clear()
    list(LocalEngine(None).run(Job(noting, ROWS, [*work, Work("large")])))
    assert threads.isdisjoint(here) is (LocalEngine(None).cores > 1)


def test_tasks_have_consecutive_ids() -> None:
    def number(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch_of(ROWS, [{"message": f"task {batch.column('task_id')[0]}"}])

    expected = ["task 0", "task 1", "task 2"]
    assert texts(mapped(number, ["a", "b", "c"], 2)) == expected
    assert texts(stream_tasks(number, ["a", "b", "c"])) == expected


def test_tasks_run_concurrently() -> None:
    meet = threading.Barrier(3, timeout=300)

    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        meet.wait()
        yield from echo(batches)

    assert len(texts(mapped(wait, ["a", "b", "c"], 3))) == 6


def test_number_of_untaken_results_is_limited() -> None:
    started: list[str] = []

    result = mapped(partial(note, started), ["a"] * 100, 2)
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
    result = stream_tasks(partial(note, started), ["a", "b"])
    next(result)
    assert started == ["a"]
