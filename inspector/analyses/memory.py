"""``memory``: the size ladder, from bytes in files to bytes on the heap; what would change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged, file_bytes, store_ids
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import REPLAY, RULES, Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.store_heaps import JDK, NEWEST, object_layout, spark_of, store_heaps
from inspector.arrays import median
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Request
from inspector.estimates.heap import Heap, HeapFacts, Layout, StoreHeap, of_rows
from inspector.estimates.sizing import (
    MANAGED_PERCENT,
    RESERVED_BYTES,
    SHAPES,
    Load,
    Shape,
    heap_bytes_for,
    room_bytes,
)
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass, field, fields, replace
from inspector.merge.collect import Facts
from inspector.model import Certainty, FileKind
from inspector.quantities import bytes_text, short_count_text
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.sums import group_by, sum_by_key

PREFIX = "spark.sql.streaming.stateStore.rocksdb."  # beginning of the names of RocksDB's confs
_MB = 1 << 20  # bytes of a mebibyte
# RocksDB's own defaults: max_write_buffer_number, and write_buffer_size in MiB
_OWN_BUFFERS, _OWN_BUFFER_MB = 2, 64


class OffHeapRow(t.Row, table="off_heap"):
    """With RocksDB: memory that it may use outside of the executors' heaps, by its confs."""

    kept: Annotated[
        t.Text,
        "The memory: `block cache`, `write buffers`, `indexes and filters` or `all of RocksDB`.",
        t.Rank(1),
    ]
    most_bytes: Annotated[t.Bytes | None, "The limit that the confs set, for all of it."]
    stores: Annotated[t.Count | None, "Open stores that each have this limit; null: all share it."]
    limit: Annotated[
        t.Text, "`kept` (never exceeded), `soft` (RocksDB exceeds it rather than fail) or `none`."
    ]
    meaning: t.Meaning


@dataclass(frozen=True)
class RocksDbMemory:
    """Confs of RocksDB that decide about memory: Spark's names below :data:`PREFIX`, and defaults.

    It also says how much memory they allow.
    """

    # block cache of each store, in MiB
    blockCacheSizeMB: int = 8  # noqa: N815 - as the confs are spelled
    # size of a write buffer, in MiB; -1 for RocksDB's own
    writeBufferSizeMB: int = -1  # noqa: N815
    # write buffers of each store; -1 for RocksDB's own
    maxWriteBufferNumber: int = -1  # noqa: N815
    # True if all stores of an executor share one cache, to which write buffers, indexes and filters
    # are charged
    boundedMemoryUsage: bool = False  # noqa: N815
    maxMemoryUsageMB: int = 500  # noqa: N815  # size of that shared cache, in MiB
    # share of that cache that write buffers may take
    writeBufferCacheRatio: float = 0.5  # noqa: N815

    @classmethod
    def of(cls, confs: Mapping[str, str]) -> RocksDbMemory:
        """Return the confs whose values ``confs`` gives as text by name; others have defaults.

        Names may be in any case, with or without :data:`PREFIX`. Raises CheckpointError for an
        unknown name or an impossible value.
        """
        confs_by_name = {conf.name.lower(): conf for conf in fields(cls)}
        values: dict[str, Any] = {}
        for key, text in confs.items():
            conf = confs_by_name.get(key.lower().removeprefix(PREFIX.lower()))
            if conf is None:
                names = ", ".join(conf.name for conf in fields(cls))
                raise CheckpointError(f"unknown memory setting {key!r}, expected one of {names}")
            values[conf.name] = _value(conf.name, conf.default, text)
        return cls(**values)

    @property
    def buffers_mb(self) -> int:
        """Size of all write buffers of one store at most, in MiB."""
        size = self.writeBufferSizeMB if self.writeBufferSizeMB > 0 else _OWN_BUFFER_MB
        number = self.maxWriteBufferNumber if self.maxWriteBufferNumber > 0 else _OWN_BUFFERS
        return size * number

    def sentence(self, stores: int) -> str:
        """Return a clause on the most memory that RocksDB takes outside of the heap.

        With bounded memory it is that of each executor; else that of ``stores`` open stores.
        """
        if self.boundedMemoryUsage:
            return f"outside of the heap {bytes_text(self.maxMemoryUsageMB * _MB)} on each executor"
        per_store = (self.blockCacheSizeMB + self.buffers_mb) * _MB
        total = f" for each of {stores:,} stores, {bytes_text(per_store * stores)} in all,"
        return (
            f"its caches take up to {bytes_text(per_store)}"
            f"{total if stores > 1 else ''} outside the heap, unless rocksdb.boundedMemoryUsage "
            "limits them"
        )

    def table(self, stores: int, executors: int | None) -> t.Table:
        """Return the table of the memory, in bytes, that ``stores`` open stores may take.

        With bounded memory the number of stores does not matter: the limits are those of all
        ``executors`` together, or of one executor if their number is None.
        """
        if self.boundedMemoryUsage:
            limit_bytes = self.maxMemoryUsageMB * _MB * (executors or 1)
            owner = short_count_text(executors, "executor") if executors else "each executor"
            all_of_it = (
                f"on {owner}: blocks, indexes, filters and write buffers share one cache, which "
                "RocksDB passes rather than fail"
            )
            waiting = f"on {owner}, of the above: changes that no table has yet"
            buffers = round(self.maxMemoryUsageMB * _MB * self.writeBufferCacheRatio)
            limits: list[tuple[str, int | None, str, str]] = [
                ("all of RocksDB", limit_bytes, "soft", all_of_it),
                ("write buffers", buffers * (executors or 1), "soft", waiting),
            ]
        else:
            blocks, buffers = (mb * stores * _MB for mb in (self.blockCacheSizeMB, self.buffers_mb))
            opened = "of every table that is open; bounded memory charges them to the cache"
            limits = [
                ("block cache", blocks, "kept", "blocks of tables that were read"),
                ("write buffers", buffers, "kept", "changes that no table has yet"),
                ("indexes and filters", None, "none", opened),
            ]
        store_count = None if self.boundedMemoryUsage else stores
        rows = [
            OffHeapRow(
                kept=memory_part, most_bytes=size, stores=store_count, limit=limit, meaning=meaning
            )
            for memory_part, size, limit, meaning in limits
        ]
        return OffHeapRow.table("outside of the heap, by the confs of RocksDB", rows)


