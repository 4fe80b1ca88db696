"""Small files compared with the checksum files that Hadoop's file system wrote."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector.checkpoint.names import hadoop_sums_name
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.verified_files import VerifiedFiles
from inspector.discovery.checkpoint import open_checkpoint
from inspector.exceptions import ChecksumError
from tests.fixture_folder import FIXTURES

FIXTURE = FIXTURES / "4.3.0" / "agg_update" / "checkpoint"
FILES = ("metadata", "offsets/5", "commits/5", "state/0/0/_metadata/schema")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    location = tmp_path / "checkpoint"
    shutil.copytree(FIXTURE, location)
    return location


def checksum_file_of(file: Path) -> Path:
    return file.with_name(hadoop_sums_name(file.name))


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "at", "offset"),
    [
        ("metadata", 0, 0),
        ("commits/5", 10, 0),
        ("offsets/5", 511, 0),
        ("offsets/5", 512, 512),
        ("offsets/5", 1100, 1024),
        ("state/0/0/_metadata/schema", 570, 512),
    ],
)
def test_checksum_reveals_a_flipped_byte(root: Path, name: str, at: int, offset: int) -> None:
    """The offset of the error is that of the block of 512 bytes with the byte."""
    flip(root / name, at)
    with pytest.raises(ChecksumError, match="differ from Hadoop's checksum file") as caught:
        VerifiedFiles(Storage.open(str(root))).read(name)
    assert caught.value.offset == offset


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [0, 1, -1])
def test_checksum_reveals_a_cut_file(root: Path, name: str, size: int) -> None:
    data = (root / name).read_bytes()
    (root / name).write_bytes(data[:size])
    with pytest.raises(ChecksumError):
        VerifiedFiles(Storage.open(str(root))).read(name)


def test_damaged_small_files_are_not_used(root: Path) -> None:
    for name in FILES:
        flip(root / name, 20)
    checkpoint = open_checkpoint(str(root))
    assert {problem.path: problem.slug for problem in checkpoint.problems} == {
        f"{root}/metadata": "bad-checksum",
        f"{root}/offsets/5": "bad-checksum",
        f"{root}/commits/5": "bad-checksum",
        f"{root}/state/0/0/_metadata/schema": "bad-checksum",
    }
    assert checkpoint.logs.query_id is None
    assert 5 not in checkpoint.logs.confs
    assert checkpoint.operators[0].schemas == {}


def test_file_without_checksum_file_is_not_verified(root: Path) -> None:
    for name in FILES:
        checksum_file_of(root / name).unlink()
    flip(root / "offsets/5", 40)
    assert VerifiedFiles(Storage.open(str(root))).read("offsets/5")


@pytest.mark.parametrize("content", [b"", b"crc", b"abcd" * 8])
def test_invalid_checksum_file_is_ignored(root: Path, content: bytes) -> None:
    checksum_file_of(root / "offsets/5").write_bytes(content)
    flip(root / "offsets/5", 40)
    assert VerifiedFiles(Storage.open(str(root))).read("offsets/5")


def test_truncated_checksum_file_is_an_error(root: Path) -> None:
    side = checksum_file_of(root / "offsets/5")
    side.write_bytes(side.read_bytes()[:-4])
    with pytest.raises(ChecksumError):
        VerifiedFiles(Storage.open(str(root))).read("offsets/5")


def test_intact_checkpoint_has_no_checksum_problem(root: Path) -> None:
    assert open_checkpoint(str(root)).problems == ()


def test_verification_lists_no_folder_twice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    plain = Storage.list

    def counted(self: Storage, relative: str = "", *, missing_ok: bool = False) -> Any:
        if isinstance(self, VerifiedFiles) and self.url == str(root):
            listed.append(relative)
        return plain(self, relative, missing_ok=missing_ok)

    monkeypatch.setattr(Storage, "list", counted)
    open_checkpoint(str(root))
    assert {"offsets", "commits"} <= set(listed)
    assert len(listed) == len(set(listed))
