"""Files of one task: each is requested once, some before the task begins.

An object store takes 50 ms for every file. So the next few files of a chain are requested while one
is read (:class:`ReadAhead`), and after the last one the files of the next tasks (:func:`upcoming`).
A remote file that a task reads more than once is kept from its first read.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from inspector.checkpoint.storage import SMALL_BYTES, Storage
from inspector.checkpoint.urls import is_local
from inspector.exceptions import LimitError
from inspector.light_dataclasses import dataclass, field
from inspector.model import LIMITS, StoreFile

if TYPE_CHECKING:  # what is kept is decoded elsewhere
    from inspector.decode.records import Scanned

AHEAD = 32  # most files of one store that are requested ahead, each of at most ``SMALL_BYTES``
IN_MEMORY_BYTES = 16 << 20  # bytes of kept files in memory; more go to a temporary file
# most bytes of tables that a task keeps, because several snapshots may name them
MOST_SHARED_BYTES = 1 << 30


class _Upcoming:
    """Small files of the next tasks, some of them requested ahead."""

    def __init__(self, storage: Storage, files: Iterable[StoreFile]) -> None:
        self._storage = storage
        small = (file for file in files if file.size <= SMALL_BYTES)
        self._todo = deque((storage.relative(file.path), file.size) for file in small)
        self._taken: set[str] = set()
        self._started: dict[str, Callable[[], bytes]] = {}
        self._lock = threading.Lock()

    def take(self, relative: str) -> Callable[[], bytes] | None:
        """Return a file's pending request, or None; it will not be requested here again."""
        with self._lock:
            self._taken.add(relative)
            return self._started.pop(relative, None)

    def start(self, max_files: int) -> None:
        """Request files until ``max_files`` requests are waiting to be taken."""
        with self._lock:
            while self._todo and len(self._started) < max_files:
                relative, size = self._todo.popleft()
                if relative in self._taken:
                    self._taken.discard(relative)
                else:
                    request = self._storage.request(relative, SMALL_BYTES, size=size)
                    self._started[relative] = request


_places: dict[str, _Upcoming] = {}  # files of the next tasks by the URL of their storage


@contextmanager
def upcoming(storage: Storage, files: Iterable[StoreFile]) -> Iterator[None]:
    """Let tasks request the small ``files`` of the next tasks ahead while the block runs.

    ``files`` are in the order of reading. Nothing is done for local files.
    """
    if is_local(storage.url):
        yield
        return
    requested = _Upcoming(storage, files)
    _places[storage.url] = requested
    try:
        yield
    finally:
        if _places.get(storage.url) is requested:
            del _places[storage.url]


