"""Small files that are kept in memory until they change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from inspector.checkpoint.storage import Storage
from inspector.checkpoint.verified_files import RememberedFiles
from inspector.exceptions import ChecksumError, LimitError
from tests.fixture_folder import NEWEST


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return the list of small files that are read, in order.

    Only files of the test's own folder count: threads of an earlier test may still read files.
    """
    paths: list[str] = []
    request = Storage.request

    def counted(storage: Storage, relative: str, *args: Any, **kwargs: Any) -> Any:
        if storage.url == str(tmp_path):
            paths.append(relative)
        return request(storage, relative, *args, **kwargs)

    monkeypatch.setattr(Storage, "request", counted)
    return paths


def test_remembered_file_is_read_once(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    files = RememberedFiles(Storage.open(str(tmp_path)))
    for _ in range(3):
        files.look_again()
        assert files.read("commits/0") == b"v1\n{}"
        (content,) = files.read_many(files.list("commits")).values()
        assert content == b"v1\n{}"
    assert read == ["commits/0"]


def test_new_file_is_read(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "0").write_text("zero")
    files = RememberedFiles(Storage.open(str(tmp_path)))
    assert files.read("0") == b"zero"
    files.look_again()
    (tmp_path / "1").write_text("one")
    assert (files.read("0"), files.read("1")) == (b"zero", b"one")
    assert read == ["0", "1"]


@pytest.mark.parametrize(("content", "seconds"), [("longer", 0), ("ZERO", 5)])
def test_changed_file_is_read_again(
    tmp_path: Path, read: list[str], content: str, seconds: int
) -> None:
    file = tmp_path / "0"
    file.write_text("zero")
    files = RememberedFiles(Storage.open(str(tmp_path)))
    assert files.read("0") == b"zero"
    before = file.stat().st_mtime
    file.write_text(content)
    os.utime(file, (before + seconds, before + seconds))
    files.look_again()
    assert files.read("0") == content.encode()
    assert read == ["0", "0"]


def test_removed_file_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("zero")
    files = RememberedFiles(Storage.open(str(tmp_path)))
    files.read("0")
    (tmp_path / "0").unlink()
    files.look_again()
    with pytest.raises(FileNotFoundError):
        files.read("0")


def test_unlisted_file_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("zero")
    files = RememberedFiles(Storage.open(str(tmp_path)))
    files.read("0")
    (tmp_path / "0").unlink()
    for _ in range(2):
        files.look_again()
        files.list("")
    files.look_again()
    assert files._kept == {}


def test_remembered_files_are_verified(tmp_path: Path) -> None:
    source = NEWEST / "agg_update" / "checkpoint"
    for name in ("metadata", ".metadata.crc"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    files = RememberedFiles(Storage.open(str(tmp_path)))
    assert files.read("metadata") == (source / "metadata").read_bytes()
    (tmp_path / "metadata").write_bytes(b"x" * (source / "metadata").stat().st_size)
    os.utime(tmp_path / "metadata", (1, 1))
    for _ in range(2):
        files.look_again()
        with pytest.raises(ChecksumError):
            files.read("metadata")


def test_too_large_remembered_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("zero")
    files = RememberedFiles(Storage.open(str(tmp_path)))
    with pytest.raises(LimitError):
        files.read("0", 3)


def test_file_in_an_unlistable_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "0").write_text("zero")
    files = RememberedFiles(Storage.open(str(tmp_path)))

    def refused(*_: Any) -> Any:
        raise PermissionError("no listing")

    monkeypatch.setattr(Storage, "_listing", refused)
    assert files.read("0") == b"zero"
