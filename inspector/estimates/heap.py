"""The JVM heap that a store's versions take in an executor, object by object.

``HDFSBackedStateStoreProvider`` keeps the newest ``maxBatchesToRetainInMemory`` versions
(``loadedMaps``), each a ``ConcurrentHashMap`` of its own. Key rows and value rows are shared
between versions by reference; nodes and tables are not. The number of objects follows exactly from
the facts. Their sizes depend on the JVM (:class:`Layout`), so a result is an estimate whose counts
are exact.

A :class:`StoreHeap` is about one store in one partition, because a table's size depends on its rows
alone. The heaps of several stores add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import dataclass, field, fields, replace
from inspector.model import DEFAULT_STORE, StoreId
from inspector.sums import Sums

# --- how large a JVM makes the objects --------------------------------------------------------
#
# Measured with JOL 0.17 on JDK 17 (HotSpot, 64 bits, objects aligned to 8 bytes) and matched object
# for object with class histograms of Spark 4.3.0 (``scripts/lab/validate_heap.py``). Only whether
# object and class pointers are compressed depends on the JVM. Compact object headers (a flag since
# JDK 24) are not modelled.

COMPRESSED_UP_TO = 32 << 30
"""Heap size below which a JVM has compressed object pointers, unless they were switched off."""

# release of Spark with UnsafeRowWrapper: StateStoreRow, StateStoreRowWithChecksum
_WRAPPED_SINCE = (4, 2)
# release of Spark with NoPrefix- and PrefixScannableHDFSBackedStateStoreMap
_MAP_WRAPPED_SINCE = (3, 2)


@dataclass(frozen=True)
class Layout:
    """Sizes in bytes of one instance of each class, in one kind of JVM under one Spark."""

    name: str  # kind of JVM, in words
    unsafe_row: int  # ``UnsafeRow`` without its ``byte[]``
    array_header: int  # header of any array
    reference: int  # one slot of an array of objects
    node: int  # ``ConcurrentHashMap$Node``
    concurrent_map: int  # ``ConcurrentHashMap`` without table and nodes
    map_wrapper: int  # ``NoPrefixHDFSBackedStateStoreMap`` (Spark 3.2 and later), else 0
    prefix_wrapper: int  # ``PrefixScannableHDFSBackedStateStoreMap``, which session windows have
    # ``StateStoreRow`` or ``StateStoreRowWithChecksum`` around a value (4.2 and later), else 0
    wrapper_bytes: int
    hash_set: int  # ``scala.collection.mutable.HashSet``
    hash_set_node: int  # its ``Node``, one for each entry

    @classmethod
    def of(
        cls,
        heap_bytes: int | None = None,  # ``spark.executor.memory``; None: less than 32 GiB
        jdk: int = 17,  # before 15, class pointers were compressed only if object pointers were
        *,
        spark: str = "4.3.0",  # that runs the query; of a checkpoint the one that reads it next
        row_checksum: bool = False,  # ``spark.sql.streaming.stateStore.rowChecksum.enabled``
    ) -> Layout:
        """Return the layout of an executor's JVM. ValueError: Spark's version lacks two numbers."""
        if heap_bytes is None or heap_bytes < COMPRESSED_UP_TO:
            layout, checksummed = _COMPRESSED, 24
        elif jdk >= 15:
            layout, checksummed = _COMPRESSED_CLASSES, 24
        else:
            layout, checksummed = _UNCOMPRESSED, 32
        major, minor = spark.split(".")[:2] if "." in spark else (spark, "")
        if not (major.isdecimal() and minor.isdecimal()):
            raise ValueError(f"Spark version {spark!r}, expected one such as 4.3.0")
        version = (int(major), int(minor))
        if version < _WRAPPED_SINCE:
            layout = replace(layout, wrapper_bytes=0)
        elif row_checksum:
            layout = replace(layout, wrapper_bytes=checksummed)
        return layout if version >= _MAP_WRAPPED_SINCE else replace(layout, map_wrapper=0)

    def arrays(self, count: int, n_bytes: int) -> int:
        """Return the bytes of ``count`` byte arrays with ``n_bytes`` of content in all.

        Each content is a multiple of 8 bytes, as UnsafeRows are.
        """
        return count * align(self.array_header) + n_bytes

    def table(self, slots: int) -> int:
        """Return the bytes of a hash table's array of references; 0 for no slots."""
        return align(self.array_header + self.reference * slots) if slots else 0