# values that a conf of a type may have, in words, for error messages
_KINDS = {bool: "true or false", int: "a positive number", float: "a number from 0 to 1"}


def _value(name: str, default: Any, text: str) -> Any:
    """Return the value of the conf ``name`` that ``text`` says, of the type of its ``default``.

    Whole numbers have to be positive or the default, ratios at least 0 and below 1, and booleans
    ``true`` or ``false``. Raises CheckpointError for any other text.
    """
    kind = type(default)
    try:
        value = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
        if 0 <= value < 1 if kind is float else value > 0 or value == default:
            return value
    except (KeyError, ValueError):
        pass
    raise CheckpointError(f"got {text!r} for {name}, expected {_KINDS[kind]}")


class ExecutorRow(t.Row, table="executors"):
    """State on the heap of one executor, with `--executors`."""

    spread: Annotated[
        t.Text, "How the partitions are placed on executors: `evenly` or `at worst`.", t.Rank(1)
    ]
    bytes: Annotated[t.EstimatedBytes, "Its bytes.", t.Rank(2)]
    share_of_heap: Annotated[
        t.Share | None, "Their part of the heap that `--heap` names; null without it.", t.ESTIMATE
    ]
    fits: Annotated[
        t.Flag | None,
        "Whether that is within what is left to the state; null without `--heap`.",
        t.Rank(3),
        t.ESTIMATE,
    ]
    heap_needed_bytes: Annotated[
        t.EstimatedBytes,
        "The smallest heap of an executor that has room for `bytes`.",
        t.Rank(4),
    ]


class ShapeRow(t.Row, table="shapes"):
    """Without `--executors`: number of executors of one size that hold the state."""

    executor_heap_bytes: Annotated[
        t.Bytes, "Heap of an executor: spark.executor.memory.", t.Title("executor heap"), t.Rank(1)
    ]
    cores: Annotated[t.Count, "Tasks that an executor runs at a time.", t.Rank(3)]
    room_bytes: Annotated[t.EstimatedBytes, "What of that heap is left to the state."]
    executors: Annotated[
        t.Count | None,
        "How many hold it, even if the largest partitions meet on one; null if one partition "
        "takes too much.",
        t.Rank(2),
        t.ESTIMATE,
    ]
    executors_if_even: Annotated[
        t.Count | None,
        "How many hold it if the partitions are spread evenly.",
        t.Rank(4),
        t.ESTIMATE,
    ]
    executor_bytes: Annotated[
        t.EstimatedBytes | None, "State on the heap of one of these executors, at most.", t.Rank(5)
    ]


