"""What the state of a checkpoint takes of a heap, store by store; estimates."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from inspector.analyses.shared.judged import Judged, operator_names
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates import heap
from inspector.exceptions import CheckpointError
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import dataclass, replace
from inspector.model import BatchId, StoreId, StoreName
from inspector.sums import sum_by_key

HeapByVersion = dict[StoreName, dict[int, int]]  # operator id, store name -> state version -> bytes
NEWEST = "4.3.0"  # the Spark that is taken to run a query of which the checkpoint shows none
JDK = 17  # the Java that executors are taken to have

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
"""Releases whose offset logs have a conf that no older one has, the newest first."""

_ROW_CHECKSUM = "stateStore.rowChecksum.enabled"


@dataclass(frozen=True)
class StoreHeap:
    """One store of one partition, with what its heap takes."""

    store: StoreId
    operator_name: str
    versions: heap.Versions
    prefixes: heap.Prefixes
    layout: heap.Layout
    retain: int

    def retained(self, n: int) -> heap.Heap:
        """What ``n`` versions take."""
        return heap.retained(self.versions, self.layout, n, self.prefixes)

    @cached_property
    def held(self) -> heap.Heap:
        """What the retained versions take."""
        return self.retained(self.retain)

    @cached_property
    def unshared(self) -> heap.Heap:
        """The same if every version had rows of its own."""
        return heap.without_sharing(self.versions, self.layout, self.retain, self.prefixes)

    @cached_property
    def peak(self) -> heap.Heap:
        """What they take while a batch updates its working copies."""
        twice = self.operator_name in heap.READ_AND_WRITE
        return heap.peak(self.versions, self.layout, self.retain, self.prefixes, read_copy=twice)


def heap_by_version(judged: Judged) -> HeapByVersion:
    """The heap of the two versions that Spark retains, by version, of each partition; estimates."""
    result: HeapByVersion = {}
    layout = usual_layout(judged.checkpoint, judged.version)
    for store in store_heaps(judged, layout, heap.RETAINED_BY_DEFAULT):
        of_store, versions = result.setdefault(store.store.name, {}), store.versions
        for version in versions:
            pair = {v: versions[v] for v in (version - 1, version) if v in versions}
            held = replace(store, versions=pair).held
            of_store[version] = of_store.get(version, 0) + held.total
    return result


def heap_by_store(judged: Judged) -> dict[StoreName, int]:
    """The heap of the two versions that Spark retains by default, by store; estimates.

    By the facts of each partition: a table's size depends on the rows of its own.
    """
    layout = usual_layout(judged.checkpoint, judged.version)
    heaps = store_heaps(judged, layout, heap.RETAINED_BY_DEFAULT)
    return sum_by_key((of.store.name, of.held.total) for of in heaps)


def usual_layout(checkpoint: Checkpoint, version: int) -> heap.Layout:
    """The object layout of a usual executor: less than 32 GiB of heap, Java 17."""
    return object_layout(checkpoint, version, spark_of(checkpoint, version))


def object_layout(
    checkpoint: Checkpoint,
    version: int,
    spark: str | None,
    heap_bytes: int | None = None,
    jdk: int = JDK,
) -> heap.Layout:
    """How the JVM of the executors lays out objects; CheckpointError for a Spark that is none."""
    checksums = checkpoint.conf(version, _ROW_CHECKSUM) == "true"
    try:
        return heap.Layout.of(heap_bytes, jdk, spark=spark or NEWEST, row_checksum=checksums)
    except ValueError as error:
        raise CheckpointError(str(error)) from None


def spark_of(checkpoint: Checkpoint, version: int) -> str | None:
    """The oldest Spark that records the confs of the judged batch; None if they are not there.

    No file names the Spark that wrote it, but ``OffsetSeqMetadata`` records more confs in each
    release. 3.2 wraps every map, and 4.2 every value.
    """
    batch = checkpoint.logs.confs.get(BatchId(version - 1))
    confs = batch if batch is not None else next(iter(checkpoint.logs.confs.values()), {})
    result = (release for release, conf in _RECORDED_SINCE if f"spark.sql.{conf}" in confs)
    return next(result, "2.3.0" if confs else None)


def store_heaps(judged: Judged, layout: heap.Layout, retain: int) -> list[StoreHeap]:
    """Every store of every partition that has the version; none if no executor has it as a map."""
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
        StoreHeap(s, names.get(s.operator_id, ""), versions[s], prefixes[s], layout, retain)
        for s in sorted(versions)
        if judged.version in versions[s]
    ]
