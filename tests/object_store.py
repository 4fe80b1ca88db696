"""An object store in this process: a driver over a local folder, as those of the clouds are.

Its requests are coroutines, it has folders only as parts of names, and it lists all that lies below
a name by one request. It counts what is requested, takes its time, and fails as it is told.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
from fsspec.asyn import AsyncFileSystem

from tests.reports import cell_values

PROTOCOL = "objects"
PATIENCE_S = 10.0
"""Seconds that a request waits for others to be under way: many times what a busy machine takes."""


class Requests:
    """What was requested of the store, and how it answers.

    Attributes:
        kinds: LIST, HEAD and GET -> requests.
        read: path below the store's folder -> GETs.
        under_way: requests now. most: at the same time, at any time.
        latency_s: of each.
        together: a GET of a delta waits until that number of requests was under way at one time,
            or for :data:`PATIENCE_S`; 0 for no such wait.
        fault: gets kind and path of each request; may raise, or give seconds to be silent for.
    """

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self.under_way = self.most = 0
        self.latency_s = 0.0
        self.together = 0
        self.fault: Callable[[str, str], float | None] = lambda _kind, _path: None

    async def made(self, kind: str, path: str) -> None:
        """Take a request."""
        self.kinds[kind] += 1
        if kind == "GET":
            self.read[path] += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep((self.fault(kind, path) or 0) + self.latency_s)
            end = time.monotonic() + PATIENCE_S
            while self._waits_for_others(kind, path) and time.monotonic() < end:
                await asyncio.sleep(0.001)
        finally:
            self.under_way -= 1

    def _waits_for_others(self, kind: str, path: str) -> bool:
        return kind == "GET" and path.endswith(".delta") and self.most < self.together


class ObjectStore(AsyncFileSystem):  # type: ignore[misc]
    """The driver; its URLs are ``objects://bucket/path`` below :attr:`folder`."""

    protocol = PROTOCOL
    folder = Path("/nonexistent")
    requests = Requests()

    def _info_of(self, path: Path) -> dict[str, Any]:
        result = path.stat()
        name = path.relative_to(self.folder).as_posix()
        is_dir = path.is_dir()
        size = 0 if is_dir else result.st_size
        kind = "directory" if is_dir else "file"
        return {"name": name, "type": kind, "size": size, "mtime": result.st_mtime}

    def _place(self, path: str) -> Path:
        return self.folder / str(self._strip_protocol(path))

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        await self.requests.made("HEAD", path)
        return self._info_of(self._place(path))

    async def _ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        await self.requests.made("LIST", path)
        location = self._place(path)
        if location.is_file():
            return [self._info_of(location)]
        # A folder without files is no part of any name.
        inside = [
            element
            for element in location.iterdir()
            if element.is_file() or any(element.rglob("*"))
        ]
        result = [self._info_of(item) for item in inside]
        return result if detail else cell_values(result, "name")

    async def _find(self, path: str, **_: Any) -> dict[str, Any]:
        files = sorted(item for item in self._place(path).rglob("*") if item.is_file())
        for _page in range(0, max(1, len(files)), 1000):
            await self.requests.made("LIST", path)
        return {info["name"]: info for info in map(self._info_of, files)}

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        await self.requests.made("GET", path)
        return self._place(path).read_bytes()[start:end]


def serve(folder: Path) -> Requests:
    """Let ``objects://`` mean a folder of this machine; gives the account of what is requested."""

    class Mine(ObjectStore):
        pass

    Mine.folder, Mine.requests = folder, Requests()
    fsspec.register_implementation(PROTOCOL, Mine, clobber=True)
    return Mine.requests
