"""Local files and folders, read by system calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.local_files import chunks, entry_at, listing, read_at_most, read_range
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.kernel.loader import PYTHON, kernel, kernel_name
from tests.attributes import attributes


def test_listing_follows_links_and_marks_special_files(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"12")
    os.utime(tmp_path / "b", (1.5, 1.5))
    (tmp_path / "a").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "b")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "fifo")
    entries = listing(str(tmp_path), "x")
    etags = attributes(entries, "etag")
    assert etags[1] == etags[2] != etags[0] != etags[3] == etags[4]
    a, b, c, fifo, gone = (entry._replace(etag=None) for entry in entries)
    assert (a.name, a.path, a.is_dir, a.size) == ("a", "x/a", True, 0)
    assert b == Entry("b", "x/b", False, 2, 1500)
    assert c == Entry("c", "x/c", False, 2, 1500)
    assert fifo == Entry("fifo", "x/fifo", False, 0, is_special=True)
    assert gone == Entry("gone", "x/gone", False, 0, is_special=True)
    assert not a.is_special
    assert attributes(listing(str(tmp_path), ""), "path") == ["a", "b", "c", "fifo", "gone"]


@pytest.mark.skipif(kernel_name() == PYTHON, reason="the compiled kernel alone lists a folder")
@pytest.mark.parametrize(
    ("add", "more"),
    [
        pytest.param(lambda _folder: None, 0, id="plain"),
        pytest.param(lambda folder: os.mkfifo(folder / "fifo"), 1, id="fifo"),
        pytest.param(
            lambda folder: (folder / "a").symlink_to(folder / "none"), 1, id="broken link"
        ),
        pytest.param(lambda folder: (folder / "a").symlink_to(folder / "a"), 1, id="loop"),
    ],
)
def test_compiled_kernel_lists_folders_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, add: Callable[[Path], None], more: int
) -> None:
    """The kernel leaves a folder with a special file or a broken link to Python."""
    folder = os.fsencode(tmp_path)
    names = [b"1.delta", "é.delta".encode(), b"\xff\xfe", b".hidden", b"a" * 255]
    for number, name in enumerate(names):
        path = folder + b"/" + name
        Path(os.fsdecode(path)).write_bytes(bytes(number))
        time = (number - 2) * 10**18 - number
        os.utime(path, ns=(time, time))
    (tmp_path / "state").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "1.delta")
    (tmp_path / "folder").symlink_to(tmp_path / "state")
    add(tmp_path)
    compiled = kernel().list_folder  # type: ignore[attr-defined]
    assert (compiled(str(tmp_path), "") is None) is (more == 1)
    for relative in ("", "state/0/1"):
        quick = listing(str(tmp_path), relative)
        with monkeypatch.context() as patch:
            patch.setattr("inspector.checkpoint.local_files.c_function", lambda _: None)
            assert listing(str(tmp_path), relative) == quick
        assert len(quick) == len(names) + 3 + more
        assert set(map(type, quick)) == {Entry}


def test_modified_time_beyond_64_bits_of_nanoseconds(tmp_path: Path) -> None:
    far = 10**19
    (tmp_path / "f").touch()
    with suppress(OSError, OverflowError):
        os.utime(tmp_path / "f", ns=(far, far))
    if os.stat(tmp_path / "f").st_mtime_ns != far:
        pytest.skip("the file system holds no such time")
    (entry,) = listing(str(tmp_path), "")
    assert entry == entry_at(str(tmp_path / "f"), "f")
    assert entry.modified_ms == far // 10**6


def test_listing_errors(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError):
        listing(str(tmp_path / "none"), "")
    with pytest.raises(NotADirectoryError):
        listing(str(tmp_path / "file"), "")
    with pytest.raises(ValueError, match="null"):
        listing("a\0b", "")
    assert listing(str(tmp_path), "")[0].path == "file"


def test_entry_at_of_file_folder_and_special_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert entry_at(str(tmp_path / "fifo"), "fifo") == Entry(
        "fifo", "fifo", False, 0, is_special=True
    )
    entry = entry_at(str(tmp_path), "x/y")
    assert (entry.name, entry.path, entry.is_dir) == ("y", "x/y", True)
    assert not entry.is_special
    with pytest.raises(FileNotFoundError):
        entry_at(str(tmp_path / "nothing"), "nothing")


@pytest.mark.parametrize("maximum", [0, 1, 9, 10, 11, 1 << 30])
def test_read_at_most_returns_at_most_the_maximum(tmp_path: Path, maximum: int) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    assert read_at_most(str(tmp_path / "f"), maximum) == (b"0123456789"[:maximum], 10)


@pytest.mark.parametrize("size", [0, 1, 4, 7, 8, 9])
def test_chunks_join_to_the_file(tmp_path: Path, size: int) -> None:
    content = b"012345678"[:size]
    (tmp_path / "f").write_bytes(content)
    result = list(chunks(str(tmp_path / "f"), 4))
    assert b"".join(result) == content
    assert max(map(len, result), default=0) <= 4


def test_chunks_of_a_growing_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0123")
    reading = chunks(str(path), 2)
    first = next(reading)
    with path.open("ab") as options:
        options.write(b"4567")
    assert first + b"".join(reading) == b"01234567"


@pytest.mark.parametrize(
    "read", [lambda path: read_at_most(path, 1), lambda path: next(chunks(path, 1))]
)
def test_reading_a_fifo_or_folder_is_an_error(
    tmp_path: Path, read: Callable[[str], object]
) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="neither a file nor a folder"):
        read(str(tmp_path / "fifo"))
    with pytest.raises(IsADirectoryError):
        read(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        read(str(tmp_path / "nothing"))


@pytest.mark.skipif(kernel_name() == PYTHON, reason="the compiled kernel alone reads several")
@given(
    contents=st.lists(st.none() | st.binary(max_size=9), max_size=6), smaller=st.integers(-3, 20)
)
def test_read_some_stops_at_a_missing_or_too_large_file(
    contents: list[bytes | None], smaller: int
) -> None:
    with TemporaryDirectory() as folder:
        names = [f"{number}é" for number in range(len(contents))]
        for name, content in zip(names, contents, strict=True):
            if content is not None:
                Path(folder, name).write_bytes(content)
        right = list(takewhile(lambda content: content is not None, contents))
        room = 1 + sum(map(len, filter(None, contents))) - smaller
        ends = accumulate(len(content or b"") for content in right)
        expected = [content for content, end in zip(right, ends, strict=True) if end < room]
        assert list(Storage.open(folder).read_some(names, room)) == expected


@pytest.mark.skipif(kernel_name() == PYTHON, reason="the compiled kernel alone reads several")
def test_read_some_stops_at_a_special_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    os.mkfifo(tmp_path / "fifo")
    read = Storage.open(str(tmp_path)).read_some
    (tmp_path / "device").symlink_to("/dev/zero")
    assert read(["a", "fifo", "a"], 99) == [b"1"]
    assert read(["a", "", "a"], 99) == [b"1"]
    assert read(["a", "device", "a"], 99) == [b"1"]
    assert read(["a", "a\0b", "a"], 99) == [b"1"]
    assert read(["a", "none", "a"], 99) == [b"1"]
    assert read(["a"], 0) == read(["a"], -1) == read([], 1) == []
    with pytest.raises(TypeError):
        kernel().read_files([b"a"], 1)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        kernel().read_files(("a",), 1)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        kernel().list_folder("a", b"")  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        kernel().list_folder(1, "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(("start", "end"), [(0, 10), (3, 5), (8, 99), (10, 12), (50, 60)])
def test_read_range_ends_at_the_end_of_the_file(tmp_path: Path, start: int, end: int) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    assert read_range(str(tmp_path / "f"), start, end) == b"0123456789"[start:end]


def test_file_is_closed_after_a_failed_fstat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stale(descriptor: int) -> os.stat_result:
        opened.append(descriptor)
        raise OSError(116, "Stale file handle")

    (tmp_path / "a").write_bytes(b"12")
    opened: list[int] = []
    monkeypatch.setattr(os, "fstat", stale)
    with pytest.raises(OSError, match="Stale file handle"):
        list(chunks(str(tmp_path / "a"), 10))
    monkeypatch.undo()
    (descriptor,) = opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
