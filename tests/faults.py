"""Storages that fail, or move, while they are read: for whatever reads through ``Storage``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from inspector.checkpoint.storage import Storage


@contextmanager
def before_each_read(act: Callable[[Storage, str], None]) -> Iterator[None]:
    """Call ``act`` with the storage and the path of each file before it is read.

    It may raise: that is what the storage answers.
    """

    def wrapped(method: Any) -> Any:
        def call(self: Storage, relative: str, *args: Any, **kwargs: Any) -> Any:
            act(self, relative)
            return method(self, relative, *args, **kwargs)

        return call

    with (
        mock.patch.object(Storage, "read", wrapped(Storage.read)),
        mock.patch.object(Storage, "stream", wrapped(Storage.stream)),
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
