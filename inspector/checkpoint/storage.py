"""Reading the storage of a checkpoint. Nothing here writes.

A query may be writing meanwhile: listings are never cached, and a file that was listed may be gone.
Failures are ``OSError``, whatever the driver raised, and name the path but no credentials.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from inspector.checkpoint import local_files
from inspector.checkpoint.drivers import connect, is_async, lists_recursively, note_refusal
from inspector.checkpoint.patience import (
    THREADS,
    Pending,
    in_parallel,
    in_thread,
    patiently,
    translate_error,
)
from inspector.checkpoint.stops import check_stop
from inspector.checkpoint.trees import Entry, Tree, entry_of, tree_of
from inspector.checkpoint.urls import absolute, is_local, join_path, spell_root
from inspector.credentials import learn
from inspector.exceptions import InspectorError, LimitError
from inspector.kernel.loader import c_function
from inspector.model import LIMITS

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

SMALL_BYTES = 256 << 10  # bytes up to which a file is read by one request; larger ones are streamed
DEEPEST = 8  # levels of folders that a walk lists: Spark makes five, and a link may make a circle
CHUNKS_AHEAD = 3  # chunks of a large file that are requested before they are needed


class Storage:
    """A folder on some storage, read only. It can be pickled, because it carries URL and options.

    Attributes:
        url: the folder, in a spelling for any process on the machine.
        options: options of the driver, which may hold credentials.
        root: the folder as the user spelled it, without passwords.
        threads: requests that are useful at the same time; 1 for a local disk.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, str] | None = None,
        root: str | None = None,
        *,
        anew: bool = False,
    ) -> None:
        self.url = absolute(url)  # the place, in a spelling for any process on the machine
        self.options = dict(options or {})  # of the driver; they may hold credentials
        learn(url, options=self.options)
        self.root = spell_root(root or url)  # as the user spelled it, without passwords
        self._fs, self._base = connect(self.url, self.options, anew=anew)
        self._is_remote = not is_local(self.url)
        # Requests that are useful at the same time: threads do not make a local disk faster.
        self.threads = THREADS if self._is_remote else 1

    @classmethod
    def open(cls, url: str, options: Mapping[str, str] | None = None) -> Storage:
        """Open a path or URL, in Spark's spelling or fsspec's; it need not exist.

        EngineError: no driver is installed, with what to install. OSError: the driver refuses URL
        or options. ``true``, ``false`` and JSON objects in options are passed to it as values.
        """
        return cls(url, options, anew=True)

    def __reduce__(self) -> tuple[type[Storage], tuple[str, dict[str, str], str]]:
        return Storage, (self.url, self.options, self.root)

    def __repr__(self) -> str:
        return f"Storage({self.root!r})"

    def at(self, url: str) -> Storage:
        """Return the storage of another URL of the same kind, with the same options."""
        return Storage(url, self.options)

    def full_path(self, relative: str) -> str:
        """Return the path of a file as the user would spell it, for messages and reports."""
        return join_path(self.root, relative)

    def relative(self, full_path: str) -> str:
        """Return the path below the root for a path by :meth:`full_path`."""
        return full_path.removeprefix(self.root).lstrip("/")

    def stat(self, relative: str = "") -> Entry | None:
        """Return the file or folder at a path; None if absent. OSError: no answer."""
        try:
            with _Guard(self, relative):
                if not self._is_remote:
                    return local_files.entry_at(self._path(relative), relative)
                return entry_of(self._info(relative), relative)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, relative: str) -> bool:
        """Return True if there is a file or folder at a path. OSError: no answer."""
        return self.stat(relative) is not None

    def list(self, relative: str = "", *, missing_ok: bool = False) -> tuple[Entry, ...]:
        """Return the entries of a folder, sorted by name; sockets, devices and others are special.

        FileNotFoundError: there is no folder; with ``missing_ok`` the result is empty instead.
        """
        # missing_ok: a folder that is not there is empty, and raises no FileNotFoundError.
        try:
            with _Guard(self, relative):
                return self._listing(relative)
        except FileNotFoundError:
            if not self.exists(relative):
                if missing_ok:
                    return ()
                raise
        # The folder is there: a file went between being named and described (older fsspec).
        with _Guard(self, relative):
            return self._listing(relative)

    def list_many(
        self,
        relatives: Iterable[str],
        *,
        missing_ok: bool = False,
        errors: dict[str, OSError] | None = None,
    ) -> dict[str, tuple[Entry, ...]]:
        """Return the entries of many folders by path, in the order of the paths.

        Errors are put into ``errors`` by path; without it the first one is raised. With
        ``missing_ok`` a missing folder is empty.
        """
        # Without errors the first failure is raised.
        paths = list(dict.fromkeys(relatives))
        entries = in_parallel(partial(self.list, missing_ok=missing_ok), paths, self.threads)
        answer: dict[str, tuple[Entry, ...]] = {}
        for path, listing in zip(paths, entries, strict=True):
            if isinstance(listing, tuple):
                answer[path] = listing
            elif errors is None or not isinstance(listing, OSError):
                raise listing
            else:
                errors[path] = listing
        return answer

    @property
    def lists_all(self) -> bool:
        """True if one listing returns everything below the root, as on object stores."""
        return lists_recursively(self._fs)

    def tree(self) -> Tree | None:
        """Return everything below the root by one listing; None if the storage has no such listing.

        It is also None if the storage refuses that listing or does not answer in time.
        """
        # One that may list some folders only, or whose listing does not come in time, is listed
        # folder by folder (list_many), which says which ones fail.
        if not self.lists_all:
            return None

        def find() -> Mapping[str, Any]:
            """List everything below the root through the driver."""
            entries: Mapping[str, Any] = self._fs.find(self._base, detail=True, withdirs=True)
            return entries

        try:
            with _Guard(self, ""):
                return tree_of(self._ask("", find), self._base)
        except (PermissionError, TimeoutError, NotADirectoryError):
            return None

    def walk(self, folders: Collection[str]) -> Tree:
        """Return the entries of the root and of everything below the ``folders`` in it.

        Raises OSError if a listing fails.
        """
        tree: dict[str, tuple[Entry, ...]] = {}
        level = [""]
        for _ in range(DEEPEST):
            listed = self.list_many(level)
            tree.update(listed)
            entries = (entry for inside in listed.values() for entry in inside)
            level = [e.path for e in entries if e.is_dir and e.path.split("/")[0] in folders]
        return Tree(tree)

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        """Return the bytes of a small file; ``size`` is its size if a listing has it.

        LimitError: it has more than ``limit`` bytes. Raises OSError.
        """
        return self.request(relative, limit, size=size)()

    def request(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> Callable[[], bytes]:
        """Request a whole small remote file now, and return a function that waits for its bytes.

        Without its ``size``, and for a local file, the request is made when the function is called.
        LimitError: it has more than ``limit`` bytes.
        """
        if not self._is_remote:
            return partial(self._read_local, relative, limit)
        # A range of an empty object is an error (HTTP 416), so none is requested.
        if size == 0:
            return bytes
        pending = None
        if size is not None and size <= limit:
            pending = self._fetch(relative, 0, limit + 1)
        return partial(self._request, relative, limit, size, pending)

    def _request(
        self, relative: str, limit: int, size: int | None, pending: Pending[bytes] | None
    ) -> bytes:
        """Return the bytes of a remote file, from the request that is pending or a new one.

        ``size`` is its size; None if it is unknown. LimitError: it has more than ``limit`` bytes.
        """
        with _Guard(self, relative):
            known_size = self._file_size(relative) if size is None else size
            data = b""
            if 0 < known_size <= limit:
                pending = pending or self._fetch(relative, 0, limit + 1)
                data = bytes(pending.result())
        return self._check_limit(relative, data, max(known_size, len(data)), limit)

    def _read_local(self, relative: str, limit: int) -> bytes:
        """Return the bytes of a local file. LimitError: it has more than ``limit`` bytes."""
        with _Guard(self, relative):
            data, size = local_files.read_at_most(self._path(relative), limit + 1)
        return self._check_limit(relative, data, max(size, len(data)), limit)

    def read_some(self, relatives: Iterable[str], room: int) -> Sequence[bytes]:
        """Return the bytes of some small local files, up to the first one with an error.

        All together have less than ``room`` bytes. Empty for remote files and without the C kernel.
        """
        # They have fewer bytes than room together. Only the compiled kernel reads so.
        read = None if self._is_remote else c_function("read_files")
        if read is None:
            return ()
        start = self._path("?")[:-1]
        paths = tuple([os.fsencode(start + relative) for relative in relatives])
        contents: list[bytes] = read(paths, room)
        READ.add(sum(map(len, contents)))
        return contents

    def _check_limit(self, relative: str, data: bytes, size: int, limit: int) -> bytes:
        """Return a file's data and count its bytes. LimitError: its size is above the limit."""
        if size > limit:
            error = LimitError(f"file has {size} bytes, at most {limit} are read")
            raise error.at(self.full_path(relative))
        READ.add(len(data))
        return data

    def read_range(self, relative: str, start: int, end: int) -> bytes:
        """Return the bytes of a file from ``start`` to ``end``, or to its end. Raises OSError."""
        if end <= start:
            return b""
        with _Guard(self, relative):
            if self._is_remote:
                content = bytes(self._fetch(relative, start, end).result())
            else:
                content = local_files.read_range(self._path(relative), start, end)
        READ.add(len(content))
        return content

    def read_many(
        self, entries: Iterable[Entry], limit: int = LIMITS.small_file_bytes
    ) -> dict[str, bytes | OSError | InspectorError]:
        """Read many small files at once, and return by path their content or the error."""
        entries = tuple(entries)
        result = in_parallel(lambda e: self.read(e.path, limit, size=e.size), entries, self.threads)
        return {entry.path: content for entry, content in zip(entries, result, strict=True)}

    def stream(
        self, relative: str, chunk_bytes: int = LIMITS.chunk_bytes, *, size: int | None = None
    ) -> Iterator[bytes]:
        """Yield a file from start to end in chunks of at most ``chunk_bytes``, one request each.

        With its ``size`` the next chunks are requested ahead. Raises OSError.
        """
        # If a listing has the size, the next chunks are requested ahead.
        if not self._is_remote:
            chunks = local_files.chunks(self._path(relative), chunk_bytes)
        elif is_async(self._fs) and size is not None:
            chunks = self._ranges(relative, chunk_bytes, size)
        else:
            chunks = self._open(relative, chunk_bytes)
        while True:
            with _Guard(self, relative):
                chunk = next(chunks, b"")
            if not chunk:
                return
            READ.add(len(chunk))
            yield chunk

    def _ranges(self, relative: str, chunk_bytes: int, size: int) -> Iterator[bytes]:
        """Yield a remote file in chunks, some of which are requested ahead."""
        locations = iter(range(0, size, chunk_bytes))
        pending: deque[Pending[bytes]] = deque()
        while True:
            while len(pending) <= CHUNKS_AHEAD and (start := next(locations, None)) is not None:
                end = min(start + chunk_bytes, size)
                pending.append(self._fetch(relative, start, end))
            if not pending:
                return
            yield bytes(pending.popleft().result())

    def _open(self, relative: str, chunk_bytes: int) -> Iterator[bytes]:
        """Yield a remote file in chunks, one after the other."""
        opened: list[Any] = []
        location = 0

        def read() -> bytes:
            """Return the next chunk, through an open file or a new one after a failure."""
            # One that fails, or hangs, is not used again.
            file = opened.pop() if opened else self._open_at(relative, location)
            chunk = bytes(file.read(chunk_bytes))
            opened.append(file)
            return chunk

        try:
            while chunk := self._ask(relative, read):
                location += len(chunk)
                yield chunk
        finally:
            for file in opened:
                file.close()

    def _open_at(self, relative: str, start: int) -> Any:
        """Return the driver's open file, at a position."""
        # Without a cache each read is one ranged request, and memory holds one chunk.
        file = self._fs.open(self._path(relative), "rb", cache_type="none")
        if start:
            file.seek(start)
        return file

    def _path(self, relative: str) -> str:
        """Return the path of a file as the driver takes it."""
        return join_path(self._base, relative)

    def _listing(self, relative: str) -> tuple[Entry, ...]:
        """Return the entries of a folder by name. NotADirectoryError: it is a file."""
        base = self._path(relative)
        if not self._is_remote:
            return local_files.listing(base, relative)
        entries: dict[str, Entry] = {}
        for info in self._ask(relative, lambda: self._fs.ls(base, detail=True)):
            if str(info["name"]).strip("/") == base.strip("/"):
                if info["type"] == "file" and not str(info["name"]).endswith("/"):
                    raise NotADirectoryError("it is a file, not a folder")
                continue  # the marker object by which some stores keep an empty folder
            name = str(info["name"]).rstrip("/").rsplit("/", 1)[-1]
            entries[name] = entry_of(info, f"{relative}/{name}" if relative else name)
        return tuple(entries[name] for name in sorted(entries))

    def _info(self, relative: str) -> Any:
        """Return the driver's description of a file or folder."""
        return self._ask(relative, lambda: self._fs.info(self._path(relative)))

    def _ask(self, relative: str, request: Callable[[], T]) -> T:
        """Return the answer of a request to the driver, made with patience."""
        return patiently(request, self.full_path(relative))

    def _file_size(self, relative: str) -> int:
        """Return the size of a remote file in bytes. OSError: it is no file."""
        info = self._info(relative)
        if info["type"] == "directory":
            raise IsADirectoryError("it is a folder, not a file")
        if info["type"] != "file":
            raise OSError("it is neither a file nor a folder")
        return int(info.get("size") or 0)

    def _fetch(self, relative: str, start: int, end: int) -> Pending[bytes]:
        """Request a range of a remote file now, and return the pending answer."""
        path = self._path(relative)
        if is_async(self._fs):
            from asyncio import run_coroutine_threadsafe  # noqa: PLC0415 - as fsspec: where remote

            def begin() -> Future[bytes]:
                """Start the request."""
                request: Coroutine[Any, Any, bytes] = self._fs._cat_file(path, start=start, end=end)
                return run_coroutine_threadsafe(request, self._fs.loop)
        else:

            def begin() -> Future[bytes]:
                """Start the request in a thread."""
                return in_thread(lambda: self._fs.cat_file(path, start=start, end=end))

        return Pending(begin, self.full_path(relative))


class _Guard:
    """Context that turns every error of a driver into an ``OSError`` with the path.

    Errors of this package pass through.
    """

    # A context manager by contextlib takes as long as to open a small file.

    def __init__(self, storage: Storage, relative: str) -> None:
        self._storage, self._relative = storage, relative

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # Drivers raise whatever their makers liked.
        if isinstance(error, Exception) and not isinstance(error, (InspectorError, MemoryError)):
            storage = self._storage
            path = storage.full_path(self._relative)
            failure = translate_error(error, path, storage.options)
            if isinstance(failure, PermissionError):
                note_refusal(storage._fs)
            raise failure from None


def parts_of(size: int) -> int:
    """Return the number of requests that read a remote file of ``size`` bytes from start to end."""
    return -(-size // LIMITS.chunk_bytes) if size > SMALL_BYTES else int(size > 0)


class Meter:
    """Counter of bytes that have been read, for several threads.

    Attributes:
        bytes: all bytes counted so far.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.bytes = 0  # all that has been counted

    def add(self, count: int) -> None:
        """Add a number of bytes; WorkStoppedError if the work of this thread is to stop."""
        check_stop()
        with self._lock:
            self.bytes += count


READ = Meter()  # bytes read from all storages since the process began
