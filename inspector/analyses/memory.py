"""``memory``: the size ladder, from bytes in files to bytes on the heap; what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from inspector.analyses.common import (
    STORE,
    count,
    coverage,
    file_bytes,
    identity,
    operator_names,
    size,
)
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.heap import (
    READ_AND_WRITE,
    Heap,
    HeapFacts,
    Prefixes,
    Versions,
    distinct,
    held,
    peak,
    per_executor,
    retained,
    without_sharing,
)
from inspector.estimates.heap_layout import Layout
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import BatchId, FileKind, Problem, StoreId, StoreName
from inspector.render.report import Column, Report, Table, Unit
from inspector.render.text import bytes_text

HeapByVersion = dict[StoreName, dict[int, int]]
"""Operator id and store name -> state version -> bytes."""

WHAT_IF_VERSIONS = (1, 2, 100)
_WORD = 8
_ROW_CHECKSUM = "stateStore.rowChecksum.enabled"
FOOTNOTE = (
    "Counts of objects are exact; bytes of the heap are estimates, because they take the JVM's "
    "object layout for granted ({layout}; Spark {spark}). Spark's own memoryUsedBytes and "
    "stateOnCurrentVersionSizeBytes come from SizeEstimator, which samples arrays of more than "
    "400 slots: held against live heaps they said from 42 % less to 11 % more than was there."
)


@dataclass(frozen=True)
class MemoryWanted:
    """What is asked about memory.

    Attributes:
        retain: versions in memory (``spark.sql.streaming.maxBatchesToRetainInMemory``).
        executors: that share the partitions; None if unknown. cores: tasks of each at a time.
        heap_bytes: maximal heap of an executor; None if unknown.
        jdk: its Java. spark: the Spark that runs the query; None to tell it from the checkpoint.
    """

    retain: int = 2
    executors: int | None = None
    cores: int = 1
    heap_bytes: int | None = None
    jdk: int = 17
    spark: str | None = None


@dataclass(frozen=True)
class _Store:
    """One store of one partition, with what its heap takes."""

    store: StoreId
    operator_name: str
    versions: Versions
    prefixes: Prefixes
    layout: Layout
    retain: int

    def retained(self, n: int) -> Heap:
        return retained(self.versions, self.layout, n, self.prefixes)

    @cached_property
    def held(self) -> Heap:
        return self.retained(self.retain)

    @cached_property
    def unshared(self) -> Heap:
        return without_sharing(self.versions, self.layout, self.retain, self.prefixes)

    @cached_property
    def peak(self) -> Heap:
        twice = self.operator_name in READ_AND_WRITE
        return peak(self.versions, self.layout, self.retain, self.prefixes, read_copy=twice)


def memory(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    wanted: MemoryWanted,
) -> Report:
    """The ladder for the whole selection; the heap by store; executors; what-ifs."""
    spark = wanted.spark or spark_of(checkpoint, version)
    layout = _layout(checkpoint, version, wanted, spark)
    stores = _stores(checkpoint, version, facts, layout, wanted.retain)
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "retained_versions": wanted.retain,
            "heap_estimate_bytes": sum(store.held.total for store in stores),
            "heap_peak_estimate_bytes": sum(store.peak.total for store in stores),
        }
    )
    tables = [
        _ladder(checkpoint, version, facts, stores, wanted),
        _by_store(checkpoint, stores),
        _what_ifs(checkpoint, stores, wanted),
    ]
    if wanted.executors is not None:
        verdict, table = _executors(stores, wanted)
        summary["verdict"] = verdict
        tables.insert(1, table)
    return Report(
        "memory",
        checkpoint.root,
        summary,
        tables,
        problems=problems,
        footnotes=(FOOTNOTE.format(layout=layout.name, spark=spark),),
    )


def heap_by_version(checkpoint: Checkpoint, version: int, facts: Facts) -> HeapByVersion:
    """The heap of the two versions that Spark retains by default, as of each version; estimates."""
    retain = MemoryWanted().retain
    layout = usual_layout(checkpoint, version)
    found: HeapByVersion = {}
    for store in _stores(checkpoint, version, facts, layout, retain):
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
    return _layout(checkpoint, version, MemoryWanted(), spark_of(checkpoint, version))


def _layout(checkpoint: Checkpoint, version: int, wanted: MemoryWanted, spark: str) -> Layout:
    checksums = checkpoint.conf(version, _ROW_CHECKSUM) == "true"
    return Layout.of(wanted.heap_bytes, wanted.jdk, spark=spark, row_checksum=checksums)


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


def _stores(
    checkpoint: Checkpoint, version: int, facts: Facts, layout: Layout, retain: int
) -> list[_Store]:
    names = operator_names(checkpoint)
    grouped: dict[StoreId, dict[int, VersionFacts]] = {}
    prefixes: dict[StoreId, dict[int, PrefixFacts]] = {}
    for (store, of_version), one in facts.versions.items():
        grouped.setdefault(store, {})[of_version] = one
    for (store, of_version), some in facts.prefixes.items():
        prefixes.setdefault(store, {})[of_version] = some
    return [
        _Store(
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


def _ladder(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    stores: Sequence[_Store],
    wanted: MemoryWanted,
) -> Table:
    of_files = file_bytes(checkpoint)
    newest = sum((store.versions[version] for store in stores), VersionFacts())
    raw = sum(one.raw_bytes for one in facts.versions.values())
    least = min((len(held(store.versions, wanted.retain)) for store in stores), default=0)
    n = f"{wanted.retain} versions" if wanted.retain != 1 else "1 version"
    short = "" if least >= wanted.retain else f"; only {least} can be replayed"
    rungs: tuple[tuple[str, int, bool, str], ...] = (
        ("delta files", of_files.get(FileKind.DELTA, 0), True, "compressed; what each batch wrote"),
        ("snapshot files", of_files.get(FileKind.SNAPSHOT, 0), True, "compressed; whole versions"),
        ("raw bytes", raw, True, "the files that were replayed, decompressed: keys once per put"),
        ("keys", newest.key_bytes, True, "UnsafeRow bytes of the judged version"),
        ("values", newest.value_bytes, True, "UnsafeRow bytes of the judged version"),
        ("rows", newest.row_bytes, True, "keys and values: what the UI's sizes should start from"),
        (
            "heap of 1 version",
            sum(store.retained(1).total for store in stores),
            False,
            "a row more: two UnsafeRows, two array headers, a map node, table slots",
        ),
        (
            f"heap of {n}",
            sum(store.held.total for store in stores),
            False,
            f"what executors hold between batches: shared rows once{short}",
        ),
        (
            f"heap of {n} unshared",
            sum(store.unshared.total for store in stores),
            False,
            "the same if every version had rows of its own",
        ),
        (
            "peak in a batch",
            sum(store.peak.total for store in stores),
            False,
            "with the working copies of the last batch, all partitions at once",
        ),
    )
    return Table(
        "ladder",
        "size ladder",
        (Column("rung"), size("bytes"), Column("size"), Column("counted"), Column("meaning")),
        [
            {
                "rung": rung,
                "bytes": amount,
                "size": bytes_text(amount),
                "counted": "exact" if exact else "estimate",
                "meaning": meaning,
            }
            for rung, amount, exact, meaning in rungs
        ],
    )


def _by_store(checkpoint: Checkpoint, stores: Sequence[_Store]) -> Table:
    names = operator_names(checkpoint)
    groups: dict[StoreName, Heap] = {}
    for store in stores:
        place = store.store.name
        groups[place] = groups.get(place, Heap()) + store.held
    return Table(
        "heap",
        "heap between batches by store",
        (
            *STORE,
            count("objects"),
            *(Column(name, Unit.BYTES, exact=False) for name in (*Heap().parts, "total")),
        ),
        [
            {
                "operator_id": operator_id,
                "operator_name": names.get(operator_id),
                "store_name": name,
                "objects": heap.objects,
                **{part: taken.bytes for part, taken in heap.parts.items()},
                "total": heap.total,
            }
            for (operator_id, name), heap in groups.items()
        ],
        empty="no store has rows of this version",
    )


def _executors(stores: Sequence[_Store], wanted: MemoryWanted) -> tuple[str, Table]:
    executors = wanted.executors or 1
    spread = per_executor(
        [store.held.total for store in stores],
        [store.peak.total for store in stores],
        executors,
        wanted.cores,
    )
    rows = []
    for how, amount in (("evenly", spread.even), ("at worst", spread.worst)):
        share = None if wanted.heap_bytes is None else round(100 * amount / wanted.heap_bytes)
        rows.append({"spread": how, "bytes": amount, "percent_of_heap": share})
    table = Table(
        "executors",
        f"state per executor: {executors} executors, tasks at a time: {wanted.cores}",
        (
            Column("spread"),
            Column("bytes", Unit.BYTES, exact=False),
            Column("percent_of_heap", Unit.COUNT, exact=False),
        ),
        rows,
    )
    return _verdict(spread.even, spread.worst, wanted.heap_bytes), table


def _verdict(even: int, worst: int, heap_bytes: int | None) -> str:
    if heap_bytes is None:
        return "say --heap to have it held against an executor's heap"
    room = bytes_text(heap_bytes)
    if even > heap_bytes:
        return f"state does not fit into {room}, however it is spread"
    if worst > heap_bytes:
        return f"state fits into {room} only if partitions are spread evenly"
    return f"state fits into {room}; it shares that with everything else the executor does"


def _what_ifs(checkpoint: Checkpoint, stores: Sequence[_Store], wanted: MemoryWanted) -> Table:
    now = sum(store.held.total for store in stores)
    return Table(
        "what_ifs",
        f"what if (now: {bytes_text(now)} for {wanted.retain} retained)",
        (
            Column("change"),
            Column("heap_bytes", Unit.BYTES, exact=False),
            Column("saved_bytes", Unit.BYTES, exact=False),
            Column("how"),
        ),
        [
            {"change": change, "heap_bytes": amount, "saved_bytes": now - amount, "how": how}
            for change, amount, how in _changes(checkpoint, stores, wanted, now)
        ],
    )


def _changes(
    checkpoint: Checkpoint, stores: Sequence[_Store], wanted: MemoryWanted, now: int
) -> Iterator[tuple[str, int, str]]:
    for n in WHAT_IF_VERSIONS:
        if n != wanted.retain:
            total = sum(store.retained(n).total for store in stores)
            known = min((len(held(store.versions, n)) for store in stores), default=0)
            how = "spark.sql.streaming.maxBatchesToRetainInMemory"
            more = "" if known >= n else f"; only {known} can be replayed, more take more"
            yield f"{n} versions retained", total, how + more
    objects = [(store, distinct(store.versions, wanted.retain, store.prefixes)) for store in stores]
    shorter = sum(of_store.saved_by_shorter_keys(_WORD) for _, of_store in objects)
    yield f"keys {_WORD} bytes shorter", now - shorter, "a narrower type, or shorter strings"
    format_1 = sum(_saved_by_format_2(checkpoint, store, found) for store, found in objects)
    if format_1:
        yield "state format 2", now - format_1, "a new query: format 1 keeps the key twice"


def _saved_by_format_2(checkpoint: Checkpoint, store: _Store, found: HeapFacts) -> int:
    if store.operator_name != "stateStoreSave":
        return 0
    version = max(store.versions)
    if checkpoint.conf(version, "aggregation.stateFormatVersion") != "1":
        return 0
    operator = next(o for o in checkpoint.operators if o.operator_id == store.store.operator_id)
    schema = operator.schemas.get(store.store.store_name)
    return 0 if schema is None else found.saved_by_format_2(len(schema.key.fields))
