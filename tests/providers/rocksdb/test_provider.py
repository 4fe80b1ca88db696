"""The RocksDB provider behind the seam: what is its own, and which files count."""

from __future__ import annotations

from inspector.model import FileKind, StoreFile
from inspector.providers.registry import classify, provider_by_name
from inspector.providers.rocksdb import PROVIDER
from tests.attributes import attributes
from tests.rocks import UUID

CLASS = "org.apache.spark.sql.execution.streaming.state.{}StateStoreProvider"


def files(*names: str) -> list[StoreFile]:
    return [StoreFile(f"/c/state/0/0/{name}", *classify(name), 5) for name in names]


def test_provider_class_has_precedence_over_files() -> None:
    assert PROVIDER.detect(CLASS.format("RocksDB"), ())
    assert not PROVIDER.detect(CLASS.format("HDFSBacked"), files("1.zip"))
    assert PROVIDER.detect(None, files("1.zip"))
    assert not PROVIDER.detect(None, files("1.delta"))


def test_changelogs_are_deltas_and_zips_are_snapshots() -> None:
    result = PROVIDER.files_of(files("1.changelog", "2.changelog", "2.zip", "2.zip.crc"))
    assert (sorted(result.deltas), sorted(result.snapshots)) == ([1, 2], [2])
    assert result.names.delta.format(3) == "3.changelog"
    assert result.compares


def test_rocksdb_provider_ignores_hdfs_files() -> None:
    settled = PROVIDER.resolve_attempts(files("1.delta", "1.changelog"), {})
    assert attributes(settled, "kind") == [FileKind.OTHER, FileKind.DELTA]
    theirs = provider_by_name("hdfs").resolve_attempts(files("1.delta", "1.zip"), {})
    assert attributes(theirs, "kind") == [FileKind.DELTA, FileKind.OTHER]
    table = StoreFile("/c/state/0/0/SSTs/000008-x.sst", FileKind.TABLE, None, 5)
    assert PROVIDER.resolve_attempts([table], {}) == (table,)
    (resolve_attempt,) = provider_by_name("hdfs").resolve_attempts([table], {})
    assert resolve_attempt.kind is FileKind.OTHER


def test_uncommitted_attempt_is_abandoned() -> None:
    pair = files(f"1_{UUID}.changelog", "1_ffff.changelog")
    settled = PROVIDER.resolve_attempts(pair, {1: frozenset([UUID])})
    assert attributes(settled, "kind") == [FileKind.DELTA, FileKind.ABANDONED]
