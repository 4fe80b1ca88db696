"""Files in pieces: any range is what the file has there, and each piece is requested once."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from inspector.checkpoint.storage import Storage
from inspector.model import FileKind, StoreFile
from inspector.providers.rocksdb import snapshot
from inspector.providers.rocksdb.snapshot import StorageSource

DATA = bytes(range(256)) * 4


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StorageSource:
    monkeypatch.setattr(snapshot, "PIECE_BYTES", 100)
    (tmp_path / "f.sst").write_bytes(DATA)
    storage = Storage(str(tmp_path))
    file = StoreFile(storage.full_path("f.sst"), FileKind.TABLE, None, len(DATA))
    return StorageSource(storage, file)


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 10), (95, 10), (0, 1024), (1020, 10), (1024, 5), (2000, 5), (99, 0)]
)
def test_range_read_equals_bytes_of_file(source: StorageSource, offset: int, length: int) -> None:
    assert source.read(offset, length) == DATA[offset : offset + length]


def test_file_chunk_is_requested_once(source: StorageSource) -> None:
    with mock.patch.object(
        Storage, "read_range", autospec=True, side_effect=Storage.read_range
    ) as r:
        for offset in range(0, 300, 10):
            source.read(offset, 10)
    assert r.call_count == 3
