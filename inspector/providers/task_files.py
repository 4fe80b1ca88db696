"""The files of one task: each is requested once, some before the task begins.

An object store takes its 50 ms for every file. So a process that runs many tasks says beforehand
what they read (:func:`upcoming`), and a task that has no more files to request for itself requests
those of the next ones. A file that a task reads more than once is kept as it was read first.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from inspector.checkpoint.storage import SMALL_BYTES, Storage
from inspector.checkpoint.urls import is_local
from inspector.model import LIMITS, StoreFile
from inspector.providers.turns import Turns

AHEAD = 32
"""Files of one store that are under way at most, each of at most ``SMALL_BYTES``."""

IN_MEMORY_BYTES = 16 << 20
"""Bytes of kept files in memory; what is more goes to a temporary file."""

MOST_SHARED_BYTES = 1 << 30
"""Bytes of tables that a task keeps, because several snapshots may name them; then none more."""


class _Upcoming:
    """What the next tasks of this process read at one place, in their order."""

    def __init__(self, storage: Storage, files: Iterable[StoreFile]) -> None:
        self._storage = storage
        self._todo = deque(
            (storage.relative(file.path), file.size) for file in files if file.size <= SMALL_BYTES
        )
        self._taken: set[str] = set()
        self._started: dict[str, Callable[[], bytes]] = {}
        self._lock = threading.Lock()

    def take(self, relative: str) -> Callable[[], bytes] | None:
        """A file that is under way, if it is; nobody else requests it from now on."""
        with self._lock:
            self._taken.add(relative)
            return self._started.pop(relative, None)

    def start(self, most: int) -> None:
        """Let so many files be under way that nobody has taken yet."""
        with self._lock:
            while self._todo and len(self._started) < most:
                relative, size = self._todo.popleft()
                if relative in self._taken:
                    self._taken.discard(relative)
                else:
                    request = self._storage.request(relative, SMALL_BYTES, size=size)
                    self._started[relative] = request


_places: dict[str, _Upcoming] = {}


@contextmanager
def upcoming(storage: Storage, files: Iterable[StoreFile]) -> Iterator[None]:
    """Let tasks of this process request what those after them read, as long as the block lasts.

    Args:
        storage: of the tasks.
        files: that they read, each once, in the order of the tasks.
    """
    if is_local(storage.url):
        yield
        return
    mine = _Upcoming(storage, files)
    _places[storage.url] = mine
    try:
        yield
    finally:
        if _places.get(storage.url) is mine:
            del _places[storage.url]


class TaskFiles(Storage):
    """A storage as one task reads it.

    One file is read at a time.

    Args:
        storage: where the files lie.

    Attributes:
        turns: keeps decompressed blocks while several stores read the same files in turns; None
            while none do.
        known: what was found out of a file, by path, for all stores that read it.
    """

    def __init__(self, storage: Storage) -> None:
        self.__dict__.update(storage.__dict__)
        self._whole = storage  # what belongs to it goes when it does
        self._to_keep: set[str] = set()
        self._kept: dict[str, tuple[int, int]] = {}
        self._ranges_kept: dict[tuple[str, int, int], tuple[int, int]] = {}
        self._content: Any = None
        self.turns: Turns[Any] | None = None
        self.known: dict[str, Any] = {}

    @contextmanager
    def in_turns(self) -> Iterator[None]:
        """Let stores that read the same few files one after the other share their blocks."""
        self.turns = Turns()
        try:
            yield
        finally:
            self.turns = None

    def keep(self, files: Iterable[StoreFile]) -> None:
        """Announce files that are read more than once; those of this machine are not kept."""
        if self._is_remote:
            self._open_content()
            self._to_keep |= {self.relative(file.path) for file in files}

    def read_range(self, relative: str, start: int, end: int) -> bytes:
        """As of :class:`inspector.checkpoint.storage.Storage`; of a remote one requested once.

        What is read by ranges are tables, which several snapshots may name.
        """
        if not self._is_remote:
            return super().read_range(relative, start, end)
        kept = self._ranges_kept.get((relative, start, end))
        if kept is not None:
            return b"".join(self._between(*kept, LIMITS.chunk_bytes))
        content = super().read_range(relative, start, end)
        self._open_content()
        place = self._content.seek(0, 2)
        if place + len(content) <= MOST_SHARED_BYTES:
            self._content.write(content)
            self._ranges_kept[relative, start, end] = place, place + len(content)
        return content

    def _open_content(self) -> None:
        if self._content is None:
            self._content = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
            weakref.finalize(self, self._content.close)

    def request(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> Callable[[], bytes]:
        """As of :class:`inspector.checkpoint.storage.Storage`; what is there is not requested."""
        if relative in self._kept:
            return partial(self._again, relative)
        place = _places.get(self.url) if self._is_remote else None
        requested = None if place is None else place.take(relative)
        if requested is None:
            requested = super().request(relative, limit, size=size)
        if relative not in self._to_keep:
            return requested
        return partial(self._keeping, relative, requested)

    def stream(
        self, relative: str, chunk_bytes: int = LIMITS.chunk_bytes, *, size: int | None = None
    ) -> Iterator[bytes]:
        """As of :class:`inspector.checkpoint.storage.Storage`; what is there is not requested."""
        if relative in self._kept:
            yield from self._pieces(relative, chunk_bytes)
            return
        chunks = super().stream(relative, chunk_bytes, size=size)
        if relative not in self._to_keep:
            yield from chunks
            return
        start = place = self._content.seek(0, 2)
        for chunk in chunks:
            self._content.seek(place)
            place += self._content.write(chunk)
            yield chunk
        self._kept[relative] = start, place

    def request_upcoming(self, most: int) -> None:
        """Request files of the next tasks, until so many of them are under way."""
        place = _places.get(self.url)
        if place is not None:
            place.start(most)

    def _keeping(self, relative: str, requested: Callable[[], bytes]) -> bytes:
        content = requested()
        start = self._content.seek(0, 2)
        self._content.write(content)
        self._kept[relative] = start, start + len(content)
        return content

    def _again(self, relative: str) -> bytes:
        return b"".join(self._pieces(relative, LIMITS.chunk_bytes))

    def _pieces(self, relative: str, chunk_bytes: int) -> Iterator[bytes]:
        yield from self._between(*self._kept[relative], chunk_bytes)

    def _between(self, place: int, end: int, chunk_bytes: int) -> Iterator[bytes]:
        while place < end:
            self._content.seek(place)
            piece = self._content.read(min(chunk_bytes, end - place))
            place += len(piece)
            yield piece
