"""Connections to storages: shared, and replaced after a refusal."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector.checkpoint import drivers
from inspector.checkpoint.drivers import (
    MOST_KEPT,
    connect,
    is_async,
    lists_recursively,
    note_refusal,
)
from inspector.checkpoint.storage import Storage
from inspector.exceptions import EngineError
from tests.object_store import serve


def test_connection_is_shared_for_equal_options() -> None:
    first, base = connect("memory://ck/a", {"x": "1"})
    assert base == "/ck/a"
    assert connect("memory://ck/b", {"x": "1"})[0] is first
    assert connect("memory://ck/a", {"x": "2"})[0] is not first


def test_refused_connection_is_replaced() -> None:
    options = {"of": "this test"}
    first, _ = connect("memory://ck", options)
    note_refusal(first)
    assert connect("memory://ck", options)[0] is first  # for tasks of the same run
    again, _ = connect("memory://ck", options, anew=True)
    assert again is not first
    assert connect("memory://ck", options, anew=True)[0] is again


def test_permission_error_marks_the_connection_as_refused() -> None:
    class Closed(MemoryFileSystem):  # type: ignore[misc]
        protocol = "closed"

        def cat_file(self, *_: object, **__: object) -> bytes:
            raise PermissionError("ExpiredToken")

    fsspec.register_implementation("closed", Closed, clobber=True)
    storage = Storage.open("closed://x")
    with pytest.raises(PermissionError):
        storage.read("f", size=1)
    assert Storage("closed://x")._fs is storage._fs
    assert Storage.open("closed://x")._fs is not storage._fs


def test_number_of_kept_connections_is_limited() -> None:
    for number in range(2 * MOST_KEPT):
        connect("memory://ck", {"number": str(number)})
    assert len(drivers._kept) == MOST_KEPT


def test_object_store_drivers_list_recursively(tmp_path: Path) -> None:
    serve(tmp_path)
    store = connect("objects://ck", {})[0]
    assert is_async(store)
    assert lists_recursively(store)
    for url in (str(tmp_path), "memory://ck"):
        system = connect(url, {})[0]
        assert not is_async(system)
        assert not lists_recursively(system)


def test_an_unknown_driver_is_an_engine_error() -> None:
    with pytest.raises(EngineError, match="nosuch://"):
        connect("nosuch://x", {})
