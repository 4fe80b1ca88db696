"""Defaults of confs that the offset log does not record."""

import pytest

from inspector.checkpoint.confs import HDFS_PROVIDER, default_of, full_key


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("streaming.stateStore.compression.codec", "lz4"),
        ("spark.sql.streaming.stateStore.compression.codec", "lz4"),
        ("streaming.stateStore.providerClass", HDFS_PROVIDER),
        ("streaming.aggregation.stateFormatVersion", "1"),
        ("streaming.stateStore.rowChecksum.enabled", "false"),
        ("optimizer.pruneFiltersCanPruneStreamingSubplan", "true"),
        ("shuffle.partitions", None),
        ("streaming.stateStore.rocksdb.formatVersion", None),
        ("no.such.conf", None),
    ],
)
def test_default_of_an_unrecorded_conf(key: str, expected: str | None) -> None:
    assert default_of(key) == expected


def test_full_key_with_and_without_prefix() -> None:
    assert full_key("shuffle.partitions") == "spark.sql.shuffle.partitions"
    assert full_key("spark.sql.shuffle.partitions") == "spark.sql.shuffle.partitions"
