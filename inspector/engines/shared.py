"""The engines that runs share, each made once: together they do what one alone would at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING

from inspector.engines.choose import (
    LOCAL,
    LOCAL_SPARK_BYTES,
    EngineOptions,
    choose,
    requested_engine,
)
from inspector.engines.engine import Engine, Job
from inspector.engines.local import LocalEngine

if TYPE_CHECKING:
    import pyarrow as pa

    from inspector.engines.batched import BatchedEngine


AT_ONCE_LOCAL = 4  # checkpoints read together in this process: one is listed, another decoded
AT_ONCE_SPARK = 64  # the same on Spark: the driver holds their facts, which are few


class SharedEngines:
    """Engines by one user's options, for one run or for several at the same time.

    In this process these together read ``workers`` partitions at a time. EngineError: as requested
    an engine cannot be had.
    """

    def __init__(self, options: EngineOptions, workers: int | None, *, shared: bool = True) -> None:
        self._options, self._workers, self._shared = options, workers, shared
        self._lock = Lock()
        self._local: Engine | None = None
        self._spark: Engine | None = None
        self.batched: BatchedEngine | None = None  # the requested one, if it makes one job of all
        engine = requested_engine(options, workers)
        # if the options and the environment decide it
        self.requested = None if engine is None else self._to_share(engine)

    @property
    def at_once(self) -> int:
        """How many runs at the same time suit the engine."""
        return AT_ONCE_LOCAL if self.batched is None else AT_ONCE_SPARK

    def choose(self, state_bytes: int) -> Engine:
        """The engine for a checkpoint, where none is requested for all."""
        if not self._shared:
            return choose(self._options, self._workers, state_bytes)
        with self._lock:
            if state_bytes >= LOCAL_SPARK_BYTES:
                if self._spark is None:
                    self._spark = choose(self._options, self._workers, state_bytes)
                return self._spark
            if self._local is None:
                if self._options.verbose:
                    self._options.notify(f"engine: {LOCAL} (no Spark session)")
                self._local = self._to_share(LocalEngine(self._workers))
            return self._local

    def _to_share(self, engine: Engine) -> Engine:
        if not self._shared:
            return engine
        if isinstance(engine, LocalEngine):
            return Limited(engine, max(1, self._workers or os.cpu_count() or 1))
        from inspector.engines.batched import BatchedEngine  # noqa: PLC0415 - for Spark alone

        self.batched = BatchedEngine(engine)
        return self.batched


def without_progress(options: EngineOptions) -> EngineOptions:
    """The same without progress: several runs at a time would draw over each other."""
    return replace(options, watch=EngineOptions().watch)


class Limited(Engine):
    """An engine of this process, of which all users together run so many tasks at a time."""

    in_process = True

    def __init__(self, engine: Engine, tasks: int) -> None:
        self._engine = engine
        self._free = BoundedSemaphore(tasks)
        self._tasks = tasks

    @property
    def cores(self) -> int:
        """Tasks that run at the same time."""
        return self._tasks

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """As :meth:`inspector.engines.engine.Engine.run`."""

        def one_by_one(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                with self._free:
                    result = list(job.function([batch]))
                yield from result

        return self._engine.run(replace(job, function=one_by_one))
