"""Stop of work whose result nobody needs any more, such as that of a request that was abandoned.

The thread that works runs in :func:`obey_stop`; each read of bytes in that thread checks the stop.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class WorkStoppedError(BaseException):
    """Raised in a thread whose work was stopped.

    It is no ``Exception``, because a read that fails is a problem of a report, and this is none.
    """


class Stop:
    """Order to stop some work, given by another thread or when the time is over."""

    def __init__(self, seconds: float | None = None) -> None:
        """Allow this number of seconds from now on; None for no limit."""
        self._end = None if seconds is None else monotonic() + seconds
        self._requested = threading.Event()

    def request(self) -> None:
        """Request the stop: the next check raises."""
        self._requested.set()

    @property
    def is_late(self) -> bool:
        """True if the time is over."""
        return self._end is not None and monotonic() > self._end

    def check(self) -> None:
        """Raise WorkStoppedError if the stop was requested, or if the time is over."""
        if self._requested.is_set() or self.is_late:
            raise WorkStoppedError


class _Current(threading.local):
    """The stop of each thread; None for work that cannot be stopped."""

    stop: Stop | None = None


_CURRENT = _Current()


@contextmanager
def obey_stop(stop: Stop) -> Iterator[None]:
    """Let a stop end the work of this thread, while the block runs."""
    previous, _CURRENT.stop = _CURRENT.stop, stop
    try:
        yield
    finally:
        _CURRENT.stop = previous


def check_stop() -> None:
    """Raise WorkStoppedError if the work of this thread is to stop."""
    if _CURRENT.stop is not None:
        _CURRENT.stop.check()
