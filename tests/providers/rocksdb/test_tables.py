"""Entries of a snapshot, compared with the entries that RocksDB reads from the same tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from inspector.checkpoint.storage import Storage
from inspector.decode.sst.live import live_entries
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.rocksdb.reader import open_tables
from inspector.providers.rocksdb.snapshot import Snapshot, TableFile, read_snapshot
from inspector.providers.task_files import TaskFiles
from tests.cases import rocksdb_cases

CASES = [c for c in rocksdb_cases("4.3.0") if c.name.endswith(("_v3", "_v4", "_zips"))]


def entries(folder: Path, version: int) -> list[tuple[str, str]]:
    """Return the keys and values of a snapshot as hex, in order."""
    storage = TaskFiles(Storage(str(folder)))
    path = folder / f"{version}.zip"
    file = StoreFile(
        storage.full_path(path.name), FileKind.SNAPSHOT, Version(version), path.stat().st_size
    )
    tables = open_tables(storage, file, read_snapshot(storage, file))
    return [
        (block.buffer[k : k + ks].hex(), block.buffer[v : v + vs].hex())
        for block in live_entries(tables, delimiter=b"")
        for k, ks, v, vs in zip(*block.spans, strict=True)
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_snapshot_entries_equal_entries_recorded_by_rocksdb(case: Path) -> None:
    checked = 0
    with gzip.open(case / "raw.jsonl.gz", "rt", encoding="utf-8") as lines:
        raw = [json.loads(line) for line in lines]
    for part in (0, 1):
        folder = case / f"checkpoint/state/0/{part}"
        for version in {row["ver"] for row in raw}:
            if (folder / f"{version}.zip").is_file():
                expected = [
                    (row["rk"], row["rv"])
                    for row in raw
                    if (row["part"], row["ver"]) == (part, version)
                ]
                assert entries(folder, version) == expected
                checked += len(expected)
    assert checked


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (TableFile("SSTs/absent.sst", 5), "got no table file, expected one of 5 bytes by 1.zip"),
        (TableFile("SSTs/there.sst", 6), "got a table file of 4 bytes, expected one of 6 bytes"),
        (TableFile("SSTs/there.sst", 4), ""),
        (TableFile("SSTs/there.sst", None), ""),
    ],
)
def test_missing_table_of_snapshot_is_problem(tmp_path: Path, table: TableFile, error: str) -> None:
    (tmp_path / "SSTs").mkdir()
    (tmp_path / "SSTs/there.sst").write_bytes(b"abcd")
    file = StoreFile(str(tmp_path / "1.zip"), FileKind.SNAPSHOT, Version(1), 9)
    storage = TaskFiles(Storage(str(tmp_path)))
    with pytest.raises(DecodeError, match=error or None) as result:
        open_tables(storage, file, Snapshot((table,)))
    assert result.value.path == str(tmp_path / table.name)
