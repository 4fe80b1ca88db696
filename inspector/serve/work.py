"""Work of requests in threads: so much at once, so long at most, and no longer than it is awaited.

An analysis blocks, so it runs in a thread of its own. It stops at its next read of bytes when the
browser closes the connection, or when its time is over.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from inspector.checkpoint.stops import Stop, obey_stop

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")  # result of some work

AT_ONCE = 2  # requests whose analyses run at the same time; further ones wait
GRACE_SECONDS = 2.0  # seconds after its time that work may need to notice it


class AbandonedError(Exception):
    """Raised if the client closed the connection before its answer was ready."""


class TooLongError(Exception):
    """Raised if the work of a request took longer than it may take."""


class Workers:
    """Threads that do the work of requests."""

    def __init__(self, seconds: float, at_once: int = AT_ONCE) -> None:
        """Allow each work this number of seconds, and this number of works at once."""
        self.seconds = seconds  # seconds that the work of a request may take
        self._at_once = at_once
        self._free: asyncio.Semaphore | None = None

    async def run(self, request: Request, work: Callable[[Stop], T]) -> T:
        """Return the result of some work, done in a thread, or raise its error.

        The work gets its stop, for threads that it starts. Raises AbandonedError and TooLongError.
        """
        if self._free is None:  # made here, in the loop of the server
            self._free = asyncio.Semaphore(self._at_once)
        leaving = asyncio.ensure_future(_wait_for_disconnect(request))
        try:
            waiting = asyncio.ensure_future(self._free.acquire())
            await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                waiting.cancel()
                raise AbandonedError
            try:
                return await self._work(leaving, work)
            finally:
                self._free.release()
        finally:
            leaving.cancel()

    async def _work(self, leaving: asyncio.Future[None], work: Callable[[Stop], T]) -> T:
        """Do some work in a thread until it is done, or ``leaving`` is, or its time is over."""
        stop = Stop(self.seconds)
        task = _Task(asyncio.get_running_loop(), stop, work)
        threading.Thread(target=task.run, name="request", daemon=True).start()
        limit = self.seconds + GRACE_SECONDS
        done, _ = await asyncio.wait(
            (task.result, leaving), timeout=limit, return_when=asyncio.FIRST_COMPLETED
        )
        stop.request()
        if task.result in done:
            return task.result.result()
        if leaving in done:
            # Its place is free again only when the thread has noticed.
            await asyncio.wait((task.result,), timeout=GRACE_SECONDS)
            raise AbandonedError
        raise TooLongError


class _Task(Generic[T]):
    """Work in a thread, with its result in the loop of the server."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, stop: Stop, work: Callable[[Stop], T]
    ) -> None:
        """Prepare the work."""
        self._loop, self._stop, self._do = loop, stop, work
        self.result: asyncio.Future[T] = loop.create_future()
        # Else the loop would report an error that nobody waits for.
        self.result.add_done_callback(lambda result: result.cancelled() or result.exception())

    def run(self) -> None:
        """Do the work, and set its result or error; stopped work is a TooLongError."""
        try:
            with obey_stop(self._stop):
                value = self._do(self._stop)
        except Exception as error:  # noqa: BLE001 - raised again by the request
            self._tell(self.result.set_exception, error)
        except BaseException:  # noqa: BLE001 - stopped
            self._tell(self.result.set_exception, TooLongError())
        else:
            self._tell(self.result.set_result, value)

    def _tell(self, set_outcome: Callable[..., None], outcome: object) -> None:
        """Set the outcome in the loop's own thread, unless nobody waits for it."""

        def tell() -> None:
            if not self.result.done():
                set_outcome(outcome)

        try:
            self._loop.call_soon_threadsafe(tell)
        except RuntimeError:  # the server has ended
            return


async def _wait_for_disconnect(request: Request) -> None:
    """Wait until the client closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
