"""``memory``: the size ladder, from bytes in files to bytes on the heap; what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any

from inspector.analyses.shared.common import (
    store_ids,
)
from inspector.analyses.shared.declare import View, analysis
from inspector.analyses.shared.heap import (
    NEWEST,
    MemoryOptions,
    StoreHeap,
    object_layout,
    spark_of,
    spark_text,
    store_heaps,
)
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.ladder import (
    RungRow,
    exact_rungs,
    ladder_table,
    off_heap_report,
)
from inspector.analyses.shared.more_partitions import (
    MorePartitionsRow,
    more_partitions,
    partition_notes,
)
from inspector.analyses.shared.off_heap import OffHeapRow, RocksDbMemory
from inspector.analyses.shared.options import AT_VERSION, PART, RULES, SCHEMAS, WORK, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.sizing import ExecutorRow, ShapeRow, Sizing
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Request
from inspector.estimates.heap import Heap, HeapFacts, distinct, held, of_rows
from inspector.estimates.heap_layout import Layout
from inspector.exceptions import CheckpointError
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import Certainty, StoreName
from inspector.render import tabular as t
from inspector.render.report import Report, Table
from inspector.render.units import bytes_text, counted

WHAT_IF_VERSIONS = (1, 2)
RETAIN = "spark.sql.streaming.maxBatchesToRetainInMemory"
_WORD = 8
FOOTNOTE = (
    "Counts of objects are exact; bytes of the heap are estimates, because they take the JVM's "
    "object layout for granted ({layout}; {spark}). Spark's own memoryUsedBytes and "
    "stateOnCurrentVersionSizeBytes come from SizeEstimator, which samples arrays of more than "
    "400 slots: held against live heaps they said from 42 % less to 11 % more than was there."
)


@dataclass(frozen=True, kw_only=True)
class HeapRow(t.StoreRow, table="heap", empty="no store has rows of this version"):
    """What one store takes of the executors' heaps between batches."""

    operator_name: t.OperatorName | None
    objects: Annotated[t.Count, "Objects on the heap, exact.", t.Rank(12)]
    unsafe_rows: Annotated[t.Bytes, "Bytes of `UnsafeRow` objects.", t.ESTIMATE]
    byte_arrays: Annotated[t.Bytes, "Bytes of the arrays behind them.", t.ESTIMATE]
    wrappers: Annotated[t.Bytes, "Bytes of `StateStoreRow` objects around values.", t.ESTIMATE]
    nodes: Annotated[t.Bytes, "Bytes of the map nodes.", t.ESTIMATE]
    tables: Annotated[t.Bytes, "Bytes of the maps' tables.", t.ESTIMATE]
    maps: Annotated[t.Bytes, "Bytes of the map objects.", t.ESTIMATE]
    prefixes: Annotated[t.Bytes, "Bytes of the sets of a session window's prefixes.", t.ESTIMATE]
    total: Annotated[t.Bytes, "The sum of these.", t.Rank(11), t.ESTIMATE]


@dataclass(frozen=True, kw_only=True)
class WhatIfRow(t.Row, table="what_ifs"):
    """A change, and what it would save."""

    change: Annotated[t.Text, "What would be different.", t.Rank(1)]
    heap_bytes: Annotated[t.Bytes, "Bytes on the heap of executors then.", t.ESTIMATE]
    saved_bytes: Annotated[t.Bytes, "How many bytes less than now that is.", t.ESTIMATE]
    how: Annotated[t.Text, "What to do for it."]


FACTS = Request(partitions=True, rehashed=True)


def wrong_options(parsed: Mapping[str, Any]) -> str | None:
    """What is wrong with the options of a command line, before anything is read."""
    try:
        Layout.of(spark=parsed["spark"] or NEWEST)
    except ValueError as error:
        return f"--spark: {error}"
    if (parsed["state_percent"] or 0) > 100:
        return "--state-percent is at most 100"
    try:
        RocksDbMemory.of(parsed["rocksdb_conf"])
    except CheckpointError as error:
        return f"--rocksdb-conf: {error}"
    return None


