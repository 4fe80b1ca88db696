"""Small files of a remote storage, requested before their turn.

A delta often has a few hundred bytes, and an object store takes its 50 ms for each: a partition of
100 versions would wait for five seconds. So the next few files of a chain are under way while one
is read, and behind the last one those of the tasks that come next
(:mod:`inspector.providers.task_files`). Local files need none of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from inspector.checkpoint.storage import SMALL_BYTES, Storage
from inspector.checkpoint.urls import is_local
from inspector.exceptions import LimitError
from inspector.model import StoreFile
from inspector.providers.task_files import AHEAD, TaskFiles


class ReadAhead:
    """Reads the files of one store in an order that is known before.

    Args:
        storage: where they lie.
        files: in the order in which they will be read; others may be read too.
    """

    def __init__(self, storage: Storage, files: Sequence[StoreFile] = ()) -> None:
        self._storage = storage
        self._is_remote = not is_local(storage.url)
        self._todo: deque[StoreFile] = deque()
        self._under_way: dict[str, Callable[[], bytes]] = {}
        self.expect(files)

    def expect(self, files: Sequence[StoreFile]) -> None:
        """Announce which files will be read next, and in which order."""
        if self._is_remote:
            small = (file for file in files if file.size <= SMALL_BYTES)
            self._todo = deque(file for file in small if file.path not in self._under_way)

    def chunks(self, file: StoreFile) -> Iterator[bytes]:
        """A file from start to end.

        Raises:
            OSError: it cannot be read.
        """
        self._fill()
        if file.size <= SMALL_BYTES:
            try:
                content = self._requested(file)()
            except LimitError:
                pass  # It has grown since it was listed: the query has written it again.
            else:
                yield content
                return
        yield from self._storage.stream(self._storage.relative(file.path), size=file.size)

    def whole(self, file: StoreFile) -> bytes:
        """A small file.

        Raises:
            LimitError: it has more bytes than such a file may have.
            OSError: it cannot be read.
        """
        self._fill()
        try:
            return self._requested(file)()
        except LimitError:
            return self._storage.read(self._storage.relative(file.path))

    def _requested(self, file: StoreFile) -> Callable[[], bytes]:
        requested = self._under_way.pop(file.path, None)
        if requested is not None:
            return requested
        relative = self._storage.relative(file.path)
        return self._storage.request(relative, SMALL_BYTES, size=file.size)

    def _fill(self) -> None:
        while self._todo and len(self._under_way) < AHEAD:
            file = self._todo.popleft()
            self._under_way[file.path] = self._requested(file)
        if self._is_remote and isinstance(self._storage, TaskFiles):
            self._storage.request_upcoming(AHEAD - len(self._under_way))
