"""The embedded engine: the tasks run in this process, a few partitions side by side.

Threads are enough: the kernel, numpy and pyarrow release the GIL while they work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

import pyarrow as pa

from inspector.schemas import TASKS, batch_of

BatchFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""The form of ``mapInArrow``'s argument."""


def map_tasks(
    function: BatchFunction, specs: Sequence[str], workers: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Map a batch function over tasks; their results come in the order of the tasks.

    Args:
        function: such as :func:`inspector.pipeline.run_tasks`.
        specs: tasks as JSON.
        workers: partitions read at the same time; the number of cores if not given. Memory grows
            with it: each holds the keys of one partition.

    Raises:
        Exception: whatever the function raises; what cannot be read is a row, not an exception.
    """
    tasks = [batch_of(TASKS, [{"task_id": i, "spec": spec}]) for i, spec in enumerate(specs)]
    workers = max(1, workers or os.cpu_count() or 1)
    if workers == 1 or len(tasks) < 2:
        yield from function(tasks)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="inspector") as pool:
        waiting: list[Future[list[pa.RecordBatch]]] = []
        todo = iter(tasks)
        # A window: results that nobody has taken yet are bounded too.
        waiting.extend(pool.submit(_run, function, task) for task in islice(todo, 2 * workers))
        while waiting:
            yield from waiting.pop(0).result()
            waiting.extend(pool.submit(_run, function, task) for task in islice(todo, 1))


def stream_tasks(function: BatchFunction, specs: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The same one task after the other, batch by batch: for large outputs in bounded memory."""
    for i, spec in enumerate(specs):
        yield from function([batch_of(TASKS, [{"task_id": i, "spec": spec}])])


def _run(function: BatchFunction, task: pa.RecordBatch) -> list[pa.RecordBatch]:
    return list(function([task]))
