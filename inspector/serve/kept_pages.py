"""Pages that were made, kept in memory up to a number of bytes."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from inspector.checkpoint.stops import check_stop
from inspector.serve.known_texts import KnownTexts

MAX_BYTES = 32 << 20  # bytes of compressed pages that are kept
_POLL_SECONDS = 0.1  # seconds between two checks of a request that waits for another one


class KeptPages:
    """Compressed pages by key; those that were used longest ago are removed first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Keep at most this number of bytes."""
        self._pages = KnownTexts(max_bytes)
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def bytes(self) -> int:
        """Bytes of the kept pages."""
        return self._pages.bytes

    @property
    def max_bytes(self) -> int:
        """Bytes of the kept pages at most."""
        return self._pages.max_bytes

    def get(self, key: Hashable, make: Callable[[], tuple[str, bool]]) -> str:
        """Return the page of a key, made by ``make`` if it is not kept.

        ``make`` returns the page, and whether it may be kept. While one thread makes a page, others
        wait for it. Raises WorkStoppedError if the work of the waiting thread is to stop.
        """
        with self._making_of(key):
            data = self._pages.find(key)
            if data is not None:
                return zlib.decompress(data).decode("utf-8", "surrogatepass")
            page, is_lasting = make()
            if is_lasting:
                self._pages.keep(key, zlib.compress(page.encode("utf-8", "surrogatepass"), 1))
            return page

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
