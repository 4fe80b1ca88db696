"""``HDFSBackedStateStoreProvider``, the default of Spark 2.1 to 4.3: deltas and snapshots."""

from __future__ import annotations

from inspector.providers.hdfs.provider import HdfsProvider

PROVIDER = HdfsProvider()
