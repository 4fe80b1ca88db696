"""Work of requests: it stops when nobody waits for it, or when its time is over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request

from inspector.checkpoint.stops import Stop, WorkStoppedError, check_stop, obey_stop
from inspector.checkpoint.storage import Storage
from inspector.serve import work as module
from inspector.serve.work import AbandonedError, TooLongError, Workers
from tests.cli.support import checkpoint_of

Receive = Callable[[], Awaitable[Any]]


def request_of(receive: Receive) -> Request:
    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)


async def connected() -> Any:
    """Receive nothing: the client waits for its answer."""
    await asyncio.Event().wait()


def read_forever(reads: threading.Event, ended: threading.Event) -> Callable[[Stop], None]:
    """Work that reads a file again and again, and reports its first read and its end."""
    storage = Storage(str(checkpoint_of("agg_append")))

    def work(_stop: Stop) -> None:
        try:
            while True:
                storage.read("metadata")
                reads.set()
        finally:
            ended.set()

    return work


def test_result_and_error_of_the_work_are_those_of_the_request() -> None:
    def fail(_stop: Stop) -> None:
        raise ValueError("wrong")

    async def main() -> None:
        workers = Workers(60)
        assert await workers.run(request_of(connected), lambda _: 7) == 7
        with pytest.raises(ValueError, match="wrong"):
            await workers.run(request_of(connected), fail)

    asyncio.run(main())


def test_abandoned_request_stops_its_work() -> None:
    reads, ended = threading.Event(), threading.Event()

    async def leave() -> Any:
        while not reads.is_set():
            await asyncio.sleep(0.001)
        return {"type": "http.disconnect"}

    async def main() -> None:
        with pytest.raises(AbandonedError):
            await Workers(60).run(request_of(leave), read_forever(reads, ended))

    asyncio.run(main())
    assert ended.wait(60)


def test_work_stops_when_its_time_is_over() -> None:
    reads, ended = threading.Event(), threading.Event()

    async def main() -> None:
        with pytest.raises(TooLongError):
            await Workers(0.05).run(request_of(connected), read_forever(reads, ended))

    asyncio.run(main())
    assert ended.wait(60)


def test_work_that_hangs_does_not_keep_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.05)
    release = threading.Event()

    async def main() -> None:
        with pytest.raises(TooLongError):
            await Workers(0.01, at_once=1).run(request_of(connected), lambda _: release.wait(60))

    try:
        asyncio.run(main())
    finally:
        release.set()


def test_request_that_leaves_while_it_waits_begins_no_work() -> None:
    begun, release = threading.Event(), threading.Event()
    works: list[str] = []

    def hold(_stop: Stop) -> None:
        begun.set()
        release.wait(60)

    async def leave() -> Any:
        return {"type": "http.disconnect"}

    async def main() -> None:
        workers = Workers(60, at_once=1)
        first = asyncio.ensure_future(workers.run(request_of(connected), hold))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        with pytest.raises(AbandonedError):
            await workers.run(request_of(leave), lambda _: works.append("second"))
        release.set()
        await first
        await workers.run(request_of(connected), lambda _: works.append("third"))

    asyncio.run(main())
    assert works == ["third"]


def test_stop_is_that_of_its_thread_alone() -> None:
    stop = Stop()
    stop.request()
    with pytest.raises(WorkStoppedError):
        stop.check()
    with obey_stop(stop):
        with pytest.raises(WorkStoppedError):
            check_stop()
        thread = threading.Thread(target=check_stop)
        thread.start()
        thread.join()
    check_stop()
