"""Names of the RocksDB provider's files."""

import pytest

from inspector.checkpoint.names import MAX_BATCH
from inspector.model import FileKind
from inspector.providers.rocksdb import PROVIDER, parse_name
from tests.rocks import UUID


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("7.zip", (7, None, FileKind.SNAPSHOT)),
        ("7.changelog", (7, None, FileKind.DELTA)),
        (f"7_{UUID}.zip", (7, UUID, FileKind.SNAPSHOT)),
        (f"12_{UUID}.changelog", (12, UUID, FileKind.DELTA)),
        (f"{MAX_BATCH}.zip", (MAX_BATCH, None, FileKind.SNAPSHOT)),
    ],
)
def test_rocksdb_state_file_names(name: str, expected: object) -> None:
    assert parse_name(name) == expected


@pytest.mark.parametrize(
    "name",
    ["07.zip", "7.ZIP", "7.zip.crc", "-7.zip", "7_.zip", "7_a/b.zip", f"{MAX_BATCH + 1}.zip"],
)
def test_unknown_rocksdb_file_names_are_refused(name: str) -> None:
    assert parse_name(name) is None


def test_rocksdb_shared_file_folders() -> None:
    assert PROVIDER.classify("SSTs", is_dir=True) == (FileKind.TABLE, None)
    assert PROVIDER.classify("logs", is_dir=True) == (FileKind.TABLE_LOG, None)
    assert PROVIDER.classify("sstS", is_dir=True) == (FileKind.OTHER, None)