@dataclass(frozen=True)
class MemoryOptions:
    """Executors that hold the state, and confs of the query, as the user describes them."""

    # versions that Spark keeps in memory (``spark.sql.streaming.maxBatchesToRetainInMemory``)
    retain: int = 2
    executors: int | None = None  # number of executors that share the partitions; None if unknown
    cores: int = 1  # tasks that an executor runs at a time
    heap_bytes: int | None = None  # maximal heap of an executor, in bytes; None if unknown
    jdk: int = JDK  # Java release of the executors
    # Spark release that runs the query; None for the one that the checkpoint shows
    spark: str | None = None
    # percentage of a heap that the state may take; None for what Spark's defaults leave
    state_percent: int | None = None
    rocksdb: RocksDbMemory = field(default_factory=RocksDbMemory)  # confs of RocksDB


_TYPICAL = Shape(8 << 30, 4)  # executor in the answer if the user describes none: 8 GiB and 4 cores


@dataclass(frozen=True)
class Sizing:
    """Answer to how many executors hold a state on their heaps, or how one of them is loaded."""

    # function from the bytes of an executor's heap (None if unknown) to the load by partition;
    # objects are larger in heaps of 32 GiB and more
    load: Callable[[int | None], Load]
    usual: Sequence[int]  # heap of each partition between batches, in bytes
    # heap of each partition during a batch, in bytes, in the order of ``usual``
    most: Sequence[int]
    options: MemoryOptions  # description of the executors

    @property
    def summary(self) -> dict[str, Any]:
        """Fields of a summary: sizes of the partitions in bytes, and if the executors hold them.

        The latter has two answers: for an even spread of the partitions, and for the worst. Without
        a given heap they are left out; if only the number of executors is given, the summary has
        the heap that each needs.
        """
        median_bytes = median(np.array(self.usual)) if self.usual else 0
        summary: dict[str, Any] = {
            "partitions": len(self.usual),
            "largest_partition_estimate_bytes": max(self.usual, default=0),
            "largest_partition_peak_estimate_bytes": max(self.most, default=0),
            "median_partition_estimate_bytes": round(median_bytes),
        }
        heap = self.options.heap_bytes
        if self.options.executors is not None:
            even, worst = self._executor_rows(self.options.executors)
            if heap is None:
                return summary | {"heap_needed_estimate_bytes": worst.heap_needed_bytes}
            return summary | {"fits_if_even": even.fits, "fits_at_worst": worst.fits}
        if heap is None:
            return summary
        row = self._shape_row(Shape(heap, self.options.cores))
        summary["fits_if_even"] = row.executors_if_even is not None
        summary["fits_at_worst"] = row.executors is not None
        return summary if row.executors is None else summary | {"executors_needed": row.executors}

    def tables(self) -> Iterator[t.Table]:
        """Yield one table: the executors needed, or the load of one if their number is given.

        Executors needed are listed for usual sizes, or for the size that the options describe.
        """
        executors, heap = self.options.executors, self.options.heap_bytes
        if executors is not None:
            cores = short_count_text(self.options.cores, "core")
            holders = f"each of {executors:,} executors" if executors != 1 else "one executor"
            rows = self._executor_rows(executors)
            yield ExecutorRow.table(f"state on {holders} with {cores}", rows)
            return
        shapes = SHAPES if heap is None else (Shape(heap, self.options.cores),)
        yield ShapeRow.table("executors needed for the state", list(map(self._shape_row, shapes)))

    def notes(self) -> Iterator[str]:
        """Yield sentences on the sizes, on the executors, and on what they assume.

        None without partitions.
        """
        if not self.usual:
            return
        yield (
            f"{short_count_text(self.options.retain, 'version')} of the state "
            f"{'take' if self.options.retain != 1 else 'takes'} about "
            f"{bytes_text(sum(self.usual))} of heap, all executors together, and up to "
            f"{bytes_text(sum(self.most))} during a batch. The largest of "
            f"{short_count_text(len(self.usual), 'partition')} takes about "
            f"{bytes_text(max(self.usual))}, and up to {bytes_text(max(self.most))} during a batch."
        )
        executors, heap = self.options.executors, self.options.heap_bytes
        if executors is None:
            yield self._text_of_need(_TYPICAL if heap is None else Shape(heap, self.options.cores))
        else:
            yield self._load_sentence(executors, heap)
        percent, typical = self.options.state_percent, _TYPICAL.heap_bytes
        if percent is not None:
            yield f"This assumes that the state fills at most {percent} % of an executor's heap."
            return
        yield (
            "This assumes that the state uses only the heap that Spark's memory manager leaves "
            f"free: after {bytes_text(RESERVED_BYTES)} of reserved memory, spark.memory.fraction "
            f"({MANAGED_PERCENT / 100} by default) is used for shuffles, joins and caches; the "
            f"rest, {bytes_text(room_bytes(typical))} of {bytes_text(typical)}, "
            "is left for the state and all other objects. Use --state-percent to change this."
        )

    def _text_of_need(self, shape: Shape) -> str:
        """Return the sentence on how many executors of a shape (heap and cores) hold the state.

        It says so if no number of them would.
        """
        row, size = self._shape_row(shape), bytes_text(shape.heap_bytes)
        number, even = row.executors, row.executors_if_even
        if number is None:
            alone = self.load(shape.heap_bytes).spread(len(self.usual), shape.cores).worst
            return (
                f"No number of executors of {size} would hold it: each has room for "
                f"{bytes_text(row.room_bytes)} of state, and one partition takes up "
                f"to {bytes_text(alone)}. It takes larger heaps, or smaller partitions."
            )
        holders = f"{short_count_text(number, 'executor')} of {size}"
        verb = "would hold it" if number != 1 else "would hold all of it"
        even_clause = (
            "" if even in (None, number) else f"; {even} if the partitions are spread evenly"
        )
        return f"About {holders} with {short_count_text(shape.cores, 'core')} {verb}{even_clause}."

    def _load_sentence(self, executors: int, heap: int | None) -> str:
        """Return the sentence on the state that each of a number of executors holds.

        It says whether that fits into ``heap`` bytes, or which heap is needed if ``heap`` is None.
        """
        even, worst = self._executor_rows(executors)
        subject = f"Each of {short_count_text(executors, 'executor')}"
        text = f"{subject if executors != 1 else 'The executor'} holds about "
        text += bytes_text(even.bytes)
        if worst.bytes != even.bytes:
            text += f", up to {bytes_text(worst.bytes)} if the largest partitions are at work there"
        if heap is None:
            return f"{text}: a heap of {bytes_text(worst.heap_needed_bytes)} has room for that."
        size = bytes_text(heap)
        if not even.fits:
            return f"{text}: that does not fit into a heap of {size}, however it is spread."
        only = "" if worst.fits else " only if it is spread evenly"
        return f"{text}: that fits into a heap of {size}{only}."

    def _shape_row(self, shape: Shape) -> ShapeRow:
        """Return the row on how many executors of a shape (heap and cores) hold the state.

        The number is None if no number of them holds it.
        """
        load = self.load(shape.heap_bytes)
        room = room_bytes(shape.heap_bytes, self.options.state_percent)
        number = load.executors_for(room, shape.cores, evenly=False)
        return ShapeRow(
            executor_heap_bytes=shape.heap_bytes,
            cores=shape.cores,
            room_bytes=room,
            executors=number,
            executors_if_even=load.executors_for(room, shape.cores, evenly=True),
            executor_bytes=None if number is None else load.spread(number, shape.cores).worst,
        )

    def _executor_rows(self, executors: int) -> list[ExecutorRow]:
        """Return two rows on the load of one of ``executors``.

        The first is for an even spread of the partitions, the second for the worst spread.
        """
        heap, percent = self.options.heap_bytes, self.options.state_percent
        load = self.load(heap).spread(executors, self.options.cores)
        return [
            ExecutorRow(
                spread=spread,
                bytes=amount,
                share_of_heap=None if not heap else amount / heap,
                fits=None if heap is None else amount <= room_bytes(heap, percent),
                heap_needed_bytes=heap_bytes_for(amount, percent),
            )
            for spread, amount in (("evenly", load.even), ("at worst", load.worst))
        ]


