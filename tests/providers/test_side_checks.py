"""Checksum files, held against their files while these are read."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import pytest

from inspector.checkpoint.names import main_path
from inspector.checkpoint.storage import Storage
from inspector.model import FileKind, Problem, StoreFile, Version
from inspector.providers.file_reader import SLUG, SideChecks
from inspector.providers.task_files import ReadAhead
from tests.attributes import attributes
from tests.cases import observed_in, problems_in, small_checkpoint

HADOOP, SPARK = FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM
DELTA = "state/1/0/1.delta"


def hadoop(file: Path) -> None:
    """Write the checksum file that Hadoop writes next to a file."""
    data = file.read_bytes()
    sums = [zlib.crc32(data[at : at + 512]) for at in range(0, len(data), 512)]
    side = file.with_name(f".{file.name}.crc")
    side.write_bytes(b"crc\x00" + struct.pack(f">i{len(sums)}I", 512, *sums))


def spark(file: Path) -> None:
    """Write the checksum file that Spark 4.1 writes next to a file."""
    data = file.read_bytes()
    record = {"algorithm": "CRC32C", "value": google_crc32c.value(data), "mainFileSize": len(data)}
    file.with_name(f"{file.name}.crc").write_text(json.dumps(record))


def problems(root: Path, version: int | None = None) -> list[Problem]:
    return problems_in(observed_in(root, version, fit=True))


@pytest.mark.parametrize("write", [hadoop, spark])
def test_file_with_matching_checksum_has_no_problem(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    root = small_checkpoint(tmp_path)
    for file in root.rglob("*.delta"):
        write(file)
    assert problems(root) == []


@pytest.mark.parametrize(("write", "offset"), [(hadoop, 0), (spark, None)])
@pytest.mark.parametrize("version", [1, 4])
def test_changed_byte_in_decodable_file_fails_checksum(
    tmp_path: Path, write: Callable[[Path], None], offset: int | None, version: int
) -> None:
    root = small_checkpoint(tmp_path)
    file = root / "state/1/0/4.delta"  # in a read of version 1 only its checksum is compared
    write(file)
    data = bytearray(file.read_bytes())
    data[8] ^= 1  # the level of an lz4 block, which no reader uses
    file.write_bytes(data)
    (problem,) = problems(root, version)
    assert (problem.slug, problem.path, problem.offset) == (SLUG, str(file), offset)


@pytest.mark.parametrize("write", [hadoop, spark])
def test_checksum_of_undecodable_file_is_still_compared(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    root = small_checkpoint(tmp_path)
    file = root / DELTA
    write(file)
    file.write_bytes(b"broken" + file.read_bytes()[6:])
    result = attributes(problems(root), "slug", "path")
    assert sorted(result) == [("bad-frame", str(file)), (SLUG, str(file))]


def test_invalid_spark_checksum_file_is_reported(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    side = root / "state/1/0/1.delta.crc"
    side.write_text("nonsense")
    (problem,) = problems(root)
    assert (problem.slug, problem.path) == (SLUG, str(side))
    assert "not a Spark checksum file" in problem.message


@pytest.mark.parametrize("write", [hadoop, spark])
def test_fact_scan_compares_checksums(tmp_path: Path, write: Callable[[Path], None]) -> None:
    root = small_checkpoint(tmp_path)
    file = root / DELTA
    write(file)
    data = bytearray(file.read_bytes())
    data[8] ^= 1
    file.write_bytes(data)
    (problem,) = problems_in(observed_in(root))
    assert (problem.slug, problem.path) == ("bad-checksum", str(file))


def test_fact_scan_reports_invalid_checksum_file(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    side = root / "state/1/0/1.delta.crc"
    side.write_text("nonsense")
    (problem,) = problems_in(observed_in(root))
    assert (problem.slug, problem.path) == (SLUG, str(side))


def test_removed_checksum_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "1.delta").write_bytes(b"data")
    storage = Storage(str(tmp_path))
    main = StoreFile(f"{tmp_path}/1.delta", FileKind.DELTA, Version(1), 4)
    side = StoreFile(f"{tmp_path}/1.delta.crc", SPARK, Version(1), 10)
    result: list[Any] = []
    checks = SideChecks(ReadAhead(storage).whole, [side], lambda *problem: result.append(problem))
    assert main.path not in checks.done
    assert list(checks.watch(main, iter([b"da", b"ta"]))) == [b"da", b"ta"]
    assert main.path in checks.done
    assert result == []


@pytest.mark.parametrize(
    ("name", "kind", "main"),
    [
        (".3.delta.crc", HADOOP, "3.delta"),
        ("3.delta.crc", SPARK, "3.delta"),
        (".3.delta.crc.crc", HADOOP, "3.delta.crc"),
    ],
)
def test_main_file_of_checksum_file(name: str, kind: FileKind, main: str) -> None:
    assert main_path(StoreFile(f"a/b/{name}", kind, None, 0)) == f"a/b/{main}"
