"""What the state of a checkpoint takes of a heap, store by store; estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from inspector.analyses.shared.common import (
    operator_names,
)
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.heap import (
    READ_AND_WRITE,
    Heap,
    Prefixes,
    Versions,
    peak,
    retained,
    without_sharing,
)
from inspector.estimates.heap_layout import Layout
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import BatchId, StoreId, StoreName

HeapByVersion = dict[StoreName, dict[int, int]]
"""Operator id and store name -> state version -> bytes."""

_ROW_CHECKSUM = "stateStore.rowChecksum.enabled"


@dataclass(frozen=True)
class MemoryOptions:
    """The executors that hold the state.

    Attributes:
        retain: versions in memory (``spark.sql.streaming.maxBatchesToRetainInMemory``).
        executors: that share the partitions; None if unknown. cores: tasks of each at a time.
        heap_bytes: maximal heap of an executor; None if unknown.
        jdk: its Java. spark: the Spark that runs the query; None: as the checkpoint shows.
    """

    retain: int = 2
    executors: int | None = None
    cores: int = 1
    heap_bytes: int | None = None
    jdk: int = 17
    spark: str | None = None


@dataclass(frozen=True)
class StoreHeap:
    """One store of one partition, with what its heap takes."""

    store: StoreId
    operator_name: str
    versions: Versions
    prefixes: Prefixes
    layout: Layout
    retain: int

    def retained(self, n: int) -> Heap:
        """What ``n`` versions take."""
        return retained(self.versions, self.layout, n, self.prefixes)

    @cached_property
    def held(self) -> Heap:
        """What the retained versions take."""
        return self.retained(self.retain)

    @cached_property
    def unshared(self) -> Heap:
        """The same if every version had rows of its own."""
        return without_sharing(self.versions, self.layout, self.retain, self.prefixes)

    @cached_property
    def peak(self) -> Heap:
        """What they take while a batch updates its working copies."""
        twice = self.operator_name in READ_AND_WRITE
        return peak(self.versions, self.layout, self.retain, self.prefixes, read_copy=twice)


def heap_by_version(checkpoint: Checkpoint, version: int, facts: Facts) -> HeapByVersion:
    """The heap of the two versions that Spark retains by default, as of each version; estimates."""
    retain = MemoryOptions().retain
    layout = usual_layout(checkpoint, version)
    found: HeapByVersion = {}
    for store in store_heaps(checkpoint, version, facts, layout, retain):
        place = store.store.name
        of_store = found.setdefault(place, {})
        for of_version in store.versions:
            pair = {
                v: store.versions[v] for v in (of_version - 1, of_version) if v in store.versions
            }
            heap = replace(store, versions=pair).held
            of_store[of_version] = of_store.get(of_version, 0) + heap.total
    return found


def usual_layout(checkpoint: Checkpoint, version: int) -> Layout:
    """The object layout of a usual executor: less than 32 GiB of heap, Java 17."""
    return object_layout(checkpoint, version, MemoryOptions(), spark_of(checkpoint, version))


def object_layout(
    checkpoint: Checkpoint, version: int, options: MemoryOptions, spark: str
) -> Layout:
    """How the JVM of the executors lays out objects."""
    checksums = checkpoint.conf(version, _ROW_CHECKSUM) == "true"
    return Layout.of(options.heap_bytes, options.jdk, spark=spark, row_checksum=checksums)


def spark_of(checkpoint: Checkpoint, version: int) -> str:
    """The oldest Spark that records the confs of the judged batch.

    ``OffsetSeqMetadata`` records more confs in each release; of the releases that matter to the
    heap, 4.2 wraps every value and records the row checksum.
    """
    batch = checkpoint.logs.confs.get(BatchId(version - 1))
    confs = batch if batch is not None else next(iter(checkpoint.logs.confs.values()), {})
    for release, conf in (
        ("4.2.0", f"spark.sql.streaming.{_ROW_CHECKSUM}"),
        ("4.0.0", "spark.sql.streaming.stateStore.encodingFormat"),
        ("3.2.0", "spark.sql.streaming.stateStore.rocksdb.formatVersion"),
    ):
        if conf in confs:
            return release
    return "3.0.0" if confs else "4.3.0"


def store_heaps(
    checkpoint: Checkpoint, version: int, facts: Facts, layout: Layout, retain: int
) -> list[StoreHeap]:
    """Every store of every partition that has the version."""
    names = operator_names(checkpoint)
    grouped: dict[StoreId, dict[int, VersionFacts]] = {}
    prefixes: dict[StoreId, dict[int, PrefixFacts]] = {}
    for (store, of_version), one in facts.versions.items():
        grouped.setdefault(store, {})[of_version] = one
    for (store, of_version), some in facts.prefixes.items():
        prefixes.setdefault(store, {})[of_version] = some
    return [
        StoreHeap(
            store,
            names.get(store.operator_id, ""),
            versions,
            prefixes.get(store, {}),
            layout,
            retain,
        )
        for store, versions in sorted(grouped.items())
        if version in versions
    ]