@analysis(
    uses=(RULES, WORK, SCHEMAS, PART, AT_VERSION),
    tables=(RungRow, OffHeapRow, ExecutorRow, ShapeRow, HeapRow, WhatIfRow, MorePartitionsRow),
    facts=FACTS,
    many=True,
    check=wrong_options,
)
def memory(  # noqa: PLR0913 - each is an option of the command
    path: str | Run,
    options: Options | None = None,
    *,
    retain: Annotated[
        int,
        View("Versions in memory: spark.sql.streaming.maxBatchesToRetainInMemory.", minimum=1),
    ] = 2,
    executors: Annotated[
        int | None, View("Executors that share the partitions.", minimum=1)
    ] = None,
    cores: Annotated[int, View("Tasks that an executor runs at a time.", minimum=1)] = 1,
    heap: Annotated[
        int | None, View("Heap of an executor: spark.executor.memory (8GiB).", size=True)
    ] = None,
    state_percent: Annotated[
        int | None,
        View(
            "Percent of a heap that the state may fill.  "
            "[default: what Spark's memory manager leaves]",
            minimum=1,
        ),
    ] = None,
    jdk: Annotated[int, View("Java of the executors.", minimum=8)] = 17,
    spark: Annotated[
        str | None,
        View("Spark that runs the query.  [default: as the checkpoint shows]"),
    ] = None,
    rocksdb_confs: Annotated[
        Mapping[str, str],
        View(
            "Conf of the query below spark.sql.streaming.stateStore.rocksdb, such as "
            "writeBufferSizeMB=32 or boundedMemoryUsage=true; repeatable.  [default: Spark's own]",
            metavar="CONF=VALUE",
            flag="--rocksdb-conf",
        ),
    ] = MappingProxyType({}),
) -> Report:
    """The size ladder from files to heap; how many executors hold it; what would change it.

    Of state in RocksDB: the ladder from files to rows, and what is kept outside of the heap.
    """
    run = Run.start(path, options)
    judged = run.judge(run.facts(FACTS))
    confs = RocksDbMemory.of(rocksdb_confs)
    given = MemoryOptions(retain, executors, cores, heap, jdk, spark, state_percent, confs)
    report = memory_report if run.checkpoint.provider.keeps_maps else off_heap_report
    return report(judged, given)


def memory_report(judged: Judged, options: MemoryOptions) -> Report:
    """The ladder for the whole selection; executors; the heap by store; what-ifs.

    Raises:
        CheckpointError: the Spark that its user gave is no version.
    """
    checkpoint, version = judged.checkpoint, judged.version
    spark = options.spark or spark_of(checkpoint, version)

    def heaps(heap_bytes: int | None) -> list[StoreHeap]:
        layout = object_layout(checkpoint, version, replace(options, heap_bytes=heap_bytes), spark)
        if layout not in by_layout:
            found = store_heaps(judged, layout, options.retain)
            by_layout[layout] = found
        return by_layout[layout]

    by_layout: dict[Layout, list[StoreHeap]] = {}
    stores = heaps(options.heap_bytes)
    sizing = Sizing.of(heaps, options)
    partitions = more_partitions(judged, stores)
    summary = (
        judged.coverage
        | {
            "retained_versions": options.retain,
            "heap_estimate_bytes": sum(store.held.total for store in stores),
            "heap_peak_estimate_bytes": sum(store.peak.total for store in stores),
        }
        | sizing.summary
    )
    tables = [
        _ladder(judged, stores, options),
        *sizing.tables(),
        _by_store(checkpoint, stores),
        _what_ifs(judged, stores, options),
        partitions,
    ]
    layout = object_layout(checkpoint, version, options, spark)
    return judged.report(
        "memory",
        tables,
        summary,
        footnotes=(
            *sizing.notes(),
            *partition_notes(judged, partitions),
            FOOTNOTE.format(layout=layout.name, spark=spark_text(spark, options.spark)),
        ),
    )


