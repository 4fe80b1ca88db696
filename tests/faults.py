"""Storages that fail, or move, while they are read: for whatever reads through ``Storage``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from inspector.checkpoint.storage import Storage
from inspector.exceptions import InspectorError


@contextmanager
def before_each_read(act: Callable[[Storage, str], None]) -> Iterator[None]:
    """Call ``act`` with the storage and the path of each file before it is read.

    It may raise: that is what the storage answers. A file that is requested ahead of its use is
    read when its bytes are asked for, as it is on this machine. Threads that read wait for each
    other here: what one call moves on is whole before the next.
    """
    lock = threading.RLock()

    def before(storage: Storage, relative: str) -> None:
        with lock:
            act(storage, relative)

    request, stream, read_range = Storage.request, Storage.stream, Storage.read_range
    read_local, sample = Storage._read_local, Storage.read_some

    def read_locally(self: Storage, relative: str, limit: int) -> bytes:
        before(self, relative)
        return read_local(self, relative, limit)

    def read_some(self: Storage, relatives: Iterable[str], room: int) -> Sequence[bytes]:
        good = list[str]()
        with suppress(OSError, InspectorError):  # who reads that one again is told
            for relative in relatives:
                before(self, relative)
                good.append(relative)
        return sample(self, good, room)

    def requested(self: Storage, relative: str, *args: Any, **kwargs: Any) -> Callable[[], bytes]:
        if not self._is_remote:
            return request(self, relative, *args, **kwargs)

        def answer() -> bytes:
            before(self, relative)
            return request(self, relative, *args, **kwargs)()

        return answer

    def streamed(self: Storage, relative: str, *args: Any, **kwargs: Any) -> Iterator[bytes]:
        before(self, relative)
        return stream(self, relative, *args, **kwargs)

    def ranged(self: Storage, relative: str, start: int, end: int) -> bytes:
        before(self, relative)
        return read_range(self, relative, start, end)

    # Storage.read is a request that is waited for at once, or reads what is on this machine.
    with (
        mock.patch.object(Storage, "_read_local", read_locally),
        mock.patch.object(Storage, "read_some", read_some),
        mock.patch.object(Storage, "request", requested),
        mock.patch.object(Storage, "stream", streamed),
        mock.patch.object(Storage, "read_range", ranged),
    ):
        yield


@contextmanager
def refusing(name: str, error: OSError) -> Iterator[None]:
    """The storage answers with an error where the file of a name is to be read."""

    def act(storage: Storage, relative: str) -> None:
        if relative.rsplit("/", 1)[-1] == name:
            raise type(error)(f"{storage.full_path(relative)}: {error}")

    with before_each_read(act):
        yield
