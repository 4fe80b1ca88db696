"""Choice of the engine that runs the tasks, with the reason for the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

from inspector.engines.engine import FSSPEC, HADOOP, Engine, Watch
from inspector.engines.local import LocalEngine
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass, field
from inspector.quantities import bytes_text

if TYPE_CHECKING:
    from inspector.engines.batched import BatchedEngine

LOCAL_SPARK_BYTES = 16 << 30  # bytes of state files from which on a local Spark is started
# checkpoints that are read at once in this process: one is listed while another is decoded
AT_ONCE_LOCAL = 4
# checkpoints that are read at once on Spark: the driver holds their facts, which are few
AT_ONCE_SPARK = 64

AUTO, LOCAL, SPARK = "auto", "local", "spark"  # Names of engines; AUTO chooses one.
NAMES = (AUTO, LOCAL, SPARK)  # names that the user can give
IO = (FSSPEC, HADOOP)  # ways in which workers can read files

_SPARK_VARIABLES = {
    "PYSPARK_GATEWAY_PORT": "this process was started by spark-submit",
    "SPARK_REMOTE": "SPARK_REMOTE names a Spark Connect server",
}
"""Environment variables that show that a Spark exists, and the reason in words."""


@dataclass(frozen=True)
class EngineOptions:
    """Options on where tasks run.

    ``tune_workers``: take imported modules out of the garbage collections of Spark's Python workers
    (``gc.freeze``), and acknowledge what the JVM sends at once (``TCP_QUICKACK``): small tasks take
    less time. As Spark reuses workers for other jobs, None means in no user's session.
    """

    name: str = AUTO  # AUTO, LOCAL or SPARK
    # any master that Spark knows, or ``sc://`` of Spark Connect; None for the default
    master: str | None = None
    # confs of a new session; they may be secret, so they are never shown
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: Any = None  # the user's own session, which is used as it is
    io: str = IO[0]  # how workers read: ``fsspec``, or ``hadoop`` through Spark's file systems
    # called with a line: the choice and its reason, or a note about Spark's workers
    notify: Callable[[str], None] = field(default=lambda _text: None, compare=False)
    # context that is entered while tasks run, with a function that returns their progress
    watch: Watch = field(default=lambda _measure: nullcontext(), compare=False)
    # tune Spark's Python workers (see above); None to tune them except in a user's session
    tune_workers: bool | None = None
    verbose: bool = field(default=False, compare=False)  # report the choice of this process too
    tells_kernel: bool = field(default=True, compare=False)  # report a slow kernel

    @property
    def chooses_work(self) -> bool:
        """True if the options only decide where tasks run, and nothing about opening files."""
        if self.io == HADOOP or self.session is not None:
            return False
        return self.name == SPARK or self.master is not None or bool(self.conf)


def engine_by_options(options: EngineOptions, workers: int | None) -> Engine | None:
    """Return the engine that the options or the environment request; None if they request none.

    The options come first. ``workers``, the number of partitions to read at the same time, requests
    the engine in this process, unless an option requests Spark. Then spark-submit, ``SPARK_REMOTE``
    or an active session requests Spark.

    EngineError: the options contradict each other, ``workers`` is given for Spark, PySpark or a
    module on a worker is missing, or no session can be started.
    """
    # EngineError also if a session that is needed cannot be had.
    spark_options: dict[str, object] = {"--master": options.master, "--conf": options.conf}
    spark_options["--io hadoop"] = options.io == HADOOP
    needs_spark = [option for option, present in spark_options.items() if present]
    if options.name == LOCAL:
        if needs_spark:
            raise EngineError(f"{needs_spark[0]} is for Spark, got --engine local")
        if options.tune_workers is not None:
            raise EngineError("tune_workers is for Spark's Python workers, got engine local")
        return LocalEngine(workers)
    if options.name == SPARK or options.session is not None:
        return _spark(options, workers)
    if needs_spark:
        return _spark(options, workers, f"{needs_spark[0]} is given")
    if workers is not None:
        return _local(options, workers, "--workers is given", expected=True)
    reason = next((_SPARK_VARIABLES[n] for n in _SPARK_VARIABLES if os.environ.get(n)), None)
    sql = sys.modules.get("pyspark.sql")
    if reason is None and sql is not None and sql.SparkSession.getActiveSession() is not None:
        reason = "a session is active"
    return None if reason is None else _spark(options, workers, reason)


def choose(options: EngineOptions, workers: int | None, state_bytes: int) -> Engine:
    """Return an engine chosen by the bytes of the state files alone.

    Call it only if :func:`engine_by_options` returned None: it does not check which engine the
    options or the environment request. It returns the engine on Spark if there are at least
    LOCAL_SPARK_BYTES and Spark can be started. Otherwise it returns the engine in this process.
    """
    size, expected = f"{bytes_text(state_bytes)} of state files", state_bytes < LOCAL_SPARK_BYTES
    if expected:
        reason = "no Spark session"
    elif find_spec("pyspark") is None:
        reason = "PySpark is not installed"
    else:
        try:
            return _spark(options, workers, size)
        except EngineError as error:
            reason = f"Spark cannot be started: {error}"
    return _local(options, workers, f"{reason}; {size}", expected=expected)


def _local(options: EngineOptions, workers: int | None, reason: str, *, expected: bool) -> Engine:
    """Return the engine of this process; the choice is reported unless ``expected``."""
    if options.verbose or not expected:
        options.notify(f"engine: {LOCAL} ({reason})")
    return LocalEngine(workers)


def _spark(options: EngineOptions, workers: int | None, reason: str | None = None) -> Engine:
    """Return the engine on Spark, and report the ``reason``, if given, and notes on the session.

    EngineError: ``workers`` is given, PySpark or a module on a worker is missing, or no session can
    be started.
    """
    if workers is not None:
        raise EngineError(
            "--workers is for the engine in this process; on Spark the executors' cores decide "
            "(--master local[4], --conf spark.executor.cores=4)"
        )
    if find_spec("pyspark") is None:
        raise EngineError(
            "PySpark is not installed, install it with: pip install 'spark-state-inspector[spark]'"
        )
    from inspector.engines.spark import SparkEngine  # noqa: PLC0415 - takes a second to import

    key = options.session, options.master, options.conf
    engine = SparkEngine.of(*key, io=options.io, tune_workers=options.tune_workers)
    reasons = [] if reason is None else [f"{SPARK} ({reason})"]
    for note in (*reasons, *engine.notes):
        options.notify(f"engine: {note}")
    return engine


class SharedEngines:
    """Engines that several runs share, each made once. EngineError: one cannot be made.

    Attributes:
        requested: the engine that options or environment decide on; None if they leave it open.
        batched: the same, if it runs the tasks of all runs as one job; else None.
    """

    # In this process all runs together read as many partitions at a time as one run alone would.

    def __init__(self, options: EngineOptions, workers: int | None, *, shared: bool = True) -> None:
        self._options, self._workers, self._shared = options, workers, shared
        self._lock = Lock()
        self._by_size: dict[bool, Engine] = {}  # whether for large checkpoints
        self.batched: BatchedEngine | None = None  # the requested one, if it makes one job of all
        self.requested = engine_by_options(options, workers)  # if options or environment decide it
        if shared and isinstance(self.requested, LocalEngine):
            self.requested = LocalEngine(workers, shared=True)
        elif shared and self.requested is not None:
            from inspector.engines.batched import BatchedEngine  # noqa: PLC0415 - for Spark alone

            self.requested = self.batched = BatchedEngine(self.requested)

    @property
    def at_once(self) -> int:
        """Number of runs at the same time that suits the engine."""
        return AT_ONCE_LOCAL if self.batched is None else AT_ONCE_SPARK

    def choose(self, state_bytes: int) -> Engine:
        """Return the engine that suits the size of a checkpoint, ``state_bytes`` of state files.

        Call it only if ``requested`` is None, because it ignores that engine. It returns the engine
        on Spark for at least LOCAL_SPARK_BYTES if Spark can be started. Otherwise it returns the
        engine in this process. Engines that several runs share are made once.
        """
        if not self._shared:
            return choose(self._options, self._workers, state_bytes)
        large = state_bytes >= LOCAL_SPARK_BYTES
        with self._lock:
            if large not in self._by_size and large:
                self._by_size[large] = choose(self._options, self._workers, state_bytes)
            elif large not in self._by_size:
                if self._options.verbose:
                    self._options.notify(f"engine: {LOCAL} (no Spark session)")
                self._by_size[large] = LocalEngine(self._workers, shared=True)
            return self._by_size[large]
