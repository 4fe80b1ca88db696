"""A checkpoint whose state is read on the engine, and read again if a query removes its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import pyarrow as pa

from inspector import exceptions
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.key_ranges import bound_ranges, split
from inspector.analyses.shared.opening import Opened, fold_problems
from inspector.analyses.shared.second_reads import Read, read_observations
from inspector.checkpoint.storage import READ
from inspector.discovery.plan import plan
from inspector.discovery.tasks import (
    Request,
    Task,
)
from inspector.engines.engine import (
    BYTES,
    BatchFunction,
    Exchange,
    Exchanged,
    Job,
    Measure,
    Merge,
    ShufflingEngine,
    Work,
)
from inspector.engines.local import stream_tasks
from inspector.facts.registry import facts_schema
from inspector.kernel.loader import PYTHON, kernel_name, slow_kernel_text
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.merge.combine import HERE, KEYS, MANY, combine, combine_here
from inspector.model import Problem
from inspector.passes.worker import files_ahead, observe_tasks, run_tasks
from inspector.providers.task_files import upcoming

BatchT = TypeVar("BatchT")  # results of tasks: batches, alone or with their origin


class Run(Opened):
    """An opened checkpoint whose state is read, for one analysis."""

    def facts(self, request: Request = Request()) -> Facts:  # noqa: B008 - frozen
        """Return the facts in ``request``, of all readable versions, merged over all tasks."""
        read = partial(self._fact_batches, partitions=request.partitions)
        return self.facts_of(lambda: self.tasks(request), read)

    def facts_of(self, tasks_of: Callable[[], Iterable[Task]], read: Read) -> Facts:
        """Return the merged facts that ``read`` gives for the tasks of ``tasks_of``.

        Large partitions are split into key ranges. Both functions are called again if files were
        removed meanwhile.
        """
        return Facts(
            read_observations(self, lambda: split(tasks_of(), self.engine, self.options), read)
        )

    def tasks(self, request: Request) -> list[Task]:
        """Return a task for each partition of each operator, which yields the requested facts."""
        request = replace(request, timeout_kind=self.options.timeout_kind)
        return plan(self.checkpoint, self.version, request)

    def _fact_batches(self, tasks: Sequence[Task], *, partitions: bool) -> Iterator[pa.RecordBatch]:
        """Yield the batches with the facts of tasks, read on the engine.

        If the tasks have many files, facts of partitions are merged on the engine, unless
        ``partitions`` is True.
        """
        tasks = bound_ranges(tasks, self.map)
        files = sum(len(store.files) for task in tasks for store in task.stores)
        here = self.engine.in_process
        few = partitions or files <= MANY * (HERE if here else 1)
        function, join = (observe_tasks, combine_here) if here else (run_tasks, combine)
        merge = None if few else Merge(KEYS, partial(join, self.version))
        with upcoming(self.checkpoint.storage, files_ahead(tasks) if here else ()):
            yield from self.map(function, tasks, merge)

    def map(
        self, function: BatchFunction, tasks: Iterable[Task], merge: Merge | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Run ``function`` over tasks on the engine of the run, and yield its fact batches.

        ``function`` reads tasks, such as :func:`inspector.passes.worker.run_tasks`. ``merge`` and
        errors are those of :meth:`map_work`.
        """
        here = self.engine.in_process
        return self.map_work(function, [work_of(task, here=here) for task in tasks], merge)

    def map_work(
        self, function: BatchFunction, work: Sequence[Work], merge: Merge | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Run ``function`` over ``work`` on the engine of the run, and yield its fact batches.

        :meth:`map` makes the work items from tasks; other items may have specs of any kind, of
        which ``function`` gets batches. ``merge`` reduces the number of results by merging them;
        None yields them as they are. Shows the progress. Raises NotEnoughMemoryError in place of
        MemoryError.
        """
        batches = self.engine.run(Job(function, facts_schema(), work, merge))
        read = _reading(sum(task.weight for task in work))
        return self._watch(batches, lambda: self.engine.measure() or read())

    def exchange(self, engine: ShufflingEngine, job: Exchange) -> Iterator[Exchanged]:
        """Run the tasks of ``job``, of which some send data to others, and yield all results.

        Shows the progress of the senders. Raises NotEnoughMemoryError in place of MemoryError.
        """
        read = _reading(sum(task.weight for task in job.senders))
        return self._watch(engine.exchange(job), lambda: engine.measure() or read())

    def stream(
        self, function: BatchFunction, specs: Sequence[str], file_bytes: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches that ``function`` makes of each spec, one after the other, here.

        It runs in this process, so ``function`` must fetch files that only Spark can read
        (:func:`.stores.looking_by`). ``file_bytes`` are those of the files, for the progress; 0 if
        unknown. Raises NotEnoughMemoryError in place of MemoryError.
        """
        return self._watch(stream_tasks(function, specs), _reading(file_bytes))

    def _watch(self, batches: Iterable[BatchT], measure: Callable[[], Measure]) -> Iterator[BatchT]:
        """Yield the batches, and show the progress that ``measure`` returns.

        Notifies the user if files are decoded by the slow kernel, the decoder in Python. Raises
        NotEnoughMemoryError in place of MemoryError.
        """
        engine = self.options.engine
        if engine.tells_kernel and measure().unit == BYTES and kernel_name() == PYTHON:
            engine.notify(f"engine: {slow_kernel_text()}")
        with engine.watch(measure):
            try:
                yield from batches
            except MemoryError:
                so_far = measure()
                total = f" of {so_far.total:,}" if so_far.total else ""
                raise exceptions.NotEnoughMemoryError(
                    f"{exceptions.OUT_OF_MEMORY}. Of this checkpoint {so_far.done:,}{total} "
                    f"{so_far.unit} had been read, and nothing was reported of it",
                    self.checkpoint.root,
                ) from None

    def problems(self, facts: Facts) -> tuple[Problem, ...]:
        """Return the problems of the listing and of ``facts``, without repetitions."""
        return fold_problems((*self.listed, *facts.problems))

    def judge(self, facts: Facts) -> Judged:
        """Return the subject of a report: the run's version with ``facts`` and all problems."""
        problems = list(self.problems(facts))
        return Judged(self.checkpoint, self.version, problems, self.options, facts=facts)


def work_of(task: Task, *, here: bool = False) -> Work:
    """Return a task as work for an engine.

    ``here`` is True if the engine runs it in this process. The work then has the task itself, and a
    short name instead of its JSON.
    """
    spec, kept = task.spec(here=here), task if here else None
    return Work(spec, task.file_bytes, None, task.has_small_files, task.file_count, kept)


def _reading(file_bytes: int) -> Callable[[], Measure]:
    """Return a function that returns the progress: bytes read from now on, out of ``file_bytes``.

    Bytes that other runs of this process read count, too.
    """
    start_bytes = READ.bytes
    return lambda: Measure(READ.bytes - start_bytes, file_bytes, BYTES)
