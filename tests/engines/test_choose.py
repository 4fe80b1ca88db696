"""The choice of an engine, and the message with its reason."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from inspector.engines import choose as chooser
from inspector.engines.choose import LOCAL_SPARK_BYTES, EngineOptions, choose, engine_by_options
from inspector.engines.engine import Engine
from inspector.engines.local import LocalEngine
from inspector.exceptions import EngineError

BELOW, ABOVE = LOCAL_SPARK_BYTES - 1, LOCAL_SPARK_BYTES


class FakeSpark:
    """A Spark engine that keeps the arguments of ``SparkEngine.of``."""

    notes: tuple[str, ...] = ()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.asked, self.named = arguments, named


@pytest.fixture(autouse=True)
def _no_spark_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide environment variables and sessions of Spark."""
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark engine that can be started."""
    pretend(monkeypatch, FakeSpark)


def pretend(monkeypatch: pytest.MonkeyPatch, of: Any) -> None:
    fake = SimpleNamespace(SparkEngine=SimpleNamespace(of=of))
    monkeypatch.setitem(sys.modules, "inspector.engines.spark", fake)
    monkeypatch.setattr(chooser, "find_spec", lambda _name: object())


def without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "find_spec", lambda _name: None)


def engine_of(
    workers: int | None = None, messages: list[str] | None = None, **options: Any
) -> Engine | None:
    messages = [] if messages is None else messages
    return engine_by_options(
        EngineOptions(**options, notify=messages.append, verbose=True), workers
    )


# --- requested engines -----------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, 3])
def test_explicit_local_engine_prints_no_message(workers: int | None) -> None:
    messages: list[str] = []
    assert engine_of(workers, messages, name="local") == LocalEngine(workers)
    assert messages == []


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--master", {"master": "local[2]"}),
        ("--conf", {"conf": {"spark.x": "y"}}),
        ("--io hadoop", {"io": "hadoop"}),
    ],
)
def test_spark_options_are_refused_for_the_local_engine(
    option: str, expected: Mapping[str, Any]
) -> None:
    with pytest.raises(EngineError, match=f"{option} is for Spark, got --engine local"):
        engine_of(name="local", **expected)


@pytest.mark.usefixtures("spark")
def test_spark_engine_receives_all_options() -> None:
    messages: list[str] = []
    conf = {"spark.x": "y"}
    engine = engine_of(None, messages, name="spark", master="local[2]", conf=conf, io="hadoop")
    assert isinstance(engine, FakeSpark)
    assert engine.asked == (None, "local[2]", conf)
    assert engine.named == {"io": "hadoop", "tune_workers": None}
    assert messages == [], "nothing had to be chosen"


@pytest.mark.usefixtures("spark")
def test_tune_workers_is_passed_to_spark() -> None:
    engine = engine_of(session=object(), tune_workers=True)
    assert isinstance(engine, FakeSpark)
    assert engine.named["tune_workers"] is True


@pytest.mark.parametrize("tune", [True, False])
def test_tune_workers_is_refused_for_the_local_engine(tune: bool) -> None:
    with pytest.raises(EngineError, match="tune_workers is for Spark's Python workers"):
        engine_of(name="local", tune_workers=tune)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["spark", "auto"])
def test_worker_notes_of_spark_are_printed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(FakeSpark, "notes", ("workers are slow",))
    messages: list[str] = []
    engine_of(None, messages, name=name, master="local[2]")
    assert messages[-1] == "engine: workers are slow"
    assert messages[:-1] == (["engine: spark (--master is given)"] if name == "auto" else [])


@pytest.mark.usefixtures("spark")
def test_given_session_is_used() -> None:
    session = object()
    engine = engine_of(session=session)
    assert isinstance(engine, FakeSpark)
    assert engine.asked[0] is session


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--master", {"master": "local[2]"}),
        ("--conf", {"conf": {"spark.secret": "s3cr3t"}}),
        ("--io hadoop", {"io": "hadoop"}),
    ],
)
def test_any_spark_option_selects_spark(option: str, expected: Mapping[str, Any]) -> None:
    messages: list[str] = []
    assert isinstance(engine_of(None, messages, **expected), FakeSpark)
    assert messages == [f"engine: spark ({option} is given)"]


def test_local_engine_of_the_workers_option_prints_no_message_by_default() -> None:
    messages: list[str] = []
    assert engine_by_options(EngineOptions(notify=messages.append), 4) == LocalEngine(4)
    assert messages == []


def test_workers_option_selects_the_local_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere")
    messages: list[str] = []
    assert engine_of(4, messages) == LocalEngine(4)
    assert messages == ["engine: local (--workers is given)"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "expected", [{"name": "spark"}, {"master": "local"}, {"session": object()}]
)
def test_workers_option_is_refused_for_spark(expected: Mapping[str, Any]) -> None:
    with pytest.raises(EngineError, match="--workers is for the engine in this process"):
        engine_of(2, **expected)


def test_spark_engine_without_pyspark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pyspark(monkeypatch)
    with pytest.raises(EngineError, match=r"pip install 'spark-state-inspector\[spark\]'"):
        engine_of(name="spark")


# --- sessions and environment ----------------------------------------------------------------


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        ("PYSPARK_GATEWAY_PORT", "this process was started by spark-submit"),
        ("SPARK_REMOTE", "SPARK_REMOTE names a Spark Connect server"),
    ],
)
def test_spark_submit_or_spark_remote_selects_spark(
    monkeypatch: pytest.MonkeyPatch, variable: str, reason: str
) -> None:
    monkeypatch.setenv(variable, "sc://host/;token=s3cr3t")
    messages: list[str] = []
    assert isinstance(engine_of(None, messages), FakeSpark)
    assert messages == [f"engine: spark ({reason})"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("active", [None, object()])
def test_active_session_selects_spark(monkeypatch: pytest.MonkeyPatch, active: Any) -> None:
    class SparkSession:
        @staticmethod
        def getActiveSession() -> Any:  # noqa: N802 - Spark's name
            return active

    fake = SimpleNamespace(SparkSession=SparkSession)
    monkeypatch.setitem(sys.modules, "pyspark.sql", fake)
    messages: list[str] = []
    engine = engine_of(None, messages)
    assert isinstance(engine, FakeSpark) == (active is not None)
    assert messages == ["engine: spark (a session is active)"] * (active is not None)


def test_no_options_and_no_session_defer_to_state_size() -> None:
    assert engine_of() is None


# --- state size ------------------------------------------------------------------------------


def chosen(state_bytes: int) -> tuple[Engine, str]:
    messages: list[str] = []
    engine = choose(EngineOptions(notify=messages.append, verbose=True), None, state_bytes)
    (line,) = messages
    return engine, line


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (5 << 20, "5.0 MiB"), (3000, "2.9 KiB"), (BELOW, "16.0 GiB")],
)
def test_small_state_selects_the_local_engine(size: int, words: str) -> None:
    engine, line = chosen(size)
    assert engine == LocalEngine(None)
    assert line.startswith("engine: local (no Spark session; ")
    assert words in line


@pytest.mark.usefixtures("spark")
def test_large_state_selects_local_spark() -> None:
    engine, line = chosen(ABOVE)
    assert isinstance(engine, FakeSpark)
    assert engine.asked == (None, None, {})
    assert line == "engine: spark (16.0 GiB of state files)"


def test_large_state_without_pyspark_selects_the_local_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_pyspark(monkeypatch)
    engine, line = chosen(ABOVE)
    assert engine == LocalEngine(None)
    assert line.endswith("(PySpark is not installed; 16.0 GiB of state files)")


def test_large_state_without_java_selects_the_local_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise EngineError("no Java is found")

    pretend(monkeypatch, refuse)
    engine, line = chosen(ABOVE)
    assert engine == LocalEngine(None)
    assert line.endswith("(Spark cannot be started: no Java is found; 16.0 GiB of state files)")


@pytest.mark.usefixtures("spark")
def test_engine_choice_is_silent_by_default() -> None:
    assert choose(EngineOptions(), 2, BELOW) == LocalEngine(2)
    assert EngineOptions() == EngineOptions(notify=print), "to whom it is told makes no other wish"