def _ladder(judged: Judged, stores: Sequence[StoreHeap], options: MemoryOptions) -> Table:
    newest = sum((store.versions[judged.version] for store in stores), VersionFacts())
    least = min((len(held(store.versions, options.retain)) for store in stores), default=0)
    n = counted(options.retain, "version")
    short = "" if least >= options.retain else f"; {_no_more_than(least)}"
    rungs: tuple[tuple[str, int, bool, str], ...] = (
        *exact_rungs(judged, newest),
        (
            "heap of 1 version",
            sum(store.retained(1).total for store in stores),
            False,
            "for each row two UnsafeRows with their arrays, a map node and slots of a table",
        ),
        (
            f"heap of {n}",
            sum(store.held.total for store in stores),
            False,
            f"what executors hold between batches: shared rows once{short}",
        ),
        (
            f"heap of {n} without sharing",
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
    return ladder_table(rungs)


def _by_store(checkpoint: Checkpoint, stores: Sequence[StoreHeap]) -> Table:
    groups: dict[StoreName, Heap] = {}
    for store in stores:
        place = store.store.name
        groups[place] = groups.get(place, Heap()) + store.held
    return HeapRow.table(
        "heap between batches by store",
        [
            HeapRow(
                **store_ids(checkpoint, name),
                objects=heap.objects,
                **{part: taken.bytes for part, taken in heap.parts.items()},
                total=heap.total,
            )
            for name, heap in groups.items()
        ],
    )


def _what_ifs(judged: Judged, stores: Sequence[StoreHeap], options: MemoryOptions) -> Table:
    now = sum(store.held.total for store in stores)
    return WhatIfRow.table(
        f"what if (now: ~{bytes_text(now)} for {counted(options.retain, 'version')})",
        [
            WhatIfRow(change=change, heap_bytes=amount, saved_bytes=now - amount, how=how)
            for change, amount, how in _changes(judged, stores, options)
        ],
    )


def _changes(
    judged: Judged, stores: Sequence[StoreHeap], options: MemoryOptions
) -> Iterator[tuple[str, int, str]]:
    """Each change with the heap that it leaves, and what to do for it."""
    now = sum(store.held.total for store in stores)
    for n in WHAT_IF_VERSIONS:
        if n != options.retain:
            total = sum(store.retained(n).total for store in stores)
            known = min((len(held(store.versions, n)) for store in stores), default=0)
            short = "" if known >= n else f"; {_no_more_than(known)}"
            yield f"{counted(n, 'version')} retained", total, f"{RETAIN}{short}"
    rows, saved = _leftovers(judged.facts, stores, options)
    if rows:
        how = "inspector leftovers lists them" + _how_sure(judged.facts)
        yield f"{counted(rows, 'leftover row')} removed", max(0, now - saved), how
    objects = [
        (store, distinct(store.versions, options.retain, store.prefixes)) for store in stores
    ]
    format_1 = sum(_saved_by_format_2(judged.checkpoint, store, found) for store, found in objects)
    if format_1:
        yield "state format 2", now - format_1, "a new query: format 1 keeps the key twice"
    shorter = sum(of_store.saved_by_shorter_keys(_WORD) for _, of_store in objects)
    yield f"keys {_WORD} bytes shorter", now - shorter, "a narrower type, or shorter strings"
    if stores:
        yield "RocksDB state store", 0, _rocksdb(len(stores), options.rocksdb)


def _leftovers(
    facts: Facts, stores: Sequence[StoreHeap], options: MemoryOptions
) -> tuple[int, int]:
    """How many rows have outlived their expiry, and the heap that they take."""
    totals = [one.fact for one in facts.totals]
    layouts = {store.layout for store in stores}
    heaps = (
        of_rows(one.rows, one.key_bytes, one.value_bytes, layout, options.retain).total
        for one in totals
        for layout in layouts
    )
    return sum(one.rows for one in totals), sum(heaps)


def _how_sure(facts: Facts) -> str:
    rows = dict.fromkeys(Certainty, 0)
    for one in facts.totals:
        rows[one.fact.certainty] += one.fact.rows
    inferred = rows[Certainty.INFERRED]
    if not rows[Certainty.PROVEN]:
        return "; that they are leftovers is inferred"
    return f"; {counted(inferred, 'of them is', 'of them are')} inferred" if inferred else ""


def _rocksdb(stores: int, confs: RocksDbMemory) -> str:
    """What RocksDB keeps instead."""
    return (
        "spark.sql.streaming.stateStore.providerClass, and a new checkpoint: rows lie on local "
        f"disk; {confs.sentence(stores)}"
    )


def _no_more_than(versions: int) -> str:
    return f"the files can restore {counted(versions, 'version')} only, so this is a lower bound"


def _saved_by_format_2(checkpoint: Checkpoint, store: StoreHeap, found: HeapFacts) -> int:
    if store.operator_name != "stateStoreSave":
        return 0
    version = max(store.versions)
    if checkpoint.conf(version, "aggregation.stateFormatVersion") != "1":
        return 0
    operator = next(o for o in checkpoint.operators if o.operator_id == store.store.operator_id)
    schema = operator.schemas.get(store.store.store_name)
    return 0 if schema is None else found.saved_by_format_2(len(schema.key.fields))
