"""Pages that were made, kept in memory up to a number of bytes."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from inspector.checkpoint.stops import check_stop

MAX_BYTES = 32 << 20  # bytes of compressed pages that are kept
_POLL_SECONDS = 0.1  # seconds between two checks of a request that waits for another one


class KeptPages:
    """Compressed pages by key; those that were used longest ago are removed first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Keep at most this number of bytes."""
        self.max_bytes = max_bytes  # bytes of pages at most
        self.bytes = 0  # bytes of the kept pages
        self._pages: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._pages)

    def get(self, key: Hashable, make: Callable[[], tuple[str, bool]]) -> str:
        """Return the page of a key, made by ``make`` if it is not kept.

        ``make`` returns the page, and whether it may be kept. While one thread makes a page, others
        wait for it. Raises WorkStoppedError if the work of the waiting thread is to stop.
        """
        with self._making_of(key):
            page = self._find(key)
            if page is not None:
                return page
            page, is_lasting = make()
            if is_lasting:
                self._add(key, zlib.compress(page.encode("utf-8", "surrogatepass"), 1))
            return page

    def _find(self, key: Hashable) -> str | None:
        """Return a kept page; None if there is none."""
        with self._lock:
            data = self._pages.get(key)
            if data is not None:
                self._pages.move_to_end(key)
        return None if data is None else zlib.decompress(data).decode("utf-8", "surrogatepass")

    def _add(self, key: Hashable, data: bytes) -> None:
        """Keep a page, and remove the oldest ones until all fit; a larger page is not kept."""
        if len(data) > self.max_bytes:
            return
        with self._lock:
            self._pages[key] = data
            self.bytes += len(data)
            while self.bytes > self.max_bytes:
                _, removed = self._pages.popitem(last=False)
                self.bytes -= len(removed)

    @contextmanager
    def _making_of(self, key: Hashable) -> Iterator[None]:
        """Hold the lock of a key while the block runs."""
        with self._lock:
            lock = self._making.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=_POLL_SECONDS):
            check_stop()
        try:
            yield
        finally:
            lock.release()
            with self._lock:
                self._making.pop(key, None)
