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

# smallest number of bytes of state files for which a Spark session on this machine is started, if
# neither options nor environment request an engine
LOCAL_SPARK_BYTES = 16 << 30
# default number of checkpoints that are processed at the same time by the engine in this process;
# several, so that one is listed while another is decoded
AT_ONCE_LOCAL = 4
# default number of checkpoints that are processed at the same time if Spark was requested; the
# driver holds only their facts, which need little memory
AT_ONCE_SPARK = 64

# values of the option ``--engine``: AUTO chooses an engine, LOCAL is the engine in this process,
# SPARK is the engine on Spark
AUTO, LOCAL, SPARK = "auto", "local", "spark"
NAMES = (AUTO, LOCAL, SPARK)  # all values of the option ``--engine``
IO = (
    FSSPEC,
    HADOOP,
)  # values of the option ``--io``, the way to read files; the first is the default

# environment variables that request the engine on Spark; each with the reason that is reported
_SPARK_VARIABLES = {
    "PYSPARK_GATEWAY_PORT": "this process was started by spark-submit",
    "SPARK_REMOTE": "SPARK_REMOTE names a Spark Connect server",
}


@dataclass(frozen=True)
class EngineOptions:
    """Options on where tasks run.

    ``tune_workers`` is True to make small tasks faster in Spark's Python workers: imported modules
    are excluded from garbage collection (``gc.freeze``), and bytes of the JVM are acknowledged
    without delay (``TCP_QUICKACK``). Spark reuses workers for other jobs, which are affected too.
    So the default, None, tunes them only in sessions that this process has started.
    """

    name: str = AUTO  # name of the engine: AUTO, LOCAL or SPARK
    # URL of a Spark master, or ``sc://`` URL of a Spark Connect server; None for the default
    master: str | None = None
    # confs of a new session; they may be secret, so they are never shown
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: Any = None  # the user's own Spark session, which is used as it is; None without
    # way to read files: ``fsspec``, or ``hadoop`` through Spark's file systems
    io: str = IO[0]
    # function that is called with one line of text for the user: the chosen engine and the reason,
    # or a note about Spark's workers
    notify: Callable[[str], None] = field(default=lambda _text: None, compare=False)
    # returns the context that is entered while tasks run; its argument is a function that returns
    # their progress
    watch: Watch = field(default=lambda _measure: nullcontext(), compare=False)
    # True to tune Spark's Python workers; None to tune them except in a user's session
    tune_workers: bool | None = None
    # True to report the choice of the engine in this process even if it is the expected choice
    verbose: bool = field(default=False, compare=False)
    # True to report that this process decodes files with the slow kernel in Python
    tells_kernel: bool = field(default=True, compare=False)

    @property
    def chooses_work(self) -> bool:
        """True if the options request Spark and leave the opening of files to fsspec.

        ``name``, ``master`` or ``conf`` request Spark. False for ``io`` ``hadoop``, and for a
        session of the user.
        """
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
    """Return an engine chosen by ``state_bytes``, the number of bytes of the state files, alone.

    Call it only if :func:`engine_by_options` returned None: it does not check which engine the
    options or the environment request. It returns the engine on Spark if there are at least
    LOCAL_SPARK_BYTES and Spark can be started. Otherwise it returns the engine in this process,
    which reads ``workers`` partitions at the same time (None: its default). It raises no
    EngineError.
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
    """Return the engine in this process, which reads ``workers`` partitions at the same time.

    The choice is reported with its ``reason``, unless it is ``expected`` and the options are not
    ``verbose``.
    """
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
    """Engines that several runs share; each is made once.

    In this process all runs together read as many partitions at the same time as one run would.

    Attributes:
        requested: the engine that options or environment request; None if they request none.
        batched: the requested engine, if it is on Spark and shared: it runs the tasks of all runs
            as one job. None otherwise.
    """

    def __init__(self, options: EngineOptions, workers: int | None, *, shared: bool = True) -> None:
        """Make the engine that the options or the environment request, if any.

        ``workers`` is the number of partitions to read at the same time in this process. With
        ``shared`` False, each engine is for one run. EngineError: the engine cannot be made.
        """
        self._options, self._workers, self._shared = options, workers, shared
        self._lock = Lock()  # guards ``_by_size``
        # engines by the size of checkpoints: True for at least LOCAL_SPARK_BYTES
        self._by_size: dict[bool, Engine] = {}
        self.batched: BatchedEngine | None = None
        self.requested = engine_by_options(options, workers)
        if shared and isinstance(self.requested, LocalEngine):
            self.requested = LocalEngine(workers, shared=True)
        elif shared and self.requested is not None:
            from inspector.engines.batched import BatchedEngine  # noqa: PLC0415 - for Spark alone

            self.requested = self.batched = BatchedEngine(self.requested)

    @property
    def at_once(self) -> int:
        """Default number of runs at the same time.

        It is AT_ONCE_SPARK if ``batched`` is set, and AT_ONCE_LOCAL otherwise.
        """
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
