"""Which engine runs the tasks, and why."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

from inspector.engines.engine import FSSPEC, HADOOP, Engine, Watch
from inspector.engines.local import LocalEngine
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass, field
from inspector.quantities import bytes_text

LOCAL_SPARK_BYTES = 16 << 30  # of state files, above which a local Spark spreads them

AUTO, LOCAL, SPARK = "auto", "local", "spark"
NAMES = (AUTO, LOCAL, SPARK)
IO = (FSSPEC, HADOOP)

_SPARK_VARIABLES = {
    "PYSPARK_GATEWAY_PORT": "this process was started by spark-submit",
    "SPARK_REMOTE": "SPARK_REMOTE names a Spark Connect server",
}
"""Variables of the environment that mean a Spark is there -> the reason in words."""


@dataclass(frozen=True)
class EngineOptions:
    """Where the tasks are to run.

    ``tune_workers``: take imported modules out of the garbage collections of Spark's Python workers
    (``gc.freeze``), and acknowledge what the JVM sends at once (``TCP_QUICKACK``): small tasks take
    less time. Spark reuses its workers for other jobs of a session, so by default (None) it is done
    in a Spark that is started here, and in no user's session.
    """

    name: str = AUTO  # or ``local`` or ``spark``
    master: str | None = None  # any that Spark knows, and ``sc://`` of Spark Connect
    # of a session that is started here; may hold credentials: never shown
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: Any = None  # of the user's own, which is used as it is
    io: str = IO[0]  # how workers read: ``fsspec``, or ``hadoop`` by Spark's file systems
    # is called with a line: the choice and why, or what a user has to know of Spark's workers
    notify: Callable[[str], None] = field(default=lambda _text: None, compare=False)
    # is entered while tasks run, with a function that says how far they are
    watch: Watch = field(default=lambda _measure: nullcontext(), compare=False)
    tune_workers: bool | None = None
    verbose: bool = field(default=False, compare=False)  # report the choice of this process too
    # whether a slow kernel is told of; not where an engine has said it of all workers
    tells_kernel: bool = field(default=True, compare=False)

    @property
    def chooses_work(self) -> bool:
        """Whether they say where tasks run, and nothing of how files are opened and by whom."""
        if self.io == HADOOP or self.session is not None:
            return False
        return self.name == SPARK or self.master is not None or bool(self.conf)


def requested_engine(options: EngineOptions, workers: int | None) -> Engine | None:
    """The engine, if the options and the environment decide it; else :func:`choose` does.

    A session that is needed is started. EngineError: it cannot be had, or options contradict.
    """
    given: dict[str, object] = {"--master": options.master, "--conf": options.conf}
    given["--io hadoop"] = options.io == HADOOP
    needs_spark = [option for option, present in given.items() if present]
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
    """The engine by the bytes of the state files, where nothing else decides."""
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
    if options.verbose or not expected:
        options.notify(f"engine: {LOCAL} ({reason})")
    return LocalEngine(workers)


def _spark(options: EngineOptions, workers: int | None, reason: str | None = None) -> Engine:
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

    of = options.session, options.master, options.conf
    engine = SparkEngine.of(*of, io=options.io, tune_workers=options.tune_workers)
    reasons = [] if reason is None else [f"{SPARK} ({reason})"]
    for note in (*reasons, *engine.notes):
        options.notify(f"engine: {note}")
    return engine
