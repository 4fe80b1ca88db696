"""Texts by name, kept in memory up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

MAX_BYTES = 16 << 20  # bytes of all texts that are kept
_ENTRY_BYTES = 200  # bytes that an entry takes besides its text


class KnownTexts:
    """Texts by name; those that were used longest ago are removed first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Keep at most this number of bytes."""
        self.max_bytes = max_bytes  # bytes of texts and entries at most
        self.bytes = 0  # bytes of the kept texts and their entries
        self._texts: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._texts)

    def keep(self, name: Hashable, text: bytes) -> None:
        """Keep a text under a name, and remove the oldest texts until all fit.

        A text that does not fit by itself is not kept, and removes only one of the same name.
        """
        size = len(text) + _ENTRY_BYTES
        with self._lock:
            removed = self._texts.pop(name, None)
            self.bytes -= 0 if removed is None else len(removed) + _ENTRY_BYTES
            if size > self.max_bytes:
                return
            self._texts[name] = text
            self.bytes += size
            while self.bytes > self.max_bytes:
                _, oldest = self._texts.popitem(last=False)
                self.bytes -= len(oldest) + _ENTRY_BYTES

    def find(self, name: Hashable) -> bytes | None:
        """Return the text of a name; None if it is not kept."""
        with self._lock:
            text = self._texts.get(name)
            if text is not None:
                self._texts.move_to_end(name)
            return text
