"""Small files of a remote storage, requested before their turn.

A delta often has a few hundred bytes, and an object store takes its 50 ms for each: a partition of
100 versions would wait for five seconds. So the next few files of a chain are under way while one
is read. Local files need none of it.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import is_local
from inspector.exceptions import LimitError
from inspector.model import StoreFile

AHEAD = 32
"""Files of one store that are under way at most."""

SMALL_BYTES = 256 << 10
"""Larger files are streamed when their turn comes; so ``AHEAD`` of these is what is held."""


class ReadAhead:
    """Reads the files of one store in an order that is known before.

    Its threads go when it does, as an executor's do with the executor: a Python worker of Spark
    goes on to other jobs.

    Args:
        storage: where they lie.
        files: in the order in which they will be read; others may be read too.
    """

    def __init__(self, storage: Storage, files: Sequence[StoreFile] = ()) -> None:
        self._storage = storage
        small = (file for file in files if file.size <= SMALL_BYTES)
        self._todo = deque(() if is_local(storage.url) else small)
        self._under_way: dict[str, Future[bytes]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def chunks(self, file: StoreFile) -> Iterator[bytes]:
        """A file from start to end.

        Raises:
            OSError: it cannot be read.
        """
        self._fill()
        requested = self._under_way.pop(file.path, None)
        relative = self._storage.relative(file.path)
        if requested is not None:
            try:
                content = requested.result()
            except LimitError:
                pass  # It has grown since it was listed: the query has written it again.
            else:
                yield content
                return
        yield from self._storage.stream(relative)

    def _fill(self) -> None:
        while self._todo and len(self._under_way) < AHEAD:
            file = self._todo.popleft()
            read = functools.partial(
                self._storage.read,
                self._storage.relative(file.path),
                limit=SMALL_BYTES,
                size=file.size,
            )
            self._under_way[file.path] = self._threads().submit(read)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(AHEAD, thread_name_prefix="read-ahead")
        return self._pool