# kinds of JVM, in the order of the sizes below
_KINDS = (
    "compressed object pointers",
    "plain object pointers, compressed class pointers",
    "plain object and class pointers",
)
_SIZES = {
    "unsafe_row": (40, 40, 48),
    "array_header": (16, 16, 24),
    "reference": (4, 8, 8),
    "node": (32, 40, 48),
    "concurrent_map": (64, 96, 104),
    "map_wrapper": (24, 32, 32),
    "prefix_wrapper": (32, 56, 56),
    "wrapper_bytes": (16, 24, 24),
    "hash_set": (32, 40, 40),
    "hash_set_node": (24, 32, 40),
}
"""Bytes of an instance of each class under the newest Spark without row checksums, by kind of JVM.
"""

# Layouts of the kinds of JVM.
_COMPRESSED, _COMPRESSED_CLASSES, _UNCOMPRESSED = (
    Layout(kind, **{name: sizes[i] for name, sizes in _SIZES.items()})
    for i, kind in enumerate(_KINDS)
)


def align(n_bytes: int) -> int:
    """Return the next multiple of 8, or the number itself."""
    return -(-n_bytes // 8) * 8


def table_slots(rows: int, built_by_put: bool, peak: int = 0) -> int:
    """Return the slots of a ``ConcurrentHashMap``'s table, which never shrinks.

    ``peak`` is the most rows that were in it. ``built_by_put``: it was filled row by row; otherwise
    by ``putAll`` of the previous version, which makes a table up to twice as large.
    """
    # Spark puts the first version, and a version read from files, row by row; every later version
    # is putAll(version before) on an empty map (getLoadedMapForStore) and then the batch's own
    # puts. putAll makes room for its rows by tryPresize, which leaves a load of 0.19 to 0.38: up to
    # twice the table that puts alone make. (The same code in JDK 8 to 21.)
    if built_by_put:
        slots = 16 if rows or peak else 0
    else:
        room = 1 << (rows + (rows >> 1)).bit_length()  # a power of two that is above
        slots = room if room <= 2 else 2 * room
    while slots and max(rows, peak) >= slots - (slots >> 2):
        slots *= 2
    return slots


# versions that an executor keeps (``spark.sql.streaming.maxBatchesToRetainInMemory``, Spark 2.4 on)
RETAINED_BY_DEFAULT = 2

READ_AND_WRITE = ("stateStoreSave", "sessionWindowStateStoreSaveExec")
"""Operators whose restore half (``StateStoreRestoreExec``, ``SessionWindowStateStoreRestoreExec``)
copies the map to read it (``getReadStore``), in addition to the copy that is written
(``getStore``).
"""


class Part(NamedTuple):
    """Number and bytes of objects of one kind."""

    objects: int = 0  # number of objects
    bytes: int = 0  # their bytes


_NONE = Part()  # no objects


@dataclass(frozen=True)
class Heap:
    """Objects and bytes by kind. Adds up; the zero is empty."""

    unsafe_rows: Part = _NONE  # ``UnsafeRow``: keys, values, and the prefixes of session windows
    byte_arrays: Part = _NONE  # ``byte[]`` of each ``UnsafeRow``
    wrappers: Part = _NONE  # ``StateStoreRow`` or ``StateStoreRowWithChecksum`` around each value
    # ``ConcurrentHashMap$Node``, one for each row and version; also one for each prefix
    nodes: Part = _NONE
    tables: Part = _NONE  # ``ConcurrentHashMap$Node[]``
    maps: Part = _NONE  # ``ConcurrentHashMap`` and ``HDFSBackedStateStoreMap`` objects
    prefixes: Part = _NONE  # ``HashSet`` of each prefix and version, with its table and nodes

    def __add__(self, second: Heap) -> Heap:
        pairs = zip(self.parts.values(), second.parts.values(), strict=True)
        return Heap(*(Part(a.objects + b.objects, a.bytes + b.bytes) for a, b in pairs))

    @property
    def parts(self) -> dict[str, Part]:
        """Number and bytes of every kind, by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def objects(self) -> int:
        """Number of all objects, exact."""
        return sum(part.objects for part in self.parts.values())

    @property
    def total(self) -> int:
        """Bytes of all objects, an estimate."""
        return sum(part.bytes for part in self.parts.values())


@dataclass(frozen=True)
class HeapFacts(Sums):
    """Row objects of some versions, shared ones counted once. Adds up."""

    keys: int = 0  # key rows
    key_bytes: int = 0  # bytes in the arrays of the key rows
    values: int = 0  # value rows
    value_bytes: int = 0  # bytes in the arrays of the value rows
    prefixes: int = 0  # prefix rows of session windows
    prefix_bytes: int = 0  # bytes in the arrays of the prefix rows

    @classmethod
    def from_version(cls, facts: VersionFacts, prefixes: PrefixFacts | None = None) -> HeapFacts:
        """Return the row objects of one version."""
        prefix_facts, sizes = (
            prefixes or PrefixFacts(),
            (facts.key_bytes, facts.rows, facts.value_bytes),
        )
        return cls(facts.rows, *sizes, prefix_facts.prefixes, prefix_facts.prefix_bytes)

    @classmethod
    def new_in(cls, facts: VersionFacts, prefixes: PrefixFacts | None = None) -> HeapFacts:
        """Return the row objects of a version that the previous version did not have."""
        # A put over a present key keeps the key object (ConcurrentHashMap.put); a key that was
        # removed and put again has new ones.
        prefix_facts = prefixes or PrefixFacts()
        keys = facts.rows - facts.shared_keys, facts.key_bytes - facts.shared_key_bytes
        values = facts.rows - facts.shared_rows, facts.value_bytes - facts.shared_value_bytes
        return cls(*keys, *values, prefix_facts.new_prefixes, prefix_facts.new_prefix_bytes)

    def heap(self, layout: Layout) -> Heap:
        """Return the heap that these objects take."""
        rows = self.keys + self.values + self.prefixes
        n_bytes = self.key_bytes + self.value_bytes + self.prefix_bytes
        wrapped = self.values if layout.wrapper_bytes else 0
        return Heap(
            unsafe_rows=Part(rows, rows * layout.unsafe_row),
            byte_arrays=Part(rows, layout.arrays(rows, n_bytes)),
            wrappers=Part(wrapped, wrapped * layout.wrapper_bytes),
        )

    def shorter_keys_saving(self, n_bytes: int) -> int:
        """Return the bytes saved if every key row were ``n_bytes`` shorter, in multiples of 8."""
        return (self.keys + self.prefixes) * (n_bytes // 8 * 8)

    def format_2_saving(self, key_fields: int) -> int:
        """Return the bytes saved if values did not repeat the key's columns, as in format 1.

        ``key_fields`` is the number of columns of a key. The mean size of a key counts for each.
        """
        # (StreamingAggregationStateManagerImplV1; SPARK-24763.) The mean key stands for each.
        fields_bytes = self.key_bytes - self.keys * (key_fields + 63) // 64 * 8
        return self.values * fields_bytes // self.keys if self.keys else 0


def of_rows(
    rows: int, key_bytes: int, value_bytes: int, layout: Layout, n: int = RETAINED_BY_DEFAULT
) -> Heap:
    """Return the heap of unchanged rows in ``n`` versions, which their removal would free.

    Their part of the tables is left out, because a table's size is a power of two.
    """
    nodes = Heap(nodes=Part(n * rows, n * rows * layout.node))
    return HeapFacts(rows, key_bytes, rows, value_bytes).heap(layout) + nodes


@dataclass(frozen=True)
class StoreHeap:
    """Heap of one store of one partition, with its newest versions."""

    versions: Mapping[int, VersionFacts]  # facts by state version
    layout: Layout  # sizes of objects
    retain: int = RETAINED_BY_DEFAULT  # number of versions that executors keep
    # facts about a session window's prefixes, by version; empty for others
    prefixes: Mapping[int, PrefixFacts] = field(default_factory=dict)
    operator_name: str = ""  # name of the operator
    store: StoreId = StoreId(0, DEFAULT_STORE, 0)  # the store

    @cached_property
    def known(self) -> list[int]:
        """Versions that are counted, oldest first: the newest ``retain``, or fewer.

        They begin at a version that only a snapshot made, because it is not known what that one
        shares with the previous version, and after a gap.
        """
        # Fewer where less history is known. It ends at a version that only a snapshot made,
        # because what that one shares with the version before is not known.
        newest = sorted(self.versions, reverse=True)[: self.retain]
        for i, (later, version) in enumerate(pairwise(newest), 1):
            if version != later - 1 or self.versions[later].rebased:
                return newest[:i][::-1]
        return newest[::-1]

    @property
    def distinct(self) -> HeapFacts:
        """Row objects of the counted versions, shared ones once."""
        total = HeapFacts()
        for i, version in enumerate(self.known):
            count = HeapFacts.new_in if i else HeapFacts.from_version
            total += count(self.versions[version], self.prefixes.get(version))
        return total

    @cached_property
    def held(self) -> Heap:
        """Heap of the counted versions together, as Spark keeps them between batches."""
        return self.distinct.heap(self.layout) + self._maps

    @property
    def unshared(self) -> Heap:
        """Heap of the counted versions if each had its own row objects."""
        facts = (HeapFacts.from_version(self.versions[v], self.prefixes.get(v)) for v in self.known)
        return sum(facts, HeapFacts()).heap(self.layout) + self._maps

    @property
    def _maps(self) -> Heap:
        """Heap that versions do not share: nodes, tables, map objects."""
        total = Heap()
        for version in self.known:
            facts = self.versions[version]
            slots = table_slots(previous_rows(facts), version == 1, max_rows(facts))
            total += _of_map(facts.rows, slots, self.layout, self.prefixes.get(version))
        return total

    def of_alike(self, stores: int) -> Heap:
        """Return the heap of ``stores`` stores together, whose sums these facts are.

        All stores are taken to have the same number of rows.
        """
        total, layout = self.distinct.heap(self.layout), self.layout
        for version in self.known:
            facts = self.versions[version]
            peak_rows, rows = max_rows(facts) // stores, previous_rows(facts) // stores
            store_heap = _of_map(0, table_slots(rows, version == 1, peak_rows), layout, None)
            nodes = Part(facts.rows, facts.rows * layout.node)
            total = sum([store_heap] * stores, total + Heap(nodes=nodes))
        return total

    @cached_property
    def peak(self) -> Heap:
        """Heap of the store at the peak of the batch that made the newest version.

        It is the sum of the retained versions before it, the working copy before it removed any
        row, and the copy that is read (:data:`READ_AND_WRITE`), which exists until the delta is
        closed. If no version is retained, the previous one is read for the batch and counts.
        """
        layout_with_peak = replace(self, retain=max(self.retain, 1) + 1)
        if not layout_with_peak.known:
            return Heap()
        newest = layout_with_peak.known[-1]
        facts = self.versions[newest]
        removed = max_rows(facts) - facts.rows
        total = layout_with_peak.held + Heap(nodes=Part(removed, removed * self.layout.node))
        # ``getLoadedMapForStore`` of the version before: ``putAll`` and nothing else.
        rows = previous_rows(facts)
        slots = table_slots(rows, built_by_put=False)
        prefixes = self.prefixes.get(newest - 1, self.prefixes.get(newest))
        previous = _of_map(rows, slots, self.layout, prefixes)
        if len(layout_with_peak.known) == 1 and newest > 1:
            total += previous  # the version before is not known; this one stands for it
        return total + previous if self.operator_name in READ_AND_WRITE and newest > 1 else total


def previous_rows(facts: VersionFacts) -> int:
    """Return the rows of the previous version; those of this one if its change is not known."""
    return facts.rows if facts.rebased else facts.rows - facts.new_rows + facts.removed_rows


def max_rows(facts: VersionFacts) -> int:
    """Return the most rows while the version was made: new keys come before expired ones go."""
    return facts.rows + facts.removed_rows


def _of_map(rows: int, slots: int, layout: Layout, prefixes: PrefixFacts | None) -> Heap:
    """Return the heap of one version's map, with the second map of a session window, if any."""
    heap = Heap(
        nodes=Part(rows, rows * layout.node),
        tables=Part(int(slots > 0), layout.table(slots)),
        maps=Part(1 + int(layout.map_wrapper > 0), layout.concurrent_map + layout.map_wrapper),
    )
    return heap if prefixes is None else heap + _prefix_map(rows, layout, prefixes)


def _prefix_map(rows: int, layout: Layout, facts: PrefixFacts) -> Heap:
    """Return the heap of the second map of a session window, whose table was made by puts."""
    capacity = facts.prefixes + facts.gone_prefixes
    slots = table_slots(facts.prefixes, built_by_put=True, peak=capacity)
    # A Scala 2.13 ``mutable.HashSet`` that only grew has the slots that puts make.
    counts = facts.set_sizes.counts.items()
    tables = sum(n * layout.table(table_slots(size, built_by_put=True)) for size, n in counts)
    sets = facts.prefixes * layout.hash_set + rows * layout.hash_set_node + tables
    extra_bytes = layout.prefix_wrapper - layout.map_wrapper
    return Heap(
        nodes=Part(facts.prefixes, facts.prefixes * layout.node),
        tables=Part(int(slots > 0), layout.table(slots)),
        maps=Part(1, layout.concurrent_map + extra_bytes),  # one wrapper in place of the other
        prefixes=Part(2 * facts.prefixes + rows, sets),
    )
