"""Reading the storage a checkpoint lies on; the only module that knows fsspec. Nothing here writes.

A query may be writing while we read: listings are never cached, and a file that was listed may be
gone when it is read. Failures of the storage are ``OSError`` (a missing file
``FileNotFoundError``), whatever the driver raised, and name the path but no credentials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import fsspec

from inspector.checkpoint.entries import Entry, entry_of
from inspector.checkpoint.faults import translated
from inspector.checkpoint.meter import READ
from inspector.checkpoint.parallel import in_parallel
from inspector.checkpoint.patience import patiently
from inspector.checkpoint.urls import (
    absolute,
    is_local,
    missing_driver,
    translate,
    typed_options,
)
from inspector.credentials import learn, redact
from inspector.exceptions import EngineError, InspectorError, LimitError
from inspector.model import LIMITS

T = TypeVar("T")

S3_CONNECTIONS = 64

_PLAIN = frozenset({"file", "directory"})


class Storage:
    """A folder on some storage, read only. Picklable: what it carries is the URL and the options.

    Attributes:
        url: the place, in a spelling that any process on the machine can open.
        options: options of the driver, as the user set them; they may hold credentials.
        root: the place as the user spelled it, for messages; without passwords.
    """

    def __init__(
        self, url: str, options: Mapping[str, str] | None = None, root: str | None = None
    ) -> None:
        self.url = absolute(url)
        self.options = dict(options or {})
        learn(url, options=self.options)
        self.root = _shown(root or url)
        self._fs, self._base = _connect(self.url, self.options)
        self._is_remote = not is_local(self.url)

    @classmethod
    def open(cls, url: str, options: Mapping[str, str] | None = None) -> Storage:
        """Open a path or URL, in Spark's spelling or fsspec's; nothing need exist there.

        Args:
            url: local path, ``file:/``, ``s3a://``, ``abfss://``, ``hdfs://``, ``memory://``, ...
            options: the driver's options (credentials, endpoint); ``true``, ``false`` and JSON
                objects go to the driver as such.

        Raises:
            EngineError: no driver for this kind of URL is installed; says what to install.
            OSError: the driver refuses the URL or the options.
        """
        return cls(url, options)

    def __reduce__(self) -> tuple[type[Storage], tuple[str, dict[str, str], str]]:
        return Storage, (self.url, self.options, self.root)

    def __repr__(self) -> str:
        return f"Storage({self.root!r})"

    def at(self, url: str) -> Storage:
        """Another place on the same kind of storage, with the same options."""
        return Storage(url, self.options)

    def full_path(self, relative: str) -> str:
        """The path of a file as the user would spell it, for messages and reports."""
        return _joined(self.root, relative)

    def relative(self, full_path: str) -> str:
        """The inverse of :meth:`full_path`."""
        return full_path.removeprefix(self.root).lstrip("/")

    def stat(self, relative: str = "") -> Entry | None:
        """The file or folder at a path, or None if nothing is there.

        Raises:
            OSError: the storage did not answer; that is not the same as absent.
        """
        try:
            with self._guard(relative):
                return entry_of(self._info(relative), relative)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, relative: str) -> bool:
        """Whether there is a file or folder at a path; see :meth:`stat`."""
        return self.stat(relative) is not None

    def list(self, relative: str = "", *, missing_ok: bool = False) -> tuple[Entry, ...]:
        """What a folder holds, sorted by name; sockets, devices and the like are left out.

        Raises:
            FileNotFoundError: there is no such folder, unless ``missing_ok``: then it is empty.
            OSError: it cannot be listed, or is a file.
        """
        try:
            with self._guard(relative):
                return self._listing(relative)
        except FileNotFoundError:
            if not self.exists(relative):
                if missing_ok:
                    return ()
                raise
        # The folder is there: a file went between being named and described (older fsspec).
        with self._guard(relative):
            return self._listing(relative)

    def list_many(
        self,
        relatives: Iterable[str],
        *,
        missing_ok: bool = False,
        errors: dict[str, OSError] | None = None,
    ) -> dict[str, tuple[Entry, ...]]:
        """List many folders at once.

        Args:
            relatives: the folders; the answer has their order.
            missing_ok: a folder that is not there is empty.
            errors: where to put the failures. Without it the first failure is raised; with it a
                folder that failed is absent from the answer.
        """
        paths = list(dict.fromkeys(relatives))
        found = in_parallel(lambda path: self.list(path, missing_ok=missing_ok), paths)
        answer: dict[str, tuple[Entry, ...]] = {}
        for path, listing in zip(paths, found, strict=True):
            if isinstance(listing, tuple):
                answer[path] = listing
            elif errors is None or not isinstance(listing, OSError):
                raise listing
            else:
                errors[path] = listing
        return answer

    def read(
        self, relative: str, limit: int = LIMITS.small_file_bytes, *, size: int | None = None
    ) -> bytes:
        """A whole small file.

        Args:
            relative: its path.
            limit: the most bytes it may have.
            size: its size, if a listing has it; saves a request.

        Raises:
            LimitError: the file is larger than ``limit``.
            OSError: it cannot be read.
        """
        with self._guard(relative):
            known = self._file_size(relative) if size is None else size
            # A range of an empty object is an error (HTTP 416), so none is requested.
            if known == 0:
                return b""
            data = b"" if known > limit else self._fetch(relative, limit + 1)
        if max(known, len(data)) > limit:
            got = max(known, len(data))
            raise LimitError(f"file has {got} bytes, at most {limit} are read").at(
                self.full_path(relative)
            )
        return data

    def read_range(self, relative: str, start: int, end: int) -> bytes:
        """The bytes of a file from one place to another; fewer where it ends before.

        Raises:
            OSError: they cannot be read.
        """
        if end <= start:
            return b""
        with self._guard(relative):
            return self._fetch(relative, end, start)

    def read_many(
        self, entries: Iterable[Entry], limit: int = LIMITS.small_file_bytes
    ) -> dict[str, bytes | OSError | InspectorError]:
        """Read many small files at once: path -> content, or why there is none."""
        entries = tuple(entries)
        found = in_parallel(lambda entry: self.read(entry.path, limit, size=entry.size), entries)
        return {entry.path: content for entry, content in zip(entries, found, strict=True)}

    def stream(self, relative: str, chunk_bytes: int = LIMITS.chunk_bytes) -> Iterator[bytes]:
        """A file from start to end in chunks of at most ``chunk_bytes``, one request each.

        Raises:
            OSError: at the chunk that cannot be read.
        """
        opened = _Opened(self, relative)
        place = 0
        try:
            while True:
                with self._guard(relative):
                    chunk = self._asked(relative, partial(opened.read, place, chunk_bytes))
                if not chunk:
                    return
                place += len(chunk)
                READ.add(len(chunk))
                yield chunk
        finally:
            opened.close()

    def _path(self, relative: str) -> str:
        return _joined(self._base, relative)

    def _listing(self, relative: str) -> tuple[Entry, ...]:
        base = self._path(relative)
        found: dict[str, Entry] = {}
        for info in self._asked(relative, lambda: self._fs.ls(base, detail=True)):
            if str(info["name"]).strip("/") == base.strip("/"):
                if info["type"] == "file" and not str(info["name"]).endswith("/"):
                    raise NotADirectoryError("it is a file, not a folder")
                continue  # the marker object by which some stores keep an empty folder
            name = str(info["name"]).rstrip("/").rsplit("/", 1)[-1]
            entry = self._followed(info, f"{relative}/{name}" if relative else name)
            if entry is not None:
                found[name] = entry
        return tuple(found[name] for name in sorted(found))

    def _followed(self, info: Mapping[str, Any], relative: str) -> Entry | None:
        if info.get("islink") and info["type"] not in _PLAIN:
            # fsspec's local listing does not follow symbolic links; its info() does.
            try:
                info = self._fs.info(self._path(relative))
            except OSError:
                return None
        return entry_of(info, relative) if info["type"] in _PLAIN else None

    def _info(self, relative: str) -> Any:
        return self._asked(relative, lambda: self._fs.info(self._path(relative)))

    def _asked(self, relative: str, request: Callable[[], T]) -> T:
        """The answer to a request; of a local disk it is not waited for with a clock."""
        return patiently(request, self.full_path(relative)) if self._is_remote else request()

    def _file_size(self, relative: str) -> int:
        info = self._info(relative)
        if info["type"] == "directory":
            raise IsADirectoryError("it is a folder, not a file")
        if info["type"] != "file":
            raise OSError("it is neither a file nor a folder")
        return int(info.get("size") or 0)

    def _fetch(self, relative: str, end: int, start: int = 0) -> bytes:
        path = self._path(relative)
        content = bytes(
            self._asked(relative, lambda: self._fs.cat_file(path, start=start, end=end))
        )
        READ.add(len(content))
        return content

    @contextmanager
    def _guard(self, relative: str) -> Iterator[None]:
        """Let only errors of this package and ``OSError`` with a path out of a driver."""
        try:
            yield
        except (InspectorError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - drivers raise whatever their makers liked
            raise translated(error, self.full_path(relative), self.options) from None


class _Opened:
    """A file that is read from some place on, and opened anew if a read has failed."""

    def __init__(self, storage: Storage, relative: str) -> None:
        self._storage, self._relative = storage, relative
        self._file: Any = None

    def read(self, place: int, size: int) -> bytes:
        """The next bytes from a place on; empty at the end."""
        file, self._file = self._file, None  # one that fails, or hangs, is not used again
        if file is None:
            # Without a cache each read is one ranged request, and memory holds one chunk.
            system, path = self._storage._fs, self._storage._path(self._relative)
            file = system.open(path, "rb", cache_type="none")
            if place:
                file.seek(place)
        chunk = bytes(file.read(size))
        self._file = file
        return chunk

    def close(self) -> None:
        """Close what is open."""
        if self._file is not None:
            self._file.close()


def _joined(root: str, relative: str) -> str:
    if not relative:
        return root
    return f"{root}{relative}" if root.endswith("/") else f"{root}/{relative}"


def _shown(url: str) -> str:
    shown = url if is_local(url) else redact(url)
    return shown if shown.endswith("://") else shown.rstrip("/") or "/"


def _connect(url: str, options: Mapping[str, str]) -> tuple[Any, str]:
    address = translate(url)
    try:
        driver = fsspec.get_filesystem_class(address.protocol)
    except (ImportError, ValueError) as error:
        raise EngineError(missing_driver(address.protocol, error), redact(url)) from error
    target = str(driver._strip_protocol(address.target))
    if address.protocol == "file":
        # fsspec would expand "~" and resolve against its own idea of the working folder.
        return driver(skip_instance_cache=True, use_listings_cache=False), address.target
    settings = {**driver._get_kwargs_from_urls(address.target), **address.options}
    if address.protocol == "s3":
        # The client's own is 10: fewer than are asked for at once.
        settings["config_kwargs"] = {"max_pool_connections": S3_CONNECTIONS}
    settings |= typed_options(options)
    try:
        system = driver(**settings, skip_instance_cache=True, use_listings_cache=False)
    except Exception as error:  # noqa: BLE001 - drivers raise whatever their makers liked
        reason = redact(f"{type(error).__name__}: {error}", options)
        if isinstance(error, ImportError) or "libhdfs" in reason or "libjvm" in reason:
            raise EngineError(missing_driver(address.protocol, error), redact(url)) from None
        raise OSError(f"{redact(url)}: cannot be opened: {reason}") from None
    return system, target
