"""Timeouts, retries and messages of storage requests."""

from __future__ import annotations

import logging
import threading
from typing import Any
from unittest import mock

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector.checkpoint import patience
from inspector.checkpoint.patience import patiently
from inspector.checkpoint.storage import Storage
from inspector.model import Limits
from tests.attributes import attributes

QUICK = Limits(request_seconds=1, attempts=3)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WORD_AFTER_S", 0.05)
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.01)
    patience.SILENCE.clear()


class ScriptedRequest:
    """A request that returns its answers in order, raises errors and waits for events."""

    def __init__(self, *answers: Any) -> None:
        self.left = list(answers)

    def __call__(self) -> Any:
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, threading.Event):
            answer.wait()
        return answer


def test_no_retries_while_the_storage_is_down() -> None:
    down = [ConnectionResetError("reset")] * 20
    call = ScriptedRequest(*down)
    for _ in range(patience.GIVEN_UP):
        with pytest.raises(ConnectionResetError):
            patiently(call, "x", QUICK)
    assert len(call.left) == 20 - 3 * patience.GIVEN_UP
    with pytest.raises(ConnectionResetError):
        patiently(call, "x", QUICK)
    assert len(call.left) == 19 - 3 * patience.GIVEN_UP
    assert patiently(ScriptedRequest(1), "x", QUICK) == 1
    assert patiently(ScriptedRequest(ConnectionResetError("reset"), 2), "x", QUICK) == 2


def test_silent_request_times_out_with_a_message(caplog: pytest.LogCaptureFixture) -> None:
    stuck = threading.Event()
    call = ScriptedRequest(stuck, stuck)
    with pytest.raises(TimeoutError, match="no answer within 1 s"):
        patiently(call, "s3a://b/x", Limits(request_seconds=1, attempts=2))
    stuck.set()
    assert call.left == []
    assert "s3a://b/x: no answer for 0 s, still waiting" in caplog.messages
    assert "s3a://b/x: no answer within 1 s; asked again in 0.0 s" in caplog.messages


def test_silent_object_has_one_deadline_for_all_requests() -> None:
    stuck = threading.Event()
    limits = Limits(request_seconds=2, attempts=3, object_seconds=3)
    call = ScriptedRequest(*[stuck] * 9)
    waits: list[float] = []

    def no_wait(_futures: Any, seconds: float) -> None:
        waits.append(seconds)

    with mock.patch("concurrent.futures.wait", no_wait):
        for _ in range(4):
            with pytest.raises(TimeoutError, match="no answer within 3 s; it is not requested"):
                patiently(call, "s3a://b/silent", limits)
        with pytest.raises(TimeoutError):
            patiently(call, "s3a://b/other", limits)
    stuck.set()
    # For each of the two objects: one attempt of 2 s, and one of the remaining second.
    assert (len(call.left), sum(waits)) == (9 - 4, 6)
    patience.SILENCE.clear()
    assert patiently(ScriptedRequest(1), "s3a://b/silent", limits) == 1


@pytest.mark.parametrize(
    "error", [TimeoutError(), ConnectionResetError("reset"), OSError("HTTP 503 Slow Down")]
)
def test_transient_errors_are_retried(error: Exception) -> None:
    assert patiently(ScriptedRequest(error, error, 5), "x", QUICK) == 5
    with pytest.raises(type(error)):
        patiently(ScriptedRequest(error, error, error, 5), "x", QUICK)


@pytest.mark.parametrize("error", [FileNotFoundError("x"), PermissionError("x"), ValueError("x")])
def test_permanent_errors_are_not_retried(error: Exception) -> None:
    call = ScriptedRequest(error, 5)
    with pytest.raises(type(error)):
        patiently(call, "x", QUICK)
    assert call.left == [5]


class ResettingStorage(MemoryFileSystem):  # type: ignore[misc]
    """A storage in which every second request fails with a connection reset."""

    protocol = "broken"
    requests = 0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.replace("broken://", "memory://")))

    def _break(self) -> None:
        ResettingStorage.requests += 1
        if ResettingStorage.requests % 2:
            raise ConnectionResetError("Connection reset by peer")

    def ls(self, *args: Any, **kwargs: Any) -> Any:
        self._break()
        return super().ls(*args, **kwargs)

    def open(self, *args: Any, **kwargs: Any) -> Any:
        self._break()
        return super().open(*args, **kwargs)


def test_stream_survives_connection_resets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    fsspec.register_implementation("broken", ResettingStorage, clobber=True)
    MemoryFileSystem().pipe_file("/ck/a", b"0123456789")
    storage = Storage.open("broken://ck")
    assert b"".join(storage.stream("a", 3)) == b"0123456789"
    assert attributes(storage.list(), "name") == ["a"]
    MemoryFileSystem().rm("/ck", recursive=True)
