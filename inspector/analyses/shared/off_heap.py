"""What RocksDB may keep in the memory of executors, outside of their heaps.

A checkpoint does not record the confs that decide it (``OffsetSeqMetadata.relevantSQLConfs`` has
none of them), so that they are Spark's defaults unless a user says otherwise. All are limits by
conf (``RocksDBConf``, ``RocksDBMemoryManager``), and no measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from inspector.exceptions import CheckpointError
from inspector.quantities import bytes_text, short_count_text
from inspector.render import tabular as t
from inspector.render.report import Table

PREFIX = "spark.sql.streaming.stateStore.rocksdb."
_MB = 1 << 20
_OWN_BUFFERS, _OWN_BUFFER_MB = 2, 64
"""What -1 leaves to RocksDB: ``max_write_buffer_number`` and ``write_buffer_size``."""


@dataclass(frozen=True, kw_only=True)
class OffHeapRow(t.Row, table="off_heap"):
    """What RocksDB may keep in the memory of executors outside of their heaps, by its confs."""

    kept: Annotated[t.Text, "What is kept.", t.Rank(1)]
    most_bytes: Annotated[t.Bytes | None, "The limit that the confs set, for all of it."] = None
    stores: Annotated[t.Count | None, "Open stores that have as much each; null: they share."] = (
        None
    )
    limit: Annotated[t.Text, "Whether RocksDB keeps to it."]
    meaning: t.Meaning


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
        result = {attribute.name.lower(): attribute for attribute in fields(cls)}
        found: dict[str, Any] = {}
        for key, text in confs.items():
            name = key.lower().removeprefix(PREFIX.lower())
            if name not in result:
                names = ", ".join(each.name for each in result.values())
                raise CheckpointError(
                    f"there is no conf {key!r} of memory, expected one of {names}"
                )
            found[result[name].name] = _value(result[name].name, result[name].default, text)
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
        per_store = self.of_each_store
        of_all = f" for each of {stores:,} stores, {bytes_text(per_store * stores)} in all,"
        return (
            f"its caches take up to {bytes_text(per_store)}"
            f"{of_all if stores > 1 else ''} outside the heap, unless rocksdb.boundedMemoryUsage "
            "limits them"
        )

    def table(self, stores: int, executors: int | None) -> Table:
        """What may be kept of so many open stores; bounded, on so many executors."""
        rows = self._bounded(executors) if self.boundedMemoryUsage else self._of_stores(stores)
        return OffHeapRow.table("outside of the heap, by the confs of RocksDB", rows)

    def _of_stores(self, stores: int) -> list[OffHeapRow]:
        return [
            OffHeapRow(
                kept="block cache",
                most_bytes=self.blockCacheSizeMB * stores * _MB,
                stores=stores,
                limit="kept",
                meaning="blocks of tables that were read",
            ),
            OffHeapRow(
                kept="write buffers",
                most_bytes=self.buffers_mb * stores * _MB,
                stores=stores,
                limit="kept",
                meaning="changes that no table has yet",
            ),
            OffHeapRow(
                kept="indexes and filters",
                stores=stores,
                limit="none",
                meaning="of every table that is open; bounded memory charges them to the cache",
            ),
        ]

    def _bounded(self, executors: int | None) -> list[OffHeapRow]:
        per_store = self.maxMemoryUsageMB * _MB
        share = round(per_store * self.writeBufferCacheRatio)
        of = short_count_text(executors, "executor") if executors else "each executor"
        return [
            OffHeapRow(
                kept="all of RocksDB",
                most_bytes=per_store * (executors or 1),
                limit="soft",
                meaning=f"on {of}: blocks, indexes, filters and write buffers share one cache, "
                "which RocksDB passes rather than fail",
            ),
            OffHeapRow(
                kept="write buffers",
                most_bytes=share * (executors or 1),
                limit="soft",
                meaning=f"on {of}, of the above: changes that no table has yet",
            ),
        ]


def _value(name: str, default: object, text: str) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int):
            value = int(text)
            if value > 0 or value == default:
                return value
        elif 0 <= float(text) < 1:
            return float(text)
    except (KeyError, ValueError):
        pass
    kind = "true or false" if isinstance(default, bool) else "a positive number"
    if isinstance(default, float):
        kind = "a number from 0 to 1"
    raise CheckpointError(f"got {text!r} for {name}, expected {kind}")
