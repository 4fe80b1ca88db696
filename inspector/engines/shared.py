"""The engines of runs that happen at the same time, each made once."""

from __future__ import annotations

import os
from dataclasses import replace
from threading import Lock

from inspector.engines.choose import (
    LOCAL,
    LOCAL_SPARK_BYTES,
    EngineOptions,
    choose,
    requested_engine,
)
from inspector.engines.engine import Engine
from inspector.engines.local import LocalEngine
from inspector.engines.together import Limited, Together

AT_ONCE_LOCAL = 4
"""Checkpoints read at the same time in this process: while one is listed, another is decoded."""

AT_ONCE_SPARK = 64
"""The same on Spark, where their tasks are one job: the driver holds their facts, which are few."""


class SharedEngines:
    """Engines by one user's options, for one run or for several at the same time.

    Args:
        options: of the engines.
        workers: partitions read at the same time in this process, by all runs together.
        shared: whether several runs use them.

    Raises:
        EngineError: an engine that is requested cannot be had.

    Attributes:
        requested: the engine, if the options and the environment decide it.
    """

    def __init__(self, options: EngineOptions, workers: int | None, *, shared: bool = True) -> None:
        self._options = options
        self._workers = workers
        self._shared = shared
        self._lock = Lock()
        self._local: Engine | None = None
        self._spark: Engine | None = None
        found = requested_engine(options, workers)
        self.requested = None if found is None else self._to_share(found)

    @property
    def at_once(self) -> int:
        """How many runs at the same time suit the engine."""
        return AT_ONCE_SPARK if self.together is not None else AT_ONCE_LOCAL

    @property
    def together(self) -> Together | None:
        """What makes one job of the tasks of all runs, where it is requested for all of them."""
        return self.requested if isinstance(self.requested, Together) else None

    def choose(self, state_bytes: int) -> Engine:
        """The engine for a checkpoint, where none is requested for all.

        Args:
            state_bytes: of its state files.
        """
        if not self._shared:
            return choose(self._options, self._workers, state_bytes)
        with self._lock:
            if state_bytes >= LOCAL_SPARK_BYTES:
                if self._spark is None:
                    self._spark = choose(self._options, self._workers, state_bytes)
                return self._spark
            if self._local is None:
                self._options.notify(f"engine: {LOCAL} (no Spark is given)")
                self._local = self._to_share(LocalEngine(self._workers))
            return self._local

    def _to_share(self, engine: Engine) -> Engine:
        if not self._shared:
            return engine
        if isinstance(engine, LocalEngine):
            return Limited(engine, max(1, self._workers or os.cpu_count() or 1))
        return Together(engine)


def unwatched(options: EngineOptions) -> EngineOptions:
    """The same without progress: several runs at a time would draw over each other."""
    return replace(options, watch=EngineOptions().watch)
