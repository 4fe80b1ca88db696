"""How snapshots share table files, in folders made here from tables of RocksDB."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.content import Contents, SharedFiles
from inspector.providers.rocksdb.snapshot import list_shared_files
from tests.attributes import attributes
from tests.decode.sst.tables import case

TABLES = case("levels").tables
ONE, TWO, THREE = sorted(TABLES)


def write_snapshot(
    folder: Path, name: str, tables: Sequence[str], *, rows: int = -1, internal: int = 0
) -> None:
    """Write a snapshot that names tables with their true sizes."""
    named = [{"dfsSstFileName": table, "sizeBytes": len(TABLES[table])} for table in tables]
    metadata = {"sstFiles": named, "numKeys": rows, "numInternalKeys": internal}
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("metadata", "v1\n" + json.dumps(metadata))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with all three tables and without a snapshot."""
    (tmp_path / "SSTs").mkdir()
    for name, data in TABLES.items():
        (tmp_path / "SSTs" / name).write_bytes(data)
    return tmp_path


def shared(folder: Path, *abandoned: str) -> SharedFiles:
    """Return the shared files of a folder. ``abandoned`` are names of uncommitted snapshots."""
    files = [
        StoreFile(str(path), FileKind.TABLE, None, path.stat().st_size)
        for path in sorted((folder / "SSTs").iterdir())
    ]
    for path in sorted(folder.glob("*.zip")):
        kind = FileKind.ABANDONED if path.name in abandoned else FileKind.SNAPSHOT
        version = Version(int(path.stem.partition("_")[0]))
        files.append(StoreFile(str(path), kind, version, path.stat().st_size))
    return list_shared_files(Storage.open(str(folder)), files)


def test_snapshot_files_and_new_files(folder: Path) -> None:
    write_snapshot(folder, "3.zip", [ONE], rows=1400, internal=100)
    write_snapshot(folder, "10.zip", [ONE, TWO], rows=1500)
    write_snapshot(folder, "11.zip", [ONE, TWO])
    result = shared(folder)
    first, second = len(TABLES[ONE]), len(TABLES[TWO])
    zip_10, zip_11 = (folder / "10.zip").stat().st_size, (folder / "11.zip").stat().st_size
    names = ("file.version", "tables", "new_tables", "rows", "table_bytes", "new_bytes")
    assert attributes(result.snapshots, *names) == [
        (3, 1, None, 1500, first, None),
        (10, 2, 1, 1500, first + second, second + zip_10),
        (11, 2, 0, None, first + second, zip_11),
    ]
    assert result.problems == ()
    properties = case("levels").properties
    entries = int(properties[ONE]["entries"])
    both = entries + int(properties[TWO]["entries"])
    assert attributes(result.snapshots, "contents.entries") == [entries, both, both]


def test_table_contents_equal_rocksdb_properties(folder: Path) -> None:
    write_snapshot(folder, "1.zip", [THREE])
    (snapshot,) = shared(folder).snapshots
    result = case("levels").properties[THREE]
    raw = int(result["raw_key_bytes"]) + int(result["raw_value_bytes"])
    deleted = int(result["deletions"])
    assert deleted
    assert snapshot.contents == Contents(int(result["entries"]), deleted, 0, raw)


def test_tables_named_by_no_snapshot_are_orphans(folder: Path) -> None:
    write_snapshot(folder, "1.zip", [ONE])
    orphans = shared(folder).orphans
    assert orphans is not None
    assert attributes(orphans, "path") == [str(folder / "SSTs" / TWO), str(folder / "SSTs" / THREE)]
    write_snapshot(folder, "2_abc.zip", [TWO])
    result = shared(folder, "2_abc.zip")
    assert len(result.snapshots) == 1
    assert attributes(result.orphans or (), "path") == [str(folder / "SSTs" / THREE)]


def test_orphans_are_unknown_if_a_snapshot_is_unreadable(folder: Path) -> None:
    write_snapshot(folder, "1.zip", [ONE])
    (folder / "2.zip").write_bytes(b"no zip")
    result = shared(folder)
    assert attributes(result.snapshots, "file.version") == [1]
    assert result.orphans is None
    ((file, error),) = result.problems
    assert file.version == 2
    assert isinstance(error, DecodeError)


def test_missing_tables_and_tables_of_wrong_size_are_counted(folder: Path) -> None:
    write_snapshot(folder, "1.zip", [ONE, TWO, THREE])
    (folder / "SSTs" / ONE).unlink()
    (folder / "SSTs" / TWO).write_bytes(TABLES[TWO][:-1])
    result = shared(folder)
    assert attributes(result.snapshots, "missing", "contents") == [(2, None)]
    assert result.snapshots[0].table_bytes == sum(map(len, TABLES.values()))
    ((file, _),) = result.problems
    assert file.path.endswith(TWO)
