"""Storage: listings and reads, their limits and their errors."""

import os
import pickle
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector.checkpoint import patience
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.exceptions import EngineError, LimitError
from tests.attributes import attributes

SECRET = "sup3r-s3cr3t"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "state" / "0").mkdir(parents=True)
    (tmp_path / "metadata").write_bytes(b"0123456789")
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


class FailingDriver(MemoryFileSystem):  # type: ignore[misc]
    """A driver in which every request fails."""

    protocol = "failing"
    failure: Exception = RuntimeError(f"HTTP 403 for key {SECRET}")

    def __init__(self, refuse: bool = False, **kwargs: Any) -> None:
        if refuse:
            raise self.failure
        super().__init__(**kwargs)

    def info(self, *_: Any, **__: Any) -> dict[str, Any]:
        raise self.failure

    def ls(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        raise self.failure

    def _open(self, *_: Any, **__: Any) -> Any:
        raise self.failure


@pytest.fixture
def failing_storage() -> Storage:
    fsspec.register_implementation("failing", FailingDriver, clobber=True)
    return Storage.open("failing://box/ck", {"secret": SECRET})


def test_listing_is_sorted_with_size_and_time(tree: Path) -> None:
    os.utime(tree / "metadata", (5.25, 5.25))
    result = Storage.open(str(tree)).list()
    assert attributes(result, "name") == ["empty", "metadata", "state"]
    assert result[1][:-1] == Entry("metadata", "metadata", False, 10, 5250)[:-1]
    assert result[1].etag != Storage.open(str(tree)).list("state")[0].etag
    assert (result[2].is_dir, result[2].size) == (True, 0)


def test_listing_paths_start_at_the_root(tree: Path) -> None:
    assert attributes(Storage.open(str(tree)).list("state"), "path") == ["state/0"]


def test_listing_of_a_missing_folder(tree: Path) -> None:
    storage = Storage.open(str(tree))
    assert storage.list("gone", missing_ok=True) == ()
    with pytest.raises(FileNotFoundError, match="gone"):
        storage.list("gone")


def test_listing_of_a_file_is_an_error(tree: Path) -> None:
    with pytest.raises(NotADirectoryError, match="metadata"):
        Storage.open(str(tree)).list("metadata", missing_ok=True)


def test_listing_follows_links_and_marks_fifos_and_sockets(tree: Path) -> None:
    (tree / "linked").symlink_to(tree / "state")
    (tree / "linked_file").symlink_to(tree / "metadata")
    (tree / "broken").symlink_to(tree / "nowhere")
    os.mkfifo(tree / "3.delta")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(os.path.relpath(tree / "socket"))
        storage = Storage.open(str(tree))
        entries = storage.list()
    assert attributes(entries, "name", "is_file", "is_dir", "is_special", "size") == [
        ("3.delta", False, False, True, 0),
        ("broken", False, False, True, 0),
        ("empty", True, False, False, 0),
        ("linked", False, True, False, 0),
        ("linked_file", True, False, False, 10),
        ("metadata", True, False, False, 10),
        ("socket", False, False, True, 0),
        ("state", False, True, False, 0),
    ]
    assert attributes(storage.list("linked"), "path") == ["linked/0"]
    with pytest.raises(OSError, match="neither a file nor a folder"):
        storage.read("3.delta")


def test_listing_is_not_cached(tree: Path, memory: MemoryFileSystem) -> None:
    memory.pipe("/ck/a", b"1")
    local, remote = Storage.open(str(tree)), Storage.open("memory://ck")
    assert (len(local.list()), len(remote.list())) == (3, 1)
    (tree / "new").write_bytes(b"")
    memory.pipe("/ck/new", b"")
    assert (len(local.list()), len(remote.list())) == (4, 2)


def test_listing_is_repeated_after_file_not_found(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe({"/ck/a": b"1", "/ck/b": b"2"})
    storage = Storage.open("memory://ck")
    listing, calls = storage._fs.ls, list[str]()

    def once_gone(path: str, **kwargs: Any) -> Any:
        calls.append(path)
        if len(calls) == 1:
            raise FileNotFoundError(path)
        return listing(path, **kwargs)

    monkeypatch.setattr(storage._fs, "ls", once_gone)
    assert len(storage.list(missing_ok=True)) == 2
    assert len(calls) == 2


def test_folder_marker_is_not_listed(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe("/ck/a", b"1")
    storage = Storage.open("memory://ck")
    real = storage._fs.ls("/ck", detail=True)
    marker = {"name": "/ck/", "size": 0, "type": "file"}
    monkeypatch.setattr(storage._fs, "ls", lambda *_, **__: [marker, *real])
    assert attributes(storage.list(), "name") == ["a"]


def test_list_many_keeps_the_requested_order(tree: Path) -> None:
    (tree / "p5").mkdir()
    (tree / "p3/in_p3").mkdir(parents=True)
    (tree / "p9").mkdir()
    (tree / "p1").mkdir()
    names = ["p5", "p3", "p9", "p1", "gone"]
    result = Storage.open(str(tree)).list_many(names, missing_ok=True)
    assert list(result) == names
    assert attributes(result["p3"], "name") == ["in_p3"]
    assert result["gone"] == ()


def test_list_many_raises_or_collects_errors(tree: Path) -> None:
    storage = Storage.open(str(tree))
    with pytest.raises(OSError, match="metadata"):
        storage.list_many(["state", "metadata"])
    errors: dict[str, OSError] = {}
    assert list(storage.list_many(["state", "metadata"], errors=errors)) == ["state"]
    assert isinstance(errors["metadata"], NotADirectoryError)


def test_exists_and_stat(tree: Path, failing_storage: Storage) -> None:
    storage = Storage.open(str(tree))
    assert storage.exists("state/0")
    assert not storage.exists("state/1")
    assert not storage.exists("metadata/below")
    result = storage.stat("metadata")
    assert result is not None
    assert (result.path, result.size, result.is_dir) == ("metadata", 10, False)
    with pytest.raises(OSError, match="HTTP 403"):
        failing_storage.exists("state")


def test_read_small_files(tree: Path) -> None:
    storage = Storage.open(str(tree))
    assert storage.read("metadata") == b"0123456789"
    assert storage.read("metadata", 10) == b"0123456789"
    assert storage.read("empty") == b""
    assert storage.read("empty", 0) == b""


@pytest.mark.parametrize("size", [None, 10, 1])
def test_read_above_the_limit_is_refused(tree: Path, size: int | None) -> None:
    # A size of 1 is the size in a listing before the file grew.
    with pytest.raises(LimitError) as caught:
        Storage.open(str(tree)).read("metadata", 9, size=size)
    assert str(caught.value) == f"{tree}/metadata: file has 10 bytes, at most 9 are read"


def test_read_of_a_folder_or_missing_file_is_an_error(tree: Path) -> None:
    storage = Storage.open(str(tree))
    with pytest.raises(IsADirectoryError, match="state"):
        storage.read("state")
    with pytest.raises(FileNotFoundError, match="gone"):
        storage.read("gone")


def test_read_many_keeps_errors(tree: Path) -> None:
    storage = Storage.open(str(tree))
    gone = Entry("gone", "gone", False, 3)
    empty, metadata, _state = storage.list()
    result = storage.read_many([empty, metadata, gone], 9)
    assert list(result) == ["empty", "metadata", "gone"]
    assert result["empty"] == b""
    assert isinstance(result["metadata"], LimitError)
    assert isinstance(result["gone"], FileNotFoundError)


@pytest.mark.parametrize("url", ["file://{tree}", "memory://ck"])
def test_stream_chunks(tree: Path, memory: MemoryFileSystem, url: str) -> None:
    memory.pipe({"/ck/metadata": b"0123456789", "/ck/empty": b""})
    storage = Storage.open(url.format(tree=tree))
    assert list(storage.stream("metadata", 4)) == [b"0123", b"4567", b"89"]
    assert list(storage.stream("metadata")) == [b"0123456789"]
    assert list(storage.stream("empty")) == []


def test_stream_makes_one_bounded_request_per_chunk() -> None:
    questions: list[tuple[int, int]] = []

    class Ranged(fsspec.spec.AbstractBufferedFile):  # type: ignore[misc]
        def _fetch_range(self, start: int, end: int) -> bytes:
            questions.append((start, end))
            return bytes(min(end, 10) - start)

    class Remote(MemoryFileSystem):  # type: ignore[misc]
        def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
            return Ranged(self, path, mode, size=10, cache_type=kwargs["cache_type"])

    fsspec.register_implementation("ranged", Remote, clobber=True)
    assert list(map(len, Storage.open("ranged://x").stream("f", 4))) == [4, 4, 2]
    assert questions == [(0, 4), (4, 8), (8, 12)]


def test_stream_of_a_missing_file_is_an_error(tree: Path) -> None:
    chunks = Storage.open(str(tree)).stream("gone")
    with pytest.raises(FileNotFoundError, match="gone"):
        next(chunks)


@pytest.mark.parametrize("call", ["list", "read", "stat"])
def test_driver_error_is_an_oserror_without_secrets(failing_storage: Storage, call: str) -> None:
    with pytest.raises(OSError, match="HTTP 403") as caught:
        getattr(failing_storage, call)("state")
    assert str(caught.value) == "failing://box/ck/state: HTTP 403 for key ***"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("failure", "family"),
    [
        (PermissionError("no"), PermissionError),
        (TimeoutError(), TimeoutError),
        (KeyError("x"), OSError),
        (ConnectionResetError("gone"), OSError),
    ],
)
def test_driver_error_families_are_kept(
    failing_storage: Storage,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    family: type[OSError],
) -> None:
    monkeypatch.setattr(FailingDriver, "failure", failure)
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.01)
    with pytest.raises(family, match=r"^failing://box/ck/state: .+"):
        failing_storage.list("state")


def test_memory_error_is_no_storage_error(
    failing_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FailingDriver, "failure", MemoryError())
    with pytest.raises(MemoryError):
        failing_storage.list("state")


@pytest.mark.usefixtures("failing_storage")
def test_driver_that_refuses_its_options_is_a_storage_error() -> None:
    with pytest.raises(OSError, match="cannot be opened: RuntimeError: HTTP 403") as caught:
        Storage.open("failing://me:pw@box/ck", {"refuse": "true", "secret": SECRET})
    assert SECRET not in str(caught.value)
    assert "pw" not in str(caught.value)


@pytest.mark.usefixtures("failing_storage")
@pytest.mark.parametrize("failure", [ImportError("x"), OSError("Unable to load libjvm")])
def test_a_driver_that_lacks_its_libraries_is_an_engine_error(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    monkeypatch.setattr(FailingDriver, "failure", failure)
    with pytest.raises(EngineError, match="no driver for failing://"):
        Storage.open("failing://box/ck", {"refuse": "true"})


def test_missing_driver_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(protocol: str) -> None:
        raise ImportError(f"Install the driver of {protocol}")

    monkeypatch.setattr(fsspec, "get_filesystem_class", absent)
    with pytest.raises(EngineError, match=r"pip install 'spark-state-inspector\[s3\]'"):
        Storage.open("s3a://bucket/ck")


def test_unknown_url_scheme_has_no_driver() -> None:
    with pytest.raises(EngineError, match="nosuch://"):
        Storage.open("nosuch://x/y")


def test_credentials_are_not_printed() -> None:
    storage = Storage.open("memory://me:hunter2@box/ck", {"token": SECRET})
    display = repr(storage) + str(storage) + storage.root + storage.full_path("state")
    assert "hunter2" not in display
    assert SECRET not in display


def test_pickled_storage_has_an_absolute_url(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree.parent)
    storage = Storage.open(tree.name, {"any": "thing"})
    packed = pickle.dumps(storage)
    monkeypatch.chdir("/")
    again = pickle.loads(packed)  # noqa: S301 - packed two lines above
    assert again.read("metadata") == b"0123456789"
    assert (again.url, again.options, again.root) == (str(tree), {"any": "thing"}, tree.name)


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("/ck", "/ck/state"),
        ("/ck/", "/ck/state"),
        ("/", "/state"),
        ("./ck", "./ck/state"),
        ("file:/ck", "file:/ck/state"),
        ("memory://", "memory://state"),
        ("memory://ck/", "memory://ck/state"),
        ("/a?sig=b", "/a?sig=b/state"),
    ],
)
def test_full_path_and_relative(url: str, state: str) -> None:
    storage = Storage.open(url)
    assert storage.full_path("state") == state
    assert storage.relative(state) == "state"
    assert storage.relative(storage.full_path("")) == ""


def test_storage_offers_only_reading() -> None:
    names = {name for name in dir(Storage) if not name.startswith("_")}
    assert names == {
        *("open", "at", "full_path", "relative", "stat", "exists"),
        *("list", "list_many", "lists_all", "tree", "walk"),
        *("read", "read_range", "read_many", "read_some", "request", "stream"),
    }