def _by_partition(stores: Sequence[StoreHeap]) -> tuple[list[int], list[int]]:
    """Return two lists with the heap bytes of each partition of each operator, over its stores.

    The first is for the time between batches, the second for the peak of a batch. Both have the
    same order.
    """
    partitions = group_by(stores, lambda heap: (heap.store.operator_id, heap.store.partition_id))
    return (
        [sum(heap.held.total for heap in heaps) for heaps in partitions.values()],
        [sum(heap.peak.total for heap in heaps) for heaps in partitions.values()],
    )


class RungRow(t.Row, table="ladder"):
    """The size of the state, counted in one way."""

    rung: Annotated[
        t.Text,
        "What is counted: `delta files`, `snapshot files`, `raw bytes` (decompressed), "
        "`keys`, `values`, `rows` (keys and values), `heap of 1 version`, `heap of 2 versions` "
        "(those retained), the same `without sharing` of rows, `peak heap in a batch`.",
        t.Rank(1),
    ]
    bytes: Annotated[t.Bytes, "Its bytes."]
    counted: Annotated[t.Text, "`exact` or `estimate`."]
    meaning: t.Meaning


def _off_heap_report(judged: Judged, options: MemoryOptions) -> Report:
    """Return the report on state in RocksDB, which is not on the heap.

    It has the sizes from files to rows, and the memory outside of the heap by the confs in
    ``options``. A footnote names given options that are about the heap, and so have no effect.
    """
    stores = len(judged.checkpoint.layout.folders)
    ladder = RungRow.table("size ladder", list(_exact_rungs(judged)))
    confs = "these are those of --rocksdb-conf, and Spark's defaults"
    if options.rocksdb == RocksDbMemory():
        confs = "these are Spark's defaults, and --rocksdb-conf gives others"
    plain = MemoryOptions()
    about_heaps = ("retain", "cores", "heap_bytes", "state_percent", "jdk", "spark")
    set_names = [name for name in about_heaps if getattr(options, name) != getattr(plain, name)]
    flags = " and ".join(f"--{name.removesuffix('_bytes').replace('_', '-')}" for name in set_names)
    verb = "is" if len(set_names) == 1 else "are"
    unused = (
        [f"{flags} {verb} about maps on the heap, and changed nothing here."] if set_names else []
    )
    return judged.report(
        "memory",
        [ladder, options.rocksdb.table(stores, options.executors)],
        judged.coverage,
        footnotes=(
            "The rows of this state lie on the executors' local disks, in RocksDB, and not on "
            "their heaps: there is no heap to estimate. The checkpoint does not record the confs "
            f"of RocksDB: {confs}.",
            *unused,
        ),
    )


