"""The blocks of a file made by a second thread, while the first one replays those before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

from inspector.model import StoreFile

T = TypeVar("T")

MOST_AHEAD = 2
"""Blocks that are made before their turn; each is a megabyte or so."""

LARGE = 1 << 20
"""Bytes of a file whose decoding is worth a thread, where there is a core for it."""

_PATIENCE_S = 0.1
"""After so long a thread that waits to give its item looks whether anybody still wants it."""


def is_large(file: StoreFile) -> bool:
    """Whether decoding a file takes much longer than to start a thread."""
    return file.size >= LARGE


_LONGEST_BLOCK_S = 1.0
"""To make a block takes milliseconds. A thread that takes longer waits for a storage."""


class _End:
    """Behind the last item: nothing, or the error that ended them."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Maker(Generic[T]):
    """The thread that makes the items.

    Attributes:
        made: those that wait for their turn, and an end behind the last.
    """

    def __init__(self, items: Iterable[T], most: int) -> None:
        self._items = items
        self.made: Queue[T | _End] = Queue(most)
        self._unwanted = Event()
        self._thread = Thread(target=self._make, name="inspector-ahead", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which may wait for room; who interrupts waits for no storage with it."""
        self._unwanted.set()
        with suppress(Empty):
            self.made.get_nowait()
        self._thread.join(_LONGEST_BLOCK_S)

    def _make(self) -> None:
        try:
            for item in self._items:
                if not self._give(item):
                    return
        except BaseException as error:  # noqa: BLE001 - raised where the items are taken
            self._give(_End(error))
        else:
            self._give(_End())

    def _give(self, item: T | _End) -> bool:
        while not self._unwanted.is_set():
            with suppress(Full):
                self.made.put(item, timeout=_PATIENCE_S)
                return True
        return False


def make_ahead(items: Iterable[T], most: int = MOST_AHEAD) -> Iterator[T]:
    """The same items in their order, made by another thread.

    Decoding gives up the GIL, and so does replaying: the two take two cores. An error comes where
    the iterable raised it. The thread has ended when this has, or is closed, but for one that waits
    for a storage: it ends when it has its answer, or with the process.

    Args:
        items: used by the other thread alone.
        most: how many are made before their turn.
    """
    maker = _Maker(items, most)
    try:
        while not isinstance(item := maker.made.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        maker.stop()
