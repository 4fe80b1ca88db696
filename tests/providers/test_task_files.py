"""Files of tasks: requested once, some before their task begins."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.checkpoint.storage import SMALL_BYTES, Storage
from inspector.model import FileKind, StoreFile, Version
from inspector.providers import task_files
from inspector.providers.task_files import AHEAD, ReadAhead, TaskFiles, upcoming
from tests.object_store import Requests, serve


@pytest.fixture
def requests(tmp_path: Path) -> Iterator[Requests]:
    (tmp_path / "ck").mkdir()
    for number in range(3 * AHEAD):
        (tmp_path / "ck" / f"{number}.delta").write_bytes(b"%d" % number)
    (tmp_path / "ck" / "large").write_bytes(bytes(range(256)) * 4)
    yield serve(tmp_path)
    assert task_files._places == {}


def deltas(storage: Storage, numbers: range) -> list[StoreFile]:
    return [
        StoreFile(storage.full_path(f"{n}.delta"), FileKind.DELTA, Version(n), len(str(n)))
        for n in numbers
    ]


def contents(task: TaskFiles, files: list[StoreFile]) -> bytes:
    """Return the contents of files, joined by blanks."""
    ahead = ReadAhead(task, files)
    return b" ".join(b"".join(ahead.chunks(file)) for file in files)


def requested(requests: Requests, count: int) -> int:
    """Wait until at least ``count`` files were requested, and return their number."""
    end = time.monotonic() + 600
    while requests.kinds["GET"] < count and time.monotonic() < end:
        time.sleep(0.001)
    return requests.kinds["GET"]


def test_files_of_next_task_are_requested_before_it_begins(requests: Requests) -> None:
    storage = Storage("objects://ck")
    first, second = range(4), range(4, 4 + 2 * AHEAD)
    requests.latency_s = 0.25  # requests overlap on a busy machine, too
    with upcoming(storage, deltas(storage, range(4 + 2 * AHEAD))):
        task = TaskFiles(storage)
        assert contents(task, deltas(storage, first)) == b"0 1 2 3"
        # With the last file of its own the task requests the next files, up to the maximum.
        assert requested(requests, len(first) + AHEAD - 1) == len(first) + AHEAD - 1
        task = TaskFiles(storage)
        assert contents(task, deltas(storage, second)) == " ".join(map(str, second)).encode()
    assert set(requests.read.values()) == {1}
    assert requests.most >= 2


def test_unclaimed_files_are_bounded(requests: Requests) -> None:
    storage = Storage("objects://ck")
    with upcoming(storage, deltas(storage, range(3 * AHEAD))):
        task = TaskFiles(storage)
        task.request_upcoming(AHEAD)
        task.request_upcoming(AHEAD)
        assert task.request("1.delta", size=1)() == b"1"
        assert requested(requests, AHEAD) == AHEAD


def test_large_files_are_not_requested_ahead(requests: Requests) -> None:
    storage = Storage("objects://ck")
    large = StoreFile(storage.full_path("large"), FileKind.DELTA, Version(1), SMALL_BYTES + 1)
    with upcoming(storage, [large]):
        TaskFiles(storage).request_upcoming(AHEAD)
    assert requests.kinds["GET"] == 0


@pytest.mark.parametrize("in_memory", [task_files.IN_MEMORY_BYTES, 1])
def test_file_read_twice_is_requested_once(
    requests: Requests, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(task_files, "IN_MEMORY_BYTES", in_memory)
    storage = Storage("objects://ck")
    task = TaskFiles(storage)
    result = deltas(storage, range(3))
    large = StoreFile(storage.full_path("large"), FileKind.SNAPSHOT, Version(1), 1024)
    task.keep([*result, large])
    complete = bytes(range(256)) * 4
    for _ in range(3):
        assert contents(task, result) == b"0 1 2"
        assert b"".join(task.stream("large", 100, size=1024)) == complete
        assert task.request("3.delta", size=1)() == b"3"
    assert (requests.read["ck/0.delta"], requests.read["ck/3.delta"]) == (1, 3)
    assert requests.read["ck/large"] == 11


def test_partially_read_file_is_not_cached(requests: Requests) -> None:
    storage = Storage("objects://ck")
    task = TaskFiles(storage)
    task.keep([StoreFile(storage.full_path("large"), FileKind.DELTA, Version(1), 1024)])
    assert len(next(task.stream("large", 100, size=1024))) == 100
    assert b"".join(task.stream("large", 100, size=1024)) == bytes(range(256)) * 4
    assert requests.kinds["GET"] > 11


def test_local_files_are_not_cached(tmp_path: Path, requests: Requests) -> None:
    storage = Storage(str(tmp_path / "ck"))
    task = TaskFiles(storage)
    task.keep(deltas(storage, range(1)))
    assert task.request("0.delta", size=1)() == b"0"
    (tmp_path / "ck" / "0.delta").write_bytes(b"new")
    assert task.request("0.delta", size=1)() == b"new"
    with upcoming(storage, deltas(storage, range(1))):
        task.request_upcoming(AHEAD)
    assert requests.kinds["GET"] == 0