def _rung(rung: str, amount: int, meaning: str) -> RungRow:
    """Return a row of the size ladder, named ``rung``, with ``amount`` bytes.

    It is an estimate if ``amount`` is an instance of :class:`t.Estimate`, and else exact.
    """
    counted = "estimate" if isinstance(amount, t.Estimate) else "exact"
    return RungRow(rung=rung, bytes=amount, counted=counted, meaning=meaning)


def _exact_rungs(judged: Judged) -> Iterator[RungRow]:
    """Yield the exact rows of the size ladder: files, raw bytes, and keys, values and rows.

    The files and raw bytes are those of all versions; the others are of the judged version.
    """
    file_sizes, newest = file_bytes(judged.checkpoint), judged.total
    raw = sum(version_facts.raw_bytes for version_facts in judged.facts.versions.values())
    deltas, snapshots, tables = (
        file_sizes.get(kind, 0) for kind in (FileKind.DELTA, FileKind.SNAPSHOT, FileKind.TABLE)
    )
    yield _rung("delta files", deltas, "compressed; the changes of each batch")
    yield _rung("snapshot files", snapshots, "compressed; complete versions")
    if tables:
        meaning = "compressed; the rows of the snapshots, which share them"
        yield _rung("table files", tables, meaning)
    yield _rung("raw bytes", raw, "the replayed files, decompressed; each put repeats its key")
    yield _rung("keys", newest.key_bytes, "UnsafeRow bytes of the judged version")
    yield _rung("values", newest.value_bytes, "UnsafeRow bytes of the judged version")
    yield _rung("rows", newest.row_bytes, "keys and values together")


