"""The embedded engine: the tasks run in this process, a few partitions at the same time.

Threads are enough: the kernel, numpy and pyarrow release the GIL while they work. For small files
most is Python's own work, which one thread does; additional processes saved a seventh.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, ClassVar

from inspector.engines.engine import BatchFunction, Engine, Job, Work
from inspector.light_dataclasses import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pyarrow as pa


@dataclass
class LocalEngine(Engine):
    """Engine that runs tasks in threads of this process.

    Results are yielded in the order of the tasks.
    """

    # number of partitions read at the same time; None for the number of cores, or for one if all
    # tasks are mostly work of the Python interpreter, for which threads take turns
    workers: int | None = None
    shared: bool = False  # True if ``workers`` limits all runs of the engine together
    in_process: ClassVar[bool] = True  # True: threads of this process run the tasks

    def __post_init__(self) -> None:
        """Set ``cores`` to the largest number of tasks that run at the same time."""
        self.cores: int = max(1, self.workers or os.cpu_count() or 1)
        self._free = BoundedSemaphore(self.cores)

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Run the function of ``job`` on its tasks, and yield the results.

        They are in the order of the tasks. If the job has a merge, yield the merged results. Errors
        of the function are raised.
        """

        def alone(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            """Yield the results of tasks; at most ``cores`` tasks of all runs run together."""
            for batch in batches:
                with self._free:
                    result = list(job.function([batch]))
                yield from result

        results = self._results(alone if self.shared else job.function, job.work)
        yield from results if job.merge is None else job.merge.function(results)

    def _results(self, function: BatchFunction, work: Sequence[Work]) -> Iterator[pa.RecordBatch]:
        """Run ``function`` on each task of ``work``, and yield the results in order.

        The tasks run in the calling thread if there is one worker or one task, or if all tasks are
        mostly work of the Python interpreter and no number of workers is set. Otherwise up to
        ``cores`` threads run them.
        """
        is_serial = self.workers is None and all(item.in_python for item in work)
        tasks = list(_batches(item.spec for item in work))
        workers = 1 if is_serial else self.cores
        if workers == 1 or len(tasks) < 2:
            yield from function(tasks)
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for several tasks

        pool = ThreadPoolExecutor(workers, thread_name_prefix="inspector")
        waiting: list[Future[list[pa.RecordBatch]]] = []
        todo = iter(tasks)
        try:
            # At most 2 * workers tasks are submitted, so that results that wait are bounded too.
            waiting.extend(pool.submit(_run, function, task) for task in islice(todo, 2 * workers))
            while waiting:
                yield from waiting.pop(0).result()
                waiting.extend(pool.submit(_run, function, task) for task in islice(todo, 1))
        finally:
            # A user who interrupts the run, for example in a notebook, does not have to wait for
            # the partitions that are being read.
            pool.shutdown(wait=False, cancel_futures=True)


def stream_tasks(function: BatchFunction, specs: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Run tasks one after the other in this thread, and yield their results as they are made.

    ``specs`` are the texts of the tasks. No results are collected, so large outputs need only
    bounded memory.
    """
    for batch in _batches(specs):
        yield from function([batch])


def _batches(specs: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Yield each task of ``specs`` as a batch of one row, with its position as ``task_id``."""
    from inspector.schemas import task_batch  # noqa: PLC0415 - imports pyarrow: not for `info`

    for i, spec in enumerate(specs):
        yield task_batch(spec, i)


def _run(function: BatchFunction, task: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Return the list of results of ``function`` for the one task in the batch ``task``."""
    return list(function([task]))
