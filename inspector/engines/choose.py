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

LOCAL_SPARK_BYTES = 16 << 30
"""State files above this are spread over processes of a local Spark, where there is one."""

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

    Attributes:
        name: ``auto``, ``local`` or ``spark``.
        master: where to start a session; any that Spark knows, and ``sc://`` of Spark Connect.
        conf: Spark confs of a session that is started here. May hold credentials: never shown.
        session: a session of the user's own, which is used as it is.
        io: how workers read: ``fsspec``, or ``hadoop`` by the file systems that Spark has.
        notify: is called with one line: the choice and its reason, where ``auto`` chose Spark or
            could not; what a user has to know about Spark's workers.
        tells_kernel: whether a slow kernel is told of; not where an engine has said it of all
            workers.
        verbose: report the choice of this process too, where nothing asks for Spark.
        watch: is entered while tasks run, with a function that says how far they are.
        tune_workers: take imported modules out of the garbage collections of Spark's Python
            workers (``gc.freeze``), and acknowledge what the JVM sends at once (``TCP_QUICKACK``):
            small tasks take less time. Spark reuses its workers for other jobs of a session, so by
            default (None) it is done in a Spark that is started here, and in no user's session.
    """

    name: str = AUTO
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: Any = None
    io: str = IO[0]
    notify: Callable[[str], None] = field(default=lambda _text: None, compare=False)
    watch: Watch = field(default=lambda _measure: nullcontext(), compare=False)
    tune_workers: bool | None = None
    verbose: bool = field(default=False, compare=False)
    tells_kernel: bool = field(default=True, compare=False)

    @property
    def chooses_work(self) -> bool:
        """Whether they say where tasks run, and nothing of how files are opened and by whom."""
        if self.io == HADOOP or self.session is not None:
            return False
        return self.name == SPARK or self.master is not None or bool(self.conf)


def requested_engine(options: EngineOptions, workers: int | None) -> Engine | None:
    """The engine, if the options and the environment decide it; else :func:`choose` does.

    A session that is needed is started.

    Raises:
        EngineError: it cannot be had, or options contradict each other.
    """
    needs_spark = [
        option
        for option, present in (
            ("--master", options.master),
            ("--conf", options.conf),
            ("--io hadoop", options.io == HADOOP),
        )
        if present
    ]
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
    reason = _reason_for_spark()
    return None if reason is None else _spark(options, workers, reason)


def choose(options: EngineOptions, workers: int | None, state_bytes: int) -> Engine:
    """The engine by the bytes of the state files, where nothing else decides."""
    if state_bytes < LOCAL_SPARK_BYTES:
        reason = f"no Spark session; {bytes_text(state_bytes)} of state files"
        return _local(options, workers, reason, expected=True)
    if find_spec("pyspark") is None:
        reason = f"PySpark is not installed; {bytes_text(state_bytes)} of state files"
    else:
        try:
            return _spark(options, workers, f"{bytes_text(state_bytes)} of state files")
        except EngineError as error:
            reason = f"Spark cannot be started: {error}; {bytes_text(state_bytes)} of state files"
    return _local(options, workers, reason, expected=False)


def _local(options: EngineOptions, workers: int | None, reason: str, *, expected: bool) -> Engine:
    if options.verbose or not expected:
        options.notify(f"engine: {LOCAL} ({reason})")
    return LocalEngine(workers)


def _reason_for_spark() -> str | None:
    for name, reason in _SPARK_VARIABLES.items():
        if os.environ.get(name):
            return reason
    sql = sys.modules.get("pyspark.sql")
    if sql is not None and sql.SparkSession.getActiveSession() is not None:
        return "a session is active"
    return None


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

    engine = SparkEngine.of(
        *(options.session, options.master, options.conf),
        io=options.io,
        tune_workers=options.tune_workers,
    )
    reasons = [] if reason is None else [f"{SPARK} ({reason})"]
    for note in (*reasons, *engine.notes):
        options.notify(f"engine: {note}")
    return engine
