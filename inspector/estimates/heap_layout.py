"""How large a JVM makes the objects that ``HDFSBackedStateStoreProvider`` keeps.

Measured with JOL 0.17 on JDK 17 (HotSpot, 64 bits, objects aligned to 8 bytes) and matched object
for object against class histograms of Spark 4.3.0 (``scripts/validate_heap.py``). What depends on
the JVM is whether object and class pointers are compressed. Compact object headers (a flag since
JDK 24) are not modelled.
"""

from __future__ import annotations

from inspector.light_dataclasses import dataclass, replace

COMPRESSED_UP_TO = 32 << 30
"""A JVM whose heap is smaller has compressed object pointers, unless they were switched off."""

_WRAPPED_SINCE = (4, 2)  # UnsafeRowWrapper: StateStoreRow, StateStoreRowWithChecksum
_MAP_WRAPPED_SINCE = (3, 2)  # NoPrefix- and PrefixScannableHDFSBackedStateStoreMap


@dataclass(frozen=True)
class Layout:
    """Sizes in bytes of one instance of each class, in one kind of JVM under one Spark.

    Attributes:
        name: the kind of JVM, for people.
        unsafe_row: ``UnsafeRow`` without its ``byte[]``.
        array_header: of any array. reference: one slot of an array of objects.
        node: ``ConcurrentHashMap$Node``.
        concurrent_map: ``ConcurrentHashMap`` without table and nodes.
        map_wrapper: ``NoPrefixHDFSBackedStateStoreMap`` (Spark 3.2 and later), else 0.
        prefix_wrapper: ``PrefixScannableHDFSBackedStateStoreMap``, which session windows have.
        wrapper_bytes: what each value is wrapped in: ``StateStoreRow``, with row checksums
            ``StateStoreRowWithChecksum`` (both Spark 4.2 and later), else 0.
        hash_set, hash_set_node: ``scala.collection.mutable.HashSet`` and its ``Node``.
    """

    name: str
    unsafe_row: int
    array_header: int
    reference: int
    node: int
    concurrent_map: int
    map_wrapper: int
    prefix_wrapper: int
    wrapper_bytes: int
    hash_set: int
    hash_set_node: int

    @classmethod
    def of(
        cls,
        heap_bytes: int | None = None,
        jdk: int = 17,
        *,
        spark: str = "4.3.0",
        row_checksum: bool = False,
    ) -> Layout:
        """The layout of an executor's JVM.

        Args:
            heap_bytes: its maximal heap (``spark.executor.memory``); None: less than 32 GiB.
            jdk: its major version; before 15, class pointers were compressed only together with
                object pointers.
            spark: the Spark that runs the query; of a checkpoint it is the one that reads it next.
            row_checksum: ``spark.sql.streaming.stateStore.rowChecksum.enabled``.

        Raises:
            ValueError: the Spark version does not begin with two numbers.
        """
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

    def array(self, n_bytes: int) -> int:
        """A ``byte[n]``."""
        return align(self.array_header + n_bytes)

    def arrays(self, count: int, n_bytes: int) -> int:
        """That many byte arrays of ``n_bytes`` in all, each a multiple of 8, as UnsafeRows are."""
        return count * align(self.array_header) + n_bytes

    def table(self, slots: int) -> int:
        """The array of references of a hash table."""
        return align(self.array_header + self.reference * slots) if slots else 0


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
"""Sizes under the newest Spark without row checksums, in each kind of JVM."""

_COMPRESSED, _COMPRESSED_CLASSES, _UNCOMPRESSED = (
    Layout(kind, **{name: sizes[i] for name, sizes in _SIZES.items()})
    for i, kind in enumerate(_KINDS)
)


def align(n_bytes: int) -> int:
    """The next multiple of 8."""
    return -(-n_bytes // 8) * 8


def table_slots(rows: int, built_by_put: bool, peak: int = 0) -> int:
    """Slots of a ``ConcurrentHashMap``'s table. It never shrinks.

    Spark puts the first version, and a version read from files, row by row; every later version is
    ``putAll(version before)`` on an empty map (``getLoadedMapForStore``) and then the batch's own
    puts. ``putAll`` makes room for its rows by ``tryPresize``, which leaves a load of 0.19 to 0.38:
    up to twice the table that puts alone make. (The same code in JDK 8 to 21.)

    ``peak`` are the most rows that the map ever held, if more than ``rows``.
    """
    slots = (16 if rows or peak else 0) if built_by_put else _presize(rows)
    while slots and max(rows, peak) >= slots - (slots >> 2):
        slots *= 2
    return slots


def _presize(rows: int) -> int:
    """``ConcurrentHashMap.tryPresize`` of an empty map, as ``putAll`` calls it."""
    room = 1 << (rows + (rows >> 1)).bit_length()  # a power of two that is above
    return room if room <= 2 else 2 * room


def set_slots(size: int) -> int:
    """Slots of the table of a Scala 2.13 ``mutable.HashSet`` that only grew."""
    slots = 16
    while size >= slots - (slots >> 2):
        slots *= 2
    return slots
