"""Values that Spark assumes for confs that an offset log entry does not record.

A checkpoint that an older release began lacks the newer keys of ``OffsetSeqMetadata``. A later
release then uses the value that keeps old state readable, not today's default.
"""

from __future__ import annotations

from collections.abc import Mapping

# conf with the class of the state store provider
PROVIDER_CLASS = "spark.sql.streaming.stateStore.providerClass"
# conf with the number of partitions of the state
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
# conf with the format of a join's state
JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
# conf that gives sources names, so that they may be added and removed
SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
# class of the provider that Spark uses by default
HDFS_PROVIDER = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

ASSUMED: Mapping[str, str] = {
    PROVIDER_CLASS: HDFS_PROVIDER,  # the session's, which is this one unless it is set
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "1",
    "spark.sql.streaming.aggregation.stateFormatVersion": "1",
    "spark.sql.streaming.join.stateFormatVersion": "1",
    "spark.sql.streaming.stateStore.compression.codec": "lz4",
    "spark.sql.streaming.statefulOperator.useStrictDistribution": "false",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "true",
    "spark.sql.streaming.stateStore.encodingFormat": "unsaferow",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion": "1",
    "spark.sql.function.protobufExtensions.enabled": "false",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "false",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": "false",
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": "false",
}
"""Value that Spark 4.3 uses if an entry lacks a key. For other keys it uses the session's value."""


def full_key(key: str) -> str:
    """Return the key with ``spark.sql.`` before it, unless it begins with ``spark.``."""
    return key if key.startswith("spark.") else f"spark.sql.{key}"


def default_of(key: str) -> str | None:
    """Return Spark's value for an unrecorded key; None if Spark takes the session's value."""
    return ASSUMED.get(full_key(key))
