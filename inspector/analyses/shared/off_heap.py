"""What RocksDB may keep in the memory of executors, outside of their heaps.

A checkpoint does not record the confs that decide it (``OffsetSeqMetadata.relevantSQLConfs`` has
none of them), so that they are Spark's defaults unless a user says otherwise. All are limits by
conf (``RocksDBConf``, ``RocksDBMemoryManager``), and no measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from inspector.analyses.shared.declare import TableSpec
from inspector.exceptions import CheckpointError
from inspector.render.report import Column, Table, Unit
from inspector.render.units import bytes_text, counted

PREFIX = "spark.sql.streaming.stateStore.rocksdb."
_MB = 1 << 20
_OWN_BUFFERS, _OWN_BUFFER_MB = 2, 64
"""What -1 leaves to RocksDB: ``max_write_buffer_number`` and ``write_buffer_size``."""

OFF_HEAP = TableSpec(
    "off_heap",
    "what RocksDB may keep in the memory of executors outside of their heaps, by its confs",
    (
        Column("kept", doc="What is kept."),
        Column("most_bytes", Unit.BYTES, doc="The limit that the confs set, for all of it."),
        Column("stores", Unit.COUNT, doc="Open stores that have as much each; null: they share."),
        Column("limit", doc="Whether RocksDB keeps to it."),
        Column("meaning"),
    ),
    important="kept most_bytes stores limit meaning",
)


@dataclass(frozen=True)
class RocksDbMemory:
    """The confs below :data:`PREFIX` that decide about memory, by their names and defaults.

    Attributes:
        blockCacheSizeMB: of each store, without bounded memory.
        writeBufferSizeMB, maxWriteBufferNumber: of each store; -1 for RocksDB's own.
        boundedMemoryUsage: whether all stores of an executor share one cache, which write buffers,
            indexes and filters are charged to.
        maxMemoryUsageMB: of that one. writeBufferCacheRatio: share of it that write buffers may
            have.
    """

    blockCacheSizeMB: int = 8  # noqa: N815 - as the confs are spelled
    writeBufferSizeMB: int = -1  # noqa: N815
    maxWriteBufferNumber: int = -1  # noqa: N815
    boundedMemoryUsage: bool = False  # noqa: N815
    maxMemoryUsageMB: int = 500  # noqa: N815
    writeBufferCacheRatio: float = 0.5  # noqa: N815

    @classmethod
    def of(cls, confs: Mapping[str, str]) -> RocksDbMemory:
        """From texts, with or without the prefix, in any case.

        Raises:
            CheckpointError: one is not known, or has a value that it cannot have.
        """
        known = {each.name.lower(): each for each in fields(cls)}
        found: dict[str, Any] = {}
        for key, text in confs.items():
            name = key.lower().removeprefix(PREFIX.lower())
            if name not in known:
                names = ", ".join(each.name for each in known.values())
                raise CheckpointError(
                    f"there is no conf {key!r} of memory, expected one of {names}"
                )
            found[known[name].name] = _value(known[name].name, known[name].default, text)
        return cls(**found)

    @property
    def buffers_mb(self) -> int:
        """Most of the write buffers of one store."""
        size = self.writeBufferSizeMB if self.writeBufferSizeMB > 0 else _OWN_BUFFER_MB
        number = self.maxWriteBufferNumber if self.maxWriteBufferNumber > 0 else _OWN_BUFFERS
        return size * number

    @property
    def of_each_store(self) -> int:
        """Bytes of cache and write buffers of one store, without bounded memory."""
        return (self.blockCacheSizeMB + self.buffers_mb) * _MB

    def sentence(self, stores: int) -> str:
        """The limit for so many stores, in words."""
        if self.boundedMemoryUsage:
            return f"outside of the heap {bytes_text(self.maxMemoryUsageMB * _MB)} on each executor"
        each = self.of_each_store
        of_all = f" for each of {stores:,} stores, {bytes_text(each * stores)} in all,"
        return (
            f"outside of the heap caches take up to {bytes_text(each)}"
            f"{of_all if stores > 1 else ''} unless rocksdb.boundedMemoryUsage limits them"
        )

    def table(self, stores: int, executors: int | None) -> Table:
        """What may be kept of so many open stores; bounded, on so many executors."""
        rows = self._bounded(executors) if self.boundedMemoryUsage else self._of_stores(stores)
        return OFF_HEAP.table("outside of the heap, by the confs of RocksDB", rows)

    def _of_stores(self, stores: int) -> Sequence[Mapping[str, Any]]:
        cache = self.blockCacheSizeMB * stores * _MB
        buffers = self.buffers_mb * stores * _MB
        return (
            _row("block cache", cache, stores, "kept", "blocks of tables that were read"),
            _row("write buffers", buffers, stores, "kept", "changes that no table has yet"),
            _row(
                *("indexes and filters", None, stores, "none"),
                "of every table that is open; bounded memory charges them to the cache",
            ),
        )

    def _bounded(self, executors: int | None) -> Sequence[Mapping[str, Any]]:
        each = self.maxMemoryUsageMB * _MB
        share = round(each * self.writeBufferCacheRatio)
        of = counted(executors, "executor") if executors else "each executor"
        return (
            _row(
                *("all of RocksDB", each * (executors or 1), None, "soft"),
                f"on {of}: blocks, indexes, filters and write buffers share one cache, which "
                "RocksDB passes rather than fail",
            ),
            _row(
                *("write buffers", share * (executors or 1), None, "soft"),
                f"on {of}, of the above: changes that no table has yet",
            ),
        )


def _row(
    kept: str, most_bytes: int | None, stores: int | None, limit: str, meaning: str
) -> Mapping[str, Any]:
    values = (kept, most_bytes, stores, limit, meaning)
    return dict(zip((column.name for column in OFF_HEAP.columns), values, strict=True))


def _value(name: str, default: object, text: str) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int):
            found = int(text)
            if found > 0 or found == default:
                return found
        elif 0 <= float(text) < 1:
            return float(text)
    except (KeyError, ValueError):
        pass
    kind = "true or false" if isinstance(default, bool) else "a positive number"
    if isinstance(default, float):
        kind = "a number from 0 to 1"
    raise CheckpointError(f"got {text!r} for {name}, expected {kind}")
