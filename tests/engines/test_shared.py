"""Engines that several runs share."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.engines import choose as module
from inspector.engines.batched import BatchedEngine
from inspector.engines.choose import (
    AT_ONCE_LOCAL,
    AT_ONCE_SPARK,
    AUTO,
    LOCAL,
    LOCAL_SPARK_BYTES,
    EngineOptions,
    SharedEngines,
)
from inspector.engines.engine import Engine
from inspector.engines.local import LocalEngine


def test_single_run_has_its_own_engine() -> None:
    assert isinstance(SharedEngines(EngineOptions(LOCAL), 1, shared=False).requested, LocalEngine)


def test_local_runs_share_one_limited_engine() -> None:
    engines = SharedEngines(EngineOptions(LOCAL), 1)
    assert engines.requested == LocalEngine(1, shared=True)
    assert (engines.batched, engines.at_once) == (None, AT_ONCE_LOCAL)


def test_spark_runs_share_a_batched_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    class Spark(Engine):
        run: Any = None

    monkeypatch.setattr(module, "engine_by_options", lambda *_: Spark())
    engines = SharedEngines(EngineOptions(), None)
    assert isinstance(engines.requested, BatchedEngine)
    assert engines.batched is engines.requested
    assert engines.at_once == AT_ONCE_SPARK


def test_chosen_engine_is_announced_and_created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    message: list[str] = []
    chosen: list[int] = []

    def choose(_options: EngineOptions, _workers: int | None, size: int) -> Any:
        chosen.append(size)
        return object()

    monkeypatch.setattr(module, "engine_by_options", lambda *_: None)
    monkeypatch.setattr(module, "choose", choose)
    engines = SharedEngines(EngineOptions(AUTO, notify=message.append, verbose=True), None)
    assert engines.requested is None
    small = engines.choose(5)
    assert small == LocalEngine(None, shared=True)
    assert engines.choose(6) is small
    assert message == ["engine: local (no Spark session)"]
    large = engines.choose(LOCAL_SPARK_BYTES)
    assert engines.choose(LOCAL_SPARK_BYTES + 1) is large is not small
    assert chosen == [LOCAL_SPARK_BYTES]
