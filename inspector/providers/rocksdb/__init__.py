"""``RocksDBStateStoreProvider``: changelogs, and snapshots that name RocksDB's table files."""

from __future__ import annotations

from inspector.providers.rocksdb.provider import RocksDbProvider

PROVIDER = RocksDbProvider()
