"""Entries of a snapshot, compared with the entries that RocksDB reads from the same tables."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

from inspector.checkpoint.storage import Storage
from inspector.decode.sst.live import live_entries
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.rocksdb.reader import open_tables
from inspector.providers.rocksdb.snapshot import Snapshot, TableFile, read_snapshot
from inspector.providers.task_files import TaskFiles
from tests.attributes import attributes
from tests.cases import rocksdb_cases
from tests.decode.sst.tables import rows_of

CASES = [c for c in rocksdb_cases("4.3.0") if c.name.endswith(("_v3", "_v4", "_zips"))]


def entries(folder: Path, version: int) -> list[tuple[str, str]]:
    """Return the keys and values of a snapshot as hex, in order."""
    storage = TaskFiles(Storage(str(folder)))
    path = folder / f"{version}.zip"
    file = StoreFile(
        storage.full_path(path.name), FileKind.SNAPSHOT, Version(version), path.stat().st_size
    )
    tables = open_tables(storage, file, read_snapshot(storage, file))
    rows = rows_of(live_entries(tables, delimiter=b""))
    return [(key.hex(), value.hex()) for key, value in rows]


def recorded_entries(case: Path) -> dict[tuple[int, int], list[tuple[str, str]]]:
    """Return the keys and values that RocksDB read, by partition and version."""
    result = defaultdict(list)
    with gzip.open(case / "raw.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            result[row["part"], row["ver"]].append((row["rk"], row["rv"]))
    return result


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("case", CASES, ids=attributes(CASES, "name"))
def test_snapshot_entries_equal_entries_recorded_by_rocksdb(case: Path, partition: int) -> None:
    folder = case / f"checkpoint/state/0/{partition}"
    recorded = recorded_entries(case)
    snapshots = set(map(int, attributes(folder.glob("*.zip"), "stem")))
    compared = snapshots & {version for _, version in recorded}
    assert compared
    for version in compared:
        assert entries(folder, version) == recorded.get((partition, version), [])


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
