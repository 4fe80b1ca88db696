"""Estimates of the heap that the state of a checkpoint takes, by store."""

from __future__ import annotations

from collections import defaultdict

from inspector.analyses.shared.judged import Judged, operator_names
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.heap import RETAINED_BY_DEFAULT, Layout, StoreHeap, of_rows
from inspector.exceptions import CheckpointError
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import replace
from inspector.model import BatchId, StoreId, StoreName
from inspector.sums import sum_by_key

HeapByVersion = dict[StoreName, dict[int, int]]  # store -> state version -> heap bytes
# Spark release that is assumed to run a query if the checkpoint does not show the release
NEWEST = "4.3.0"
JDK = 17  # Java release that executors are assumed to have

_RECORDED_SINCE = (
    ("4.3.0", "dropDuplicates.deterministicKeyOrder.enabled"),
    ("4.2.0", "streaming.stateStore.rowChecksum.enabled"),
    ("4.0.0", "streaming.stateStore.encodingFormat"),
    ("3.3.0", "streaming.statefulOperator.useStrictDistribution"),
    ("3.2.0", "streaming.stateStore.rocksdb.formatVersion"),
    ("3.1.0", "streaming.stateStore.compression.codec"),
    ("3.0.0", "streaming.join.stateFormatVersion"),
    ("2.4.0", "streaming.flatMapGroupsWithState.stateFormatVersion"),
)
"""Spark releases, the newest first, each with a conf that its offset log is the first to record.

Names of confs are without ``spark.sql.``."""

# conf that adds a checksum to each value; the name is without ``spark.sql.streaming.``
_ROW_CHECKSUM = "stateStore.rowChecksum.enabled"


def heap_by_version(judged: Judged) -> HeapByVersion:
    """Return the estimated heap bytes of each version with the previous one, by store and version.

    These are the two versions that Spark retains by default; partitions are summed. The result is
    empty if the provider keeps no maps on the heap.
    """
    result: HeapByVersion = {}
    layout = object_layout(judged.checkpoint, judged.version)
    for store in store_heaps(judged, layout):
        totals, versions = result.setdefault(store.store.name, {}), store.versions
        for version in versions:
            pair = {v: versions[v] for v in (version - 1, version) if v in versions}
            objects = replace(store, versions=pair).held
            totals[version] = totals.get(version, 0) + objects.total
    return result


def heap_by_store(judged: Judged) -> dict[StoreName, int]:
    """Return the estimated heap bytes of the judged version and the one before, by store.

    Spark retains these two versions by default. The estimates of partitions are summed. The result
    is empty if the provider keeps no maps on the heap.
    """
    heaps = store_heaps(judged, object_layout(judged.checkpoint, judged.version))
    return sum_by_key((heap.store.name, heap.held.total) for heap in heaps)


def removal_saving(
    checkpoint: Checkpoint, version: int, rows: int, key_bytes: int, value_bytes: int
) -> int | None:
    """Return the estimated heap bytes that removing ``rows`` rows saves.

    ``key_bytes`` and ``value_bytes`` are the bytes of all these rows together. Returns None for a
    provider that keeps no maps on the heap.
    """
    heap = of_rows(rows, key_bytes, value_bytes, object_layout(checkpoint, version))
    return heap.total if checkpoint.provider.keeps_maps else None


def object_layout(
    checkpoint: Checkpoint,
    version: int,
    spark: str | None = None,  # release that runs the query
    heap_bytes: int | None = None,  # size of an executor's heap; None if unknown
    jdk: int = JDK,  # Java release
) -> Layout:
    """Return the layout of objects in the executors' JVM, for estimates of the heap.

    ``spark`` is by default the release that the confs of ``version`` show, or else ``NEWEST``:
    Spark 3.2 and later wrap each map, and Spark 4.2 and later each value. Raises CheckpointError if
    ``spark`` is no version such as ``4.3.0``.
    """
    checksums = checkpoint.conf(version, _ROW_CHECKSUM) == "true"
    spark = spark or spark_of(checkpoint, version) or NEWEST
    try:
        return Layout.of(heap_bytes, jdk, spark=spark, row_checksum=checksums)
    except ValueError as error:
        raise CheckpointError(str(error)) from None


def spark_of(checkpoint: Checkpoint, version: int) -> str | None:
    """Return the oldest Spark release that records the confs of the batch that made a version.

    If the log lacks the batch, the confs of the first batch in it are used. Returns None without
    any confs. No file names the Spark that wrote it, but the offset log records more confs in each
    release.
    """
    batch = checkpoint.logs.confs.get(BatchId(version - 1))
    confs = batch if batch is not None else next(iter(checkpoint.logs.confs.values()), {})
    result = (release for release, conf in _RECORDED_SINCE if f"spark.sql.{conf}" in confs)
    return next(result, "2.3.0" if confs else None)


def store_heaps(
    judged: Judged, layout: Layout, retain: int = RETAINED_BY_DEFAULT
) -> list[StoreHeap]:
    """Return the heap estimate of each store of each partition that has the judged version.

    Empty for a provider that keeps no maps on the heap. ``retain`` is the number of versions that
    an executor keeps in memory, ``layout`` that of the objects in its JVM.
    """
    checkpoint, facts = judged.checkpoint, judged.facts
    if not checkpoint.provider.keeps_maps:
        return []
    names = operator_names(checkpoint)
    versions: dict[StoreId, dict[int, VersionFacts]] = defaultdict(dict)
    prefixes: dict[StoreId, dict[int, PrefixFacts]] = defaultdict(dict)
    for (store, version), version_facts in facts.versions.items():
        versions[store][version] = version_facts
    for (store, version), prefix_facts in facts.prefixes.items():
        prefixes[store][version] = prefix_facts
    return [
        StoreHeap(versions[s], layout, retain, prefixes[s], names.get(s.operator_id, ""), s)
        for s in sorted(versions)
        if judged.version in versions[s]
    ]
