"""What a snapshot's zip says, and zips that are damaged."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.rocksdb.bookkeeping import Bookkeeping
from inspector.providers.rocksdb.snapshot import (
    Snapshot,
    TableFile,
    parse_snapshot,
    read_snapshot,
)
from tests.faults import refusing
from tests.rocks import write_zip

# As Spark 4.3.0 wrote it for a join of state format 3.
JOIN: dict[str, Any] = {
    "sstFiles": [
        {"localFileName": "000008.sst", "dfsSstFileName": "000008-9b51.sst", "sizeBytes": 1465}
    ],
    "numKeys": 6,
    "numInternalKeys": 6,
    "columnFamilyMapping": {"default": 1, "left-keyToNumValues": 2},
    "columnFamilyTypeMap": {"default": False, "left-keyToNumValues": True},
    "maxColumnFamilyId": 5,
}
FOUND = Snapshot(
    tables=(TableFile("SSTs/000008-9b51.sst", 1465),),
    keys=6,
    internal_keys=6,
    families={"default": 1, "left-keyToNumValues": 2},
    internal=frozenset(["left-keyToNumValues"]),
    bookkeeping=Bookkeeping(numbers={"SSTs/000008-9b51.sst": 8}, manifest="MANIFEST-000005"),
)


def read(path: Path) -> Snapshot:
    storage = Storage(str(path.parent))
    size = path.stat().st_size
    file = StoreFile(storage.full_path(path.name), FileKind.SNAPSHOT, Version(1), size)
    return read_snapshot(storage, file)


def test_snapshot_metadata_names_tables(tmp_path: Path) -> None:
    write_zip(tmp_path / "1.zip", JOIN)
    assert read(tmp_path / "1.zip") == FOUND


def test_snapshot_of_checkpoint_format_2_of_spark_4_0(tmp_path: Path) -> None:
    write_zip(tmp_path / "1.zip", "v2\n" + json.dumps(JOIN))
    assert read(tmp_path / "1.zip") == replace(FOUND, format=2)


def test_snapshot_of_spark_3_5_has_no_column_families() -> None:
    data = b'v1\n{"sstFiles":[],"logFiles":[{"localFileName":"a","dfsLogFileName":"4-u.log"}]}'
    snapshot = parse_snapshot(data)
    assert (snapshot.tables, snapshot.keys, snapshot.families) == ((), -1, {})
    assert snapshot.logs == (TableFile("logs/4-u.log", None),)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"v3\n{}", b"v1\n[]", b'v1\n{"sstFiles":5}', b'v1\n{"sstFiles":[5]}'),
        b'v1\n{"sstFiles":[{"dfsSstFileName":"../../secret"}]}',
        b'v1\n{"sstFiles":[{"dfsSstFileName":".."}]}',
        b'v1\n{"columnFamilyMapping":{"a":-1}}',
        b'v1\n{"columnFamilyMapping":{"a":true}}',
        b'v1\n{"numKeys":"5"}',
    ],
)
def test_snapshot_spark_does_not_write_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_snapshot(data)


@pytest.mark.parametrize(("recorded", "size"), [(1, 1), (0, 0), (-1, None), (True, None)])
def test_table_with_name_of_the_greatest_length(recorded: int, size: int | None) -> None:
    table = {"localSstFileName": "1.sst", "dfsSstFileName": "x" * 255, "sizeBytes": recorded}
    snapshot = parse_snapshot(f"v1\n{json.dumps({'sstFiles': [table]})}".encode())
    assert snapshot.tables == (TableFile("SSTs/" + "x" * 255, size),)


@pytest.mark.parametrize(
    ("name", "display"),
    [
        ("a\0b.sst", "'a\\x00b.sst', 7 bytes"),
        ("x" * 5_000, f"'{'x' * 60}...', 5,000 bytes"),
        ("\ud800.sst", "'\\ud800.sst', 5 bytes"),
        ("\x1b[31m\u202e", "'\\x1b[31m\\u202e', 8 bytes"),
    ],
)
def test_invalid_table_name_is_refused_and_displayed(name: str, display: str) -> None:
    data = "v1\n" + json.dumps({"sstFiles": [{"dfsSstFileName": name, "sizeBytes": 1}]})
    with pytest.raises(DecodeError, match="file name") as result:
        parse_snapshot(data.encode())
    assert display in result.value.message
    assert len(result.value.message) < 250


def test_zip_without_metadata_is_refused(tmp_path: Path) -> None:
    write_zip(tmp_path / "1.zip", JOIN)
    data = (tmp_path / "1.zip").read_bytes().replace(b"metadata", b"metabase")
    (tmp_path / "1.zip").write_bytes(data)
    with pytest.raises(DecodeError, match="no entry 'metadata'") as result:
        read(tmp_path / "1.zip")
    assert result.value.path == str(tmp_path / "1.zip")


def test_truncated_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "1.zip"
    write_zip(path, JOIN)
    data = path.read_bytes()
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        with pytest.raises(DecodeError) as result:
            read(path)
        assert result.value.path == str(path)


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError, TimeoutError])
def test_storage_error_is_not_reported_as_damaged_zip(tmp_path: Path, error: type[OSError]) -> None:
    write_zip(tmp_path / "1.zip", JOIN)
    with refusing("1.zip", error("not now")), pytest.raises(OSError, match="not now") as result:
        read(tmp_path / "1.zip")
    assert type(result.value) is error


@example(378, 4)  # the size of an entry, far above what is read
@given(st.integers(0, 500), st.integers(1, 255))
def test_flipped_byte_in_zip_changes_nothing_or_raises_typed_error(
    tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    path = tmp_path_factory.mktemp("zip") / "1.zip"
    write_zip(path, JOIN)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= flip
    path.write_bytes(bytes(data))
    with suppress(DecodeError):
        assert read(path) == FOUND


def test_unsupported_zip_compression_is_named(tmp_path: Path) -> None:
    path = tmp_path / "1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("metadata", f"v1\n{json.dumps(JOIN)}")
    with pytest.raises(DecodeError, match="got the method 12 for 'metadata' in the zip"):
        read(path)
