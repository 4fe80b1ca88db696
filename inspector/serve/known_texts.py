"""Bytes that URLs name by a hash: keys of rows, and searches with keys in them."""

from __future__ import annotations

import threading
from collections import OrderedDict

MAX_BYTES = 16 << 20  # bytes of all texts that are kept
_ENTRY_BYTES = 200  # bytes that an entry takes besides its text


class KnownTexts:
    """Texts by name; those that were used longest ago are removed first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Keep at most this number of bytes."""
        self._most_bytes, self._bytes = max_bytes, 0
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, name: str, text: bytes) -> None:
        """Keep a text under a name, and remove the oldest texts until all fit."""
        with self._lock:
            removed = self._texts.pop(name, None)
            self._bytes -= 0 if removed is None else len(removed) + _ENTRY_BYTES
            self._texts[name] = text
            self._bytes += len(text) + _ENTRY_BYTES
            while self._bytes > self._most_bytes:
                _, oldest = self._texts.popitem(last=False)
                self._bytes -= len(oldest) + _ENTRY_BYTES

    def find(self, name: str) -> bytes | None:
        """Return the text of a name; None if it is not kept."""
        with self._lock:
            text = self._texts.get(name)
            if text is not None:
                self._texts.move_to_end(name)
            return text