def spark_text(spark: str | None, given: str | None) -> str:
    """Return a clause on which Spark is assumed to run the query, and why.

    ``given`` is the release that the user named, None if none. ``spark`` is the oldest release that
    fits the checkpoint, None if the checkpoint shows none; then the newest is assumed.
    """
    if given is not None:
        return f"Spark {given}, as given"
    if spark is None:
        return f"Spark {NEWEST}; the checkpoint does not show which, --spark says it"
    return f"Spark {spark.removesuffix('.0')} or later, by the confs that its offset log records"


_WORD = 8  # bytes by which keys are shorter in the change that the table assumes: a JVM word
# footnote of the report on heaps, a template: the object layout, and a clause on the Spark release
FOOTNOTE = (
    "Counts of objects are exact. Bytes of the heap are estimates, which assume the JVM's object "
    "layout ({layout}; {spark}). Spark's own memoryUsedBytes and stateOnCurrentVersionSizeBytes "
    "come from SizeEstimator, which samples arrays of more than 400 slots: compared with live "
    "heaps they were between 42 % too low and 11 % too high."
)


class HeapRow(t.StoreRow, table="heap", empty="no store has rows of this version"):
    """Bytes of one store on the executors' heaps between batches."""

    operator_name: t.OperatorName | None
    objects: Annotated[t.Count, "Objects on the heap, exact.", t.Rank(12)]
    unsafe_rows: Annotated[t.EstimatedBytes, "`UnsafeRow` objects."]
    byte_arrays: Annotated[t.EstimatedBytes, "Byte arrays behind them."]
    wrappers: Annotated[t.EstimatedBytes, "`StateStoreRow` objects around values."]
    nodes: Annotated[t.EstimatedBytes, "Map nodes."]
    tables: Annotated[t.EstimatedBytes, "The maps' tables."]
    maps: Annotated[t.EstimatedBytes, "Map objects."]
    prefixes: Annotated[t.EstimatedBytes, "Sets of a session window's prefixes."]
    total: Annotated[t.EstimatedBytes, "The sum of these.", t.Rank(11)]


class WhatIfRow(t.Row, table="what_ifs"):
    """A possible change: fewer versions, no leftovers, state format 2, shorter keys, RocksDB."""

    change: Annotated[t.Text, "What would be different.", t.Rank(1)]
    heap_bytes: Annotated[t.EstimatedBytes, "Bytes on the heap of executors then."]
    saved_bytes: Annotated[t.EstimatedBytes, "How many less than now."]
    how: Annotated[t.Text, "What to do for it."]


# facts (results of reading state files) that the command requests of its tasks: those of each
# version, of single partitions
FACTS = Request(partitions=True)


def wrong_options(parsed: Mapping[str, Any]) -> str | None:
    """Return the error in the options of the command, in words; None if there is none.

    ``parsed`` has the value of each option by its name. Errors are an unknown Spark release, more
    than 100 percent, and a wrong conf of RocksDB.
    """
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


_HELP = {  # help texts of options, by the name of the argument of :func:`memory`
    "retain": "Number of versions in memory (spark.sql.streaming.maxBatchesToRetainInMemory).",
    "state_percent": "Percentage of the executor heap that the state may fill.  [default: what "
    "Spark's memory manager leaves]",
    "rocksdb_confs": "Configuration of the query below spark.sql.streaming.stateStore.rocksdb, "
    "such as writeBufferSizeMB=32 or boundedMemoryUsage=true; repeatable.  [default: Spark's own]",
}


