"""Copies of a checkpoint's files on this process's own disk, for storages that only Spark reaches.

A task says where its files are by a URL such as ``staged:/f3a9``: the same in every process, while
the folder behind the name is each process's own, filled before the task runs and removed after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inspector.exceptions import EngineError

SCHEME = "staged"

_folders: dict[str, str] = {}


def url_of(name: str) -> str:
    """The URL of the copies under a name."""
    return f"{SCHEME}:/{name}"


def name_of(url: str) -> str:
    """The inverse of :func:`url_of`."""
    return url.removeprefix(f"{SCHEME}:").strip("/")


def folder_of(url: str) -> str:
    """The folder behind a URL.

    Raises:
        EngineError: this process has no such copies: they belong to another one.
    """
    name = name_of(url)
    if name not in _folders:
        raise EngineError(
            f"got {url_of(name)} for the files of a task, expected it only where Spark has laid "
            "them down: run the task on the engine that opened the checkpoint"
        )
    return _folders[name]


@contextmanager
def stage_folder(name: str, folder: str) -> Iterator[None]:
    """Let a name mean a folder of this process, as long as the block lasts."""
    before = _folders.get(name)
    _folders[name] = folder
    try:
        yield
    finally:
        if before is None:
            _folders.pop(name, None)
        else:
            _folders[name] = before
