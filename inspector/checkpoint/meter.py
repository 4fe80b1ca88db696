"""How many bytes this process has read, for whoever shows progress."""

from __future__ import annotations

import threading


class Meter:
    """A sum that threads add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0

    def add(self, count: int) -> None:
        """Count bytes that have been read."""
        with self._lock:
            self._bytes += count

    @property
    def bytes(self) -> int:
        """All that has been counted."""
        return self._bytes


READ = Meter()
"""Bytes of all storages, since the process began."""