class TaskFiles(Storage):
    """Storage that keeps files which a task reads more than once.

    Attributes:
        turns: shares blocks of files while several stores read them in turns; else None.
        known: facts about files that stores share, by path.
    """

    def __init__(self, storage: Storage) -> None:
        self.__dict__.update(storage.__dict__)
        self._owner = storage  # what belongs to it goes when it does
        self._to_keep: set[str] = set()
        # Position in the content of each file, by path, and of each range of a file.
        self._kept: dict[str | tuple[str, int, int], tuple[int, int]] = {}
        self._content: Any = None
        self.turns: Turns | None = None  # while several stores read the same files in turns
        self.known: dict[str, Any] = {}  # what stores know of files that they share, by path

    @contextmanager
    def in_turns(self) -> Iterator[None]:
        """Let stores share the blocks of the files that they read, while the block runs."""
        self.turns = Turns()
        try:
            yield
        finally:
            self.turns = None

    def keep(self, files: Iterable[StoreFile]) -> None:
        """Announce files that are read more than once, so that remote ones are kept."""
        if self._is_remote:
            self._open_content()
            self._to_keep |= {self.relative(file.path) for file in files}

    def read_range(self, relative: str, start: int, end: int) -> bytes:
        """Return a range of a file; a remote range is kept, because tables are shared."""
        if not self._is_remote:
            return super().read_range(relative, start, end)
        key = relative, start, end
        if key in self._kept:
            return self._content_in_cache(key)
        content = super().read_range(relative, start, end)
        self._open_content()
        if self._content.seek(0, 2) + len(content) <= MOST_SHARED_BYTES:
            self._keep_content(key, content)
        return content

    def _open_content(self) -> None:
        """Open the temporary file with kept content, once."""
        if self._content is None:
            import tempfile  # noqa: PLC0415 - only for remote storages

            self._content = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
            weakref.finalize(self, self._content.close)

    def request(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> Callable[[], bytes]:
        """Request a file as Storage does; a file that is kept is not requested again."""
        if relative in self._kept:
            return partial(self._content_in_cache, relative)
        next_tasks = _places.get(self.url) if self._is_remote else None
        requested = None if next_tasks is None else next_tasks.take(relative)
        if requested is None:
            requested = super().request(relative, limit, size=size)
        if relative not in self._to_keep:
            return requested
        return partial(self._keeping, relative, requested)

    def stream(
        self, relative: str, chunk_bytes: int = LIMITS.chunk_bytes, *, size: int | None = None
    ) -> Iterator[bytes]:
        """Yield a file in chunks as Storage does; a file that is kept is not requested again."""
        if relative in self._kept:
            yield from self._between(*self._kept[relative], chunk_bytes)
            return
        chunks = super().stream(relative, chunk_bytes, size=size)
        if relative not in self._to_keep:
            yield from chunks
            return
        start = location = self._content.seek(0, 2)
        for chunk in chunks:
            self._content.seek(location)
            location += self._content.write(chunk)
            yield chunk
        self._kept[relative] = start, location

    def request_upcoming(self, max_files: int) -> None:
        """Request files of the next tasks until ``max_files`` requests are pending."""
        next_tasks = _places.get(self.url)
        if next_tasks is not None:
            next_tasks.start(max_files)

    def _keeping(self, relative: str, requested: Callable[[], bytes]) -> bytes:
        """Return the answer of a request, and keep it."""
        content = requested()
        self._keep_content(relative, content)
        return content

    def _keep_content(self, key: str | tuple[str, int, int], content: bytes) -> None:
        """Keep a content under a path or range."""
        start = self._content.seek(0, 2)
        self._content.write(content)
        self._kept[key] = start, start + len(content)

    def _content_in_cache(self, key: str | tuple[str, int, int]) -> bytes:
        """Return the content that is in the cache under a path or range; KeyError if none is."""
        return b"".join(self._between(*self._kept[key], LIMITS.chunk_bytes))

    def _between(self, start: int, end: int, chunk_bytes: int) -> Iterator[bytes]:
        """Yield the kept content between two positions in chunks."""
        while start < end:
            self._content.seek(start)
            piece = self._content.read(min(chunk_bytes, end - start))
            start += len(piece)
            yield piece


class ReadAhead:
    """Reads the files of one store in an announced order, and requests the next ones ahead.

    Other files may be read too.
    """

    def __init__(self, storage: Storage, files: Sequence[StoreFile] = ()) -> None:
        self._storage = storage
        self.is_remote = not is_local(storage.url)
        self._todo: deque[StoreFile] = deque()
        self._under_way: dict[str, Callable[[], bytes]] = {}
        self.expect(files)

    def expect(self, files: Iterable[StoreFile]) -> None:
        """Announce the files that will be read next, in their order."""
        if self.is_remote:
            small = (file for file in files if file.size <= SMALL_BYTES)
            self._todo = deque(file for file in small if file.path not in self._under_way)

    def chunks(self, file: StoreFile) -> Iterator[bytes]:
        """Yield a file from start to end in chunks. OSError: it cannot be read."""
        self._fill()
        if file.size <= SMALL_BYTES:
            try:
                content = self._request(file)()
            except LimitError:
                pass  # It has grown since it was listed: the query has written it again.
            else:
                yield content
                return
        yield from self._storage.stream(self._storage.relative(file.path), size=file.size)

    def whole(self, file: StoreFile) -> bytes:
        """Return the bytes of a small file. LimitError: it is too large. OSError: unreadable."""
        self._fill()
        try:
            return self._request(file)()
        except LimitError:
            return self._storage.read(self._storage.relative(file.path))

    def _request(self, file: StoreFile) -> Callable[[], bytes]:
        """Return the pending request of a file, or a new one."""
        requested = self._under_way.pop(file.path, None)
        if requested is not None:
            return requested
        relative = self._storage.relative(file.path)
        return self._storage.request(relative, SMALL_BYTES, size=file.size)

    def _fill(self) -> None:
        """Request the next files, of this store and then of the next tasks."""
        while self._todo and len(self._under_way) < AHEAD:
            file = self._todo.popleft()
            self._under_way[file.path] = self._request(file)
        if self.is_remote and isinstance(self._storage, TaskFiles):
            self._storage.request_upcoming(AHEAD - len(self._under_way))


# most bytes of one file's last blocks that are kept; a reader that is further behind reads the file
MOST_BYTES = 4 << 20


@dataclass
class _Made:
    """Last blocks of a file that its first reader has made so far."""

    last: deque[Scanned] = field(default_factory=deque)  # these blocks
    nbytes: int = 0  # their bytes
    count: int = 0  # number of all blocks so far
    whole: bool = False  # True if the first reader has reached the end

    def add(self, block: Scanned, most_bytes: int) -> None:
        """Keep one more block, and drop the oldest ones above ``most_bytes``."""
        self.last.append(block)
        self.count += 1
        self.nbytes += block.nbytes
        while self.nbytes > most_bytes:
            self.nbytes -= self.last.popleft().nbytes

    def since(self, index: int) -> Iterator[Scanned]:
        """Yield the kept blocks from an index on; nothing if that one was dropped."""
        while self.count - len(self.last) <= index < self.count:
            yield self.last[index - self.count]
            index += 1


class Turns:
    """Gives all readers of a file the blocks that the first one of them has made.

    Readers may take turns by block or by file. A reader that comes to a dropped block reads the
    file itself from there on.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._files: dict[str, _Made] = {}

    def blocks(
        self,
        path: str,
        make: Callable[[], Iterator[Scanned]],
        again: Callable[[], Iterator[Scanned]] | None = None,
    ) -> Iterator[Scanned]:
        """Yield the blocks of a file, which the first reader makes by ``make``.

        ``again`` reads only the needed part of a file that was read to the end, if its blocks were
        dropped.
        """
        file_blocks = self._files.get(path)
        if file_blocks is None:
            file_blocks = self._files[path] = _Made()
            for block in make():
                file_blocks.add(block, self._most)
                yield block
            file_blocks.whole = True
            return
        index = 0
        for block in file_blocks.since(0):
            index += 1
            yield block
        if file_blocks.whole and index == file_blocks.count:
            return
        if file_blocks.whole and not index and again is not None:
            yield from again()
        else:
            yield from islice(make(), index, None)


def check_identity(storage: Storage, file: StoreFile) -> None:
    """Raise FileNotFoundError if a file was removed or rewritten since it was listed."""
    # Spark removes versions while they are read, and a batch that runs again writes them again.
    entry = storage.stat(storage.relative(file.path))
    if entry is None:
        gone = "the file was listed, but had been removed when it was read"
        raise FileNotFoundError(f"{file.path}: {gone}")
    if entry.is_file and entry.size != file.size:
        raise FileNotFoundError(f"{file.path}: the file was rewritten while it was being read")
