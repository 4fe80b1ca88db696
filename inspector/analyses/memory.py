"""``memory``: the size ladder, from bytes in files to bytes on the heap; what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from inspector.analyses.shared.common import (
    STORE,
    count,
    coverage,
    file_bytes,
    identity,
    operator_names,
    size,
)
from inspector.analyses.shared.declare import FactRequest, Option, TableSpec, analysis
from inspector.analyses.shared.heap import (
    MemoryOptions,
    StoreHeap,
    object_layout,
    spark_of,
    store_heaps,
)
from inspector.analyses.shared.options import AT_VERSION, PART, SCHEMAS, WORK, Options
from inspector.analyses.shared.run import Run
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.heap import Heap, HeapFacts, distinct, held, per_executor
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import FileKind, Problem, StoreName
from inspector.render.report import Column, Report, Table, Unit
from inspector.render.text import bytes_text

WHAT_IF_VERSIONS = (1, 2, 100)
_WORD = 8
FOOTNOTE = (
    "Counts of objects are exact; bytes of the heap are estimates, because they take the JVM's "
    "object layout for granted ({layout}; Spark {spark}). Spark's own memoryUsedBytes and "
    "stateOnCurrentVersionSizeBytes come from SizeEstimator, which samples arrays of more than "
    "400 slots: held against live heaps they said from 42 % less to 11 % more than was there."
)
LADDER = TableSpec(
    "ladder",
    "the size of the state, counted in one way",
    (
        Column("rung"),
        size("bytes", "How many bytes that is."),
        Column("size"),
        Column("counted"),
        Column("meaning"),
    ),
)
EXECUTORS = TableSpec(
    "executors",
    "what one executor holds; with `--executors`",
    (
        Column("spread"),
        Column("bytes", Unit.BYTES, exact=False, doc="Bytes of state on the heap of one executor."),
        Column("percent_of_heap", Unit.COUNT, exact=False),
    ),
)
HEAP = TableSpec(
    "heap",
    "what one store takes of the executors' heaps between batches",
    (
        *STORE,
        count("objects"),
        *(Column(name, Unit.BYTES, exact=False) for name in (*Heap().parts, "total")),
    ),
    empty="no store has rows of this version",
)
WHAT_IFS = TableSpec(
    "what_ifs",
    "a change, and what it would save",
    (
        Column("change", doc="What would be different."),
        Column("heap_bytes", Unit.BYTES, exact=False, doc="Bytes on the heap of executors then."),
        Column("saved_bytes", Unit.BYTES, exact=False),
        Column("how"),
    ),
)
FACTS = FactRequest(partitions=True)


@analysis(
    uses=(WORK, SCHEMAS, PART, AT_VERSION),
    tables=(LADDER, EXECUTORS, HEAP, WHAT_IFS),
    facts=FACTS,
)
def memory(  # noqa: PLR0913 - each is an option of the command
    path: str | Run,
    options: Options | None = None,
    *,
    retain: Annotated[
        int,
        Option("Versions in memory: spark.sql.streaming.maxBatchesToRetainInMemory.", minimum=1),
    ] = 2,
    executors: Annotated[
        int | None, Option("Executors that share the partitions.", minimum=1)
    ] = None,
    cores: Annotated[int, Option("Tasks that an executor runs at a time.", minimum=1)] = 1,
    heap: Annotated[
        int | None, Option("Heap of an executor: spark.executor.memory (8GiB).", size=True)
    ] = None,
    jdk: Annotated[int, Option("Java of the executors.", minimum=8)] = 17,
    spark: Annotated[
        str | None,
        Option("Spark that runs the query.  [default: as the checkpoint shows]"),
    ] = None,
) -> Report:
    """The size ladder from files to heap; per executor; what would change it."""
    run = Run.start(path, options)
    facts = run.facts(FACTS)
    memory_options = MemoryOptions(retain, executors, cores, heap, jdk, spark)
    return memory_report(run.checkpoint, run.version, facts, run.problems(facts), memory_options)


def memory_report(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    options: MemoryOptions,
) -> Report:
    """The ladder for the whole selection; the heap by store; executors; what-ifs."""
    spark = options.spark or spark_of(checkpoint, version)
    layout = object_layout(checkpoint, version, options, spark)
    stores = store_heaps(checkpoint, version, facts, layout, options.retain)
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "retained_versions": options.retain,
            "heap_estimate_bytes": sum(store.held.total for store in stores),
            "heap_peak_estimate_bytes": sum(store.peak.total for store in stores),
        }
    )
    tables = [
        _ladder(checkpoint, version, facts, stores, options),
        _by_store(checkpoint, stores),
        _what_ifs(checkpoint, stores, options),
    ]
    if options.executors is not None:
        verdict, table = _executors(stores, options)
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


def _ladder(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    stores: Sequence[StoreHeap],
    options: MemoryOptions,
) -> Table:
    of_files = file_bytes(checkpoint)
    newest = sum((store.versions[version] for store in stores), VersionFacts())
    raw = sum(one.raw_bytes for one in facts.versions.values())
    least = min((len(held(store.versions, options.retain)) for store in stores), default=0)
    n = f"{options.retain} versions" if options.retain != 1 else "1 version"
    short = "" if least >= options.retain else f"; only {least} can be replayed"
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
    return LADDER.table(
        "size ladder",
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


def _by_store(checkpoint: Checkpoint, stores: Sequence[StoreHeap]) -> Table:
    names = operator_names(checkpoint)
    groups: dict[StoreName, Heap] = {}
    for store in stores:
        place = store.store.name
        groups[place] = groups.get(place, Heap()) + store.held
    return HEAP.table(
        "heap between batches by store",
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
    )


def _executors(stores: Sequence[StoreHeap], options: MemoryOptions) -> tuple[str, Table]:
    executors = options.executors or 1
    spread = per_executor(
        [store.held.total for store in stores],
        [store.peak.total for store in stores],
        executors,
        options.cores,
    )
    rows = []
    for how, amount in (("evenly", spread.even), ("at worst", spread.worst)):
        share = None if options.heap_bytes is None else round(100 * amount / options.heap_bytes)
        rows.append({"spread": how, "bytes": amount, "percent_of_heap": share})
    title = f"state per executor: {executors} executors, tasks at a time: {options.cores}"
    table = EXECUTORS.table(title, rows)
    return _verdict(spread.even, spread.worst, options.heap_bytes), table


def _verdict(even: int, worst: int, heap_bytes: int | None) -> str:
    if heap_bytes is None:
        return "say --heap to have it held against an executor's heap"
    room = bytes_text(heap_bytes)
    if even > heap_bytes:
        return f"state does not fit into {room}, however it is spread"
    if worst > heap_bytes:
        return f"state fits into {room} only if partitions are spread evenly"
    return f"state fits into {room}; it shares that with everything else the executor does"


def _what_ifs(checkpoint: Checkpoint, stores: Sequence[StoreHeap], options: MemoryOptions) -> Table:
    now = sum(store.held.total for store in stores)
    return WHAT_IFS.table(
        f"what if (now: {bytes_text(now)} for {options.retain} retained)",
        [
            {"change": change, "heap_bytes": amount, "saved_bytes": now - amount, "how": how}
            for change, amount, how in _changes(checkpoint, stores, options, now)
        ],
    )


def _changes(
    checkpoint: Checkpoint, stores: Sequence[StoreHeap], options: MemoryOptions, now: int
) -> Iterator[tuple[str, int, str]]:
    for n in WHAT_IF_VERSIONS:
        if n != options.retain:
            total = sum(store.retained(n).total for store in stores)
            known = min((len(held(store.versions, n)) for store in stores), default=0)
            how = "spark.sql.streaming.maxBatchesToRetainInMemory"
            more = "" if known >= n else f"; only {known} can be replayed, more take more"
            yield f"{n} versions retained", total, how + more
    objects = [
        (store, distinct(store.versions, options.retain, store.prefixes)) for store in stores
    ]
    shorter = sum(of_store.saved_by_shorter_keys(_WORD) for _, of_store in objects)
    yield f"keys {_WORD} bytes shorter", now - shorter, "a narrower type, or shorter strings"
    format_1 = sum(_saved_by_format_2(checkpoint, store, found) for store, found in objects)
    if format_1:
        yield "state format 2", now - format_1, "a new query: format 1 keeps the key twice"


def _saved_by_format_2(checkpoint: Checkpoint, store: StoreHeap, found: HeapFacts) -> int:
    if store.operator_name != "stateStoreSave":
        return 0
    version = max(store.versions)
    if checkpoint.conf(version, "aggregation.stateFormatVersion") != "1":
        return 0
    operator = next(o for o in checkpoint.operators if o.operator_id == store.store.operator_id)
    schema = operator.schemas.get(store.store.store_name)
    return 0 if schema is None else found.saved_by_format_2(len(schema.key.fields))
