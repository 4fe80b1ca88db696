"""``RocksDBStateStoreProvider``: recognised, not read."""

from __future__ import annotations

from inspector.providers.rocksdb.recognizer import RocksDb

PROVIDER = RocksDb()