@analysis(
    uses=(RULES, REPLAY),
    tables=(RungRow, OffHeapRow, ExecutorRow, ShapeRow, HeapRow, WhatIfRow),
    facts=FACTS,
    many=True,
    check=wrong_options,
)
def memory(  # noqa: PLR0913 - each is an option of the command
    path: str | Opened,
    options: Options | None = None,
    *,
    retain: Annotated[int, Option(_HELP["retain"], minimum=1)] = 2,
    executors: Annotated[
        int | None, Option("Number of executors that share the partitions.", minimum=1)
    ] = None,
    cores: Annotated[
        int, Option("Number of tasks that an executor runs at a time.", minimum=1)
    ] = 1,
    heap: Annotated[
        int | None, Option("Heap of an executor (spark.executor.memory), such as 8GiB.", size=True)
    ] = None,
    state_percent: Annotated[int | None, Option(_HELP["state_percent"], minimum=1)] = None,
    jdk: Annotated[int, Option("Java version of the executors.", minimum=8)] = JDK,
    spark: Annotated[
        str | None, Option("Spark version that runs the query.  [default: as the checkpoint shows]")
    ] = None,
    rocksdb_confs: Annotated[
        Mapping[str, str], Option(_HELP["rocksdb_confs"], metavar="CONF=VALUE")
    ] = MappingProxyType({}),
) -> Report:
    """State size from files to heap, how many executors hold it, and what would reduce it.

    ``shapes`` says how many executors hold the state: of common sizes, or with --heap of that heap
    and --cores. --executors says which heap each needs, and with --heap whether the state fits.
    Heap bytes are estimates, at most 0.16 % off 33 live heaps (``inspector explain heap``).
    RocksDB's rows are not on the heap: the report has sizes from files to rows, and ``off_heap``.
    """
    run = Run.start(path, options)
    confs = RocksDbMemory.of(rocksdb_confs)
    given = MemoryOptions(retain, executors, cores, heap, jdk, spark, state_percent, confs)
    return memory_report(run.judge(run.facts(FACTS)), given)


def memory_report(judged: Judged, options: MemoryOptions) -> Report:
    """Return the report: size ladder, executors, heap by store, and what would reduce it.

    For state in RocksDB: the ladder up to the rows, and the memory outside the heap. Raises
    CheckpointError for an unknown Spark release.
    """
    checkpoint, version = judged.checkpoint, judged.version
    if not checkpoint.provider.keeps_maps:
        return _off_heap_report(judged, options)
    spark = options.spark or spark_of(checkpoint, version)

    @cache
    def of_layout(layout: Layout) -> list[StoreHeap]:
        """Return the heap of each store of each partition, by a layout of objects."""
        return store_heaps(judged, layout, options.retain)

    def heaps(heap_bytes: int | None) -> list[StoreHeap]:
        """Return the heap of each store of each partition, in an executor's heap of this size."""
        return of_layout(object_layout(checkpoint, version, spark, heap_bytes, options.jdk))

    @cache
    def load(heap_bytes: int | None) -> Load:
        """Return the heap of all partitions, in an executor's heap of this size."""
        return Load(*_by_partition(heaps(heap_bytes)))

    stores = heaps(options.heap_bytes)
    sizing = Sizing(load, *_by_partition(stores), options)
    summary = judged.coverage | {
        "retained_versions": options.retain,
        "heap_estimate_bytes": sum(store.held.total for store in stores),
        "heap_peak_estimate_bytes": sum(store.peak.total for store in stores),
        **sizing.summary,
    }
    heaps_held = {
        name: sum((heap.held for heap in group), Heap())
        for name, group in group_by(stores, lambda heap: heap.store.name).items()
    }
    store_rows = [
        HeapRow(
            **store_ids(checkpoint, name),
            objects=heap.objects,
            **{part: objects.bytes for part, objects in heap.parts.items()},
            total=heap.total,
        )
        for name, heap in heaps_held.items()
    ]
    tables = [
        RungRow.table("size ladder", [*_exact_rungs(judged), *_heap_rungs(stores, options)]),
        *sizing.tables(),
        HeapRow.table("heap between batches by store", store_rows),
        _change_table(judged, stores, options),
    ]
    layout = object_layout(checkpoint, version, spark, options.heap_bytes, options.jdk)
    footnote = FOOTNOTE.format(layout=layout.name, spark=spark_text(spark, options.spark))
    return judged.report("memory", tables, summary, footnotes=(*sizing.notes(), footnote))


def _heap_rungs(stores: Sequence[StoreHeap], options: MemoryOptions) -> Iterator[RungRow]:
    """Yield the estimated rows of the size ladder, with bytes on the heap of all executors.

    They are those of one version, of the retained versions, of these without sharing, and of the
    peak in a batch.
    """
    title = f"heap of {short_count_text(options.retain, 'version')}"
    meaning_once = "two UnsafeRows with their arrays, a map node and table slots for each row"
    meaning_retained = "held by executors between batches; shared rows are counted once"
    meaning_retained += _lower_bound(stores, options.retain)
    apart = "the same if no rows were shared"
    working = "including the working copies of the last batch, with all partitions at once"
    for rung, heaps, meaning in (
        ("heap of 1 version", [replace(store, retain=1).held for store in stores], meaning_once),
        (title, [store.held for store in stores], meaning_retained),
        (f"{title} without sharing", [store.unshared for store in stores], apart),
        ("peak heap in a batch", [store.peak for store in stores], working),
    ):
        yield _rung(rung, t.Estimate(sum(heap.total for heap in heaps)), meaning)


