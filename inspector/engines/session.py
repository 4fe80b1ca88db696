"""Spark sessions: started here or given, and checked before any work is sent to them."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from inspector.checkpoint.urls import redact
from inspector.engines.java import provide_java
from inspector.exceptions import EngineError

OLDEST = (3, 5)
"""The oldest PySpark that is tried; ``mapInArrow`` of 3.3 and 3.4 takes and gives the same."""

CONNECT_PORT = 15002
"""Of a Spark Connect server, where its URL names none."""

CONNECT_S = 5.0
"""How long a master or server may take to accept a connection."""

MASTER_PORT = 7077
"""Of a standalone master, where its URL names none."""

_PYTHON = "spark.pyspark.python"
"""Conf: the workers' Python, where they are."""

_ADDRESS = re.compile(r"(\[[^]]+\]|[^:/,]+)(?::(\d+))?")
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,.*)?])?")
_PARAMETERS = re.compile(r"(sc://[^\s;]*);[^\s'\"]+")
_MOST = 500
"""Characters of a failure's words."""

_GIVEN: dict[str, str] = {}
"""Confs that sessions were started with here: no later message shows what is secret in them."""

_QUIET = """\
# Errors only: Spark's own default warns of what nobody asked about.
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
# Else it takes itself for a shell, and says so.
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
# What fails a task comes as an exception too, and is told once.
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = off
logger.stage.name = org.apache.spark.scheduler.TaskSetManager
logger.stage.level = off
# That a cluster has no cores to spare: else it would wait for them in silence.
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = warn
"""
"""Of Log4j, for sessions that are started here."""


def start(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """A session that ends with this process.

    Args:
        master: any that Spark knows, ``sc://`` of Spark Connect too; None for what spark-submit or
            the environment says, else all cores of this machine.
        conf: its confs; they go before those set here.

    Raises:
        EngineError: PySpark is too old, or it, Java or the master cannot be had.
    """
    check_driver()
    _GIVEN.update(conf)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    logging.getLogger().addFilter(_is_no_interrupt)
    remote = master is not None and master.startswith("sc://")
    if not remote and not _is_submitted():
        provide_java()
    _check_answers(master or os.environ.get("SPARK_REMOTE", ""))
    builder: Any = SparkSession.builder
    try:
        made = _made(builder.remote(master), conf) if remote else _classic(builder, master, conf)
        atexit.register(_stopped, made)
    except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
        raise EngineError(f"no Spark session on {_shown(master)}: {words(error)}") from None
    return made


def _classic(builder: Any, master: str | None, conf: Mapping[str, str]) -> SparkSession:
    if _PYTHON in conf:
        # Only spark-submit reads that conf; PySpark itself reads the variable alone.
        os.environ["PYSPARK_PYTHON"] = conf[_PYTHON]
    if _is_submitted():
        return _made(builder if master is None else builder.master(master), conf)
    # Workers of this machine are to see what this process sees.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = tempfile.mkdtemp(prefix="inspector-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    quiet = Path(folder) / "log4j2.properties"
    quiet.write_text(_QUIET, "utf-8")
    defaults = {
        "spark.app.name": "inspector",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet}",
        "spark.sql.warehouse.dir": str(Path(folder) / "warehouse"),
    }
    if master is None:
        master = conf.get("spark.master", "local[*]")
    if master.startswith("local"):
        defaults["spark.ui.enabled"] = "false"
    return _made(builder.master(master), {**defaults, **conf})


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """py4j logs a traceback or two for Ctrl-C, and then raises what says the same."""
    return not str(record.msg).endswith("while sending command.")


def _is_submitted() -> bool:
    """Whether spark-submit, or a Connect server's address, decides where the session is."""
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("SPARK_REMOTE"))


def _made(builder: Any, conf: Mapping[str, str]) -> SparkSession:
    for name, value in conf.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _stopped(session: SparkSession) -> None:
    try:
        session.stop()
    except Exception:  # noqa: BLE001 - the process ends; whoever served it may be gone before it
        return


@contextmanager
def set_to(session: SparkSession, name: str, value: str) -> Iterator[None]:
    """Let a conf of a session have another value for a while."""
    before = session.conf.get(name, None)
    session.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, before)


def local_cores(session: SparkSession) -> int | None:
    """Cores of a Spark that is one process; None of a cluster, which may get more at any time."""
    try:
        master = session.conf.get("spark.master", None) or ""
    except Exception:  # noqa: BLE001 - a server may keep it to itself
        return None
    local = _LOCAL.fullmatch(master)
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def hand_over(session: SparkSession, rows: list[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
    """Some rows of this process as a DataFrame.

    As Arrow where Spark takes it (4.0 and later): it makes them a part of the plan. Out of tuples
    it makes an RDD, for which a second set of Python workers is started.
    """
    if not hasattr(DataFrame, "toArrow"):  # which came with it
        return session.createDataFrame(rows, from_arrow_schema(schema))
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))


def check_driver() -> None:
    """Whether this process can drive a Spark.

    Raises:
        EngineError: PySpark is too old, or what ``mapInArrow`` needs is not there.
    """
    found = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if found < OLDEST:
        raise EngineError(
            f"PySpark {pyspark.__version__} is too old, expected 3.5 or later: "
            "pip install 'spark-state-inspector[spark]'"
        )
    try:
        import_module("pandas")
    except ImportError as error:
        raise EngineError(
            f"pandas cannot be imported ({error}), mapInArrow of PySpark needs it: "
            "pip install 'spark-state-inspector[spark]'"
        ) from None


def _check_answers(master: str) -> None:
    """Whether anybody listens at a master: Spark itself tries for a minute or more."""
    scheme, _, rest = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    port = CONNECT_PORT if scheme == "sc" else MASTER_PORT
    # A standalone cluster may have several masters, of which one is at work.
    addresses = _ADDRESS.findall(rest.partition("/")[0].partition(";")[0])
    silent = [said for host, own in addresses if (said := _silence(host, int(own or port)))]
    if silent and len(silent) == len(addresses):
        what = "Spark Connect server" if scheme == "sc" else "Spark master"
        raise EngineError(
            f"no {what} answers at {', '.join(silent)}: is it running, and is this its address?"
        )


def _silence(host: str, port: int) -> str | None:
    """The address and why nobody answers there; None if somebody does."""
    try:
        socket.create_connection((host.strip("[]"), port), CONNECT_S).close()
    except OSError as error:
        return f"{host}:{port} ({error.strerror or error})"
    return None


def _shown(master: str | None) -> str:
    return "this machine" if master is None else redact(_PARAMETERS.sub(r"\1", master))


def words(error: Exception) -> str:
    """What a failure of Spark says at its heart, in one line and without secrets."""
    text = str(error)
    java = getattr(error, "java_exception", None)
    if java is not None:
        text = str(java.toString())
    heart = _heart(text) or type(error).__name__
    # Any parameter of an sc:// URL may be a header with a secret. What is cut must not hide one.
    return redact(_PARAMETERS.sub(r"\1", heart), _GIVEN)[:_MOST]


_PYTHON_ERROR = re.compile(
    r"^(?!(?:org\.apache|java|javax|scala|io\.grpc)\.)"  # classes of the JVM, told beside it
    r"(?:[\w.]*\.)?(\w*(?:Error|Exception|Exit|Interrupt)\b(?:: .*)?)$"
)


def _heart(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [match[1] for line in lines if (match := _PYTHON_ERROR.match(line))]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (of_python or causes[-1:] or lines or [""])[0]