def _lower_bound(stores: Sequence[StoreHeap], retain: int) -> str:
    """Return a clause if the files of a store show fewer than ``retain`` versions; else "".

    It says that the bytes are a lower bound.
    """
    fewest = min((len(replace(store, retain=retain).known) for store in stores), default=0)
    if fewest >= retain:
        return ""
    count = short_count_text(fewest, "version")
    return f"; the files can restore {count} only, so this is a lower bound"


def _change_table(judged: Judged, stores: Sequence[StoreHeap], options: MemoryOptions) -> t.Table:
    """Return the table of possible changes, with the bytes of heap that each would leave.

    The changes are fewer retained versions, no leftovers, state format 2, shorter keys, and
    RocksDB. Leftovers and format 2 are left out if they would save nothing.
    """
    now = sum(store.held.total for store in stores)
    changes: list[tuple[str, int, str]] = []
    for n in (1, 2):
        if n != options.retain:
            total = sum(replace(store, retain=n).held.total for store in stores)
            how = "spark.sql.streaming.maxBatchesToRetainInMemory" + _lower_bound(stores, n)
            changes.append((f"{short_count_text(n, 'version')} retained", total, how))
    totals = [total.fact for total in judged.facts.totals]
    rows = sum(total.rows for total in totals)
    if rows:
        heaps = (
            of_rows(total.rows, total.key_bytes, total.value_bytes, layout, options.retain).total
            for total in totals
            for layout in {store.layout for store in stores}
        )
        how = "inspector leftovers lists them" + _how_sure(judged.facts)
        change = f"{short_count_text(rows, 'leftover row')} removed"
        changes.append((change, max(0, now - sum(heaps)), how))
    held_objects = [(store, store.distinct) for store in stores]
    format_1 = sum(
        _format_2_saving(judged.checkpoint, *object_counts) for object_counts in held_objects
    )
    if format_1:
        how = "inspector copy PATH NEW --state-format 2: format 1 keeps the key twice"
        changes.append(("state format 2", now - format_1, how))
    shorter = now - sum(objects.shorter_keys_saving(_WORD) for _, objects in held_objects)
    how = "a narrower type, or shorter strings"
    changes.append((f"keys {_WORD} bytes shorter", shorter, how))
    if stores:
        how = (
            "inspector copy PATH NEW --provider rocksdb: rows are kept on local disk; "
            f"{options.rocksdb.sentence(len(stores))}"
        )
        changes.append(("RocksDB state store", 0, how))
    versions = short_count_text(options.retain, "version")
    return WhatIfRow.table(
        f"what if (now: ~{bytes_text(now)} for {versions})",
        [
            WhatIfRow(change=change, heap_bytes=amount, saved_bytes=now - amount, how=how)
            for change, amount, how in changes
        ],
    )


def _how_sure(facts: Facts) -> str:
    """Return a clause on how certain the leftovers are; "" if all are proven.

    It says how many leftovers are inferred, or that all are. It begins with a semicolon, to follow
    another clause.
    """
    rows = sum_by_key((total.fact.certainty, total.fact.rows) for total in facts.totals)
    inferred = rows.get(Certainty.INFERRED, 0)
    if not rows.get(Certainty.PROVEN):
        return "; that they are leftovers is inferred"
    text = short_count_text(inferred, "of them is", "of them are")
    return f"; {text} inferred" if inferred else ""


def _format_2_saving(checkpoint: Checkpoint, store: StoreHeap, heap_facts: HeapFacts) -> int:
    """Return the heap bytes that a store would save with state format 2, which holds keys once.

    ``heap_facts`` are the row objects of the store. Returns 0 unless the store is of a streaming
    aggregation in format 1 and has a schema.
    """
    state_format = checkpoint.conf(max(store.versions), "aggregation.stateFormatVersion")
    if store.operator_name != "stateStoreSave" or state_format != "1":
        return 0
    operator = next(o for o in checkpoint.operators if o.operator_id == store.store.operator_id)
    schema = operator.schemas.get(store.store.store_name)
    return 0 if schema is None else heap_facts.format_2_saving(len(schema.key.fields))
