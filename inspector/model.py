"""The field's nouns: what a checkpoint consists of, as plain values.

Batch ``N`` reads state version ``N`` and writes state version ``N + 1``
(``HDFSBackedStateStoreProvider``); version 0 is the empty state and has no file.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NewType

Version = NewType("Version", int)
BatchId = NewType("BatchId", int)

DEFAULT_STORE = "default"
"""Name of the store whose files lie directly in the partition's folder."""

NO_TIMEOUT = -1
"""``timeoutTimestamp`` of a group state without an armed timer (``GroupStateImpl``)."""


class FileKind(enum.Enum):
    """What a file in a store's folder is, told from its name alone."""

    DELTA = "delta"
    SNAPSHOT = "snapshot"
    TEMPORARY = "temporary"
    HADOOP_CHECKSUM = "hadoop_checksum"
    SPARK_CHECKSUM = "spark_checksum"
    ROCKSDB = "rocksdb"
    OTHER = "other"


class StoreName(NamedTuple):
    """One store over all partitions: an operator's named store."""

    operator_id: int
    store_name: str


@dataclass(frozen=True, order=True)
class StoreId:
    """One state store: an operator's named store in one partition."""

    operator_id: int
    store_name: str
    partition_id: int

    @property
    def name(self) -> StoreName:
        """The same store over all partitions."""
        return StoreName(self.operator_id, self.store_name)


@dataclass(frozen=True)
class StoreFile:
    """A file in a store's folder.

    Attributes:
        path: full path, as the storage spells it.
        kind: what it is.
        version: state version in its name; None where the name has none.
        size: bytes on storage.
        modified_ms: time of last change, epoch milliseconds; None where the storage has none.
    """

    path: str
    kind: FileKind
    version: Version | None
    size: int
    modified_ms: int | None = None


@dataclass(frozen=True)
class Limits:
    """The largest sizes that are read, so that a forged length costs nothing.

    Attributes:
        frame_bytes: raw bytes of one compressed block (lz4-java allows 32 MiB).
        record_bytes: bytes of one key or value (a JVM array ends at 2 GiB).
        block_bytes: raw bytes that are decoded at once; one longer record is read whole.
        small_file_bytes: size of a log entry, metadata or schema file.
        chunk_bytes: bytes asked of the storage at once.
        nesting: depth of nested types.
    """

    frame_bytes: int = 64 << 20
    record_bytes: int = (1 << 31) - 1
    block_bytes: int = 1 << 20
    small_file_bytes: int = 64 << 20
    chunk_bytes: int = 4 << 20
    nesting: int = 64


LIMITS = Limits()


@dataclass(frozen=True)
class BatchClock:
    """The clocks of one batch, as its offset log entry recorded them before it ran.

    Attributes:
        batch_id: the batch N; it makes state version N + 1.
        timestamp_ms: ``batchTimestampMs``, the processing-time clock; None if not recorded.
        watermark_ms: ``batchWatermarkMs``, the event-time watermark in force; 0 means none yet.
        committed: whether ``commits/N`` exists.
        has_new_data: whether its source offsets differ from those of the batch before; None if
            the batch before is not in the log.
        next_watermark_ms: ``nextBatchWatermarkMs`` of ``commits/N``; None if absent.
    """

    batch_id: BatchId
    timestamp_ms: int | None = None
    watermark_ms: int | None = None
    committed: bool = False
    has_new_data: bool | None = None
    next_watermark_ms: int | None = None

    def time_ms(self, kind: TimeoutKind) -> int | None:
        """What the timers of a group state are held against; None if it was not recorded."""
        return self.watermark_ms if kind is TimeoutKind.EVENT_TIME else self.timestamp_ms


class Certainty(enum.Enum):
    """How sure a statement is.

    * proven: the bytes allow nothing else, by premises that Spark's source makes true
      (:mod:`inspector.operators.premises`).
    * inferred: by a rule that had to be guessed, and was right often enough to be worth a warning.
    * undecided: the bytes allow it, and allow its opposite.
    """

    PROVEN = "proven"
    INFERRED = "inferred"
    UNDECIDED = "undecided"


class TimeoutKind(enum.Enum):
    """Which clock a query's timeouts follow (``GroupStateTimeout``); not in the checkpoint."""

    EVENT_TIME = "event"
    PROCESSING_TIME = "processing"


READABLE = ("snapshot-differs", "file-checksum", "codec-mismatch", "uncommitted")
"""Slugs of problems that are statements about files that could be read."""


@dataclass(frozen=True)
class Problem:
    """Something that could not be read or is not as Spark writes it.

    Attributes:
        slug: class of the trouble (see :mod:`inspector.exceptions`).
        message: what was got and what was expected, without the place.
        path: file or folder.
        offset: byte offset in it, or None.
        store: the store it belongs to, or None for the checkpoint as a whole.
        version: state version it belongs to, or None.
    """

    slug: str
    message: str
    path: str | None = None
    offset: int | None = None
    store: StoreId | None = None
    version: int | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Problem:
        """The inverse of :meth:`to_row`, from a row of whatever table."""
        store = StoreId(row["operator_id"], row["store_name"], row["partition_id"])
        return cls(row["slug"], row["message"], row["path"], row["offset"], store, row["version"])

    def to_row(self) -> dict[str, Any]:
        """Its columns :data:`inspector.schemas.PROBLEM`, by name."""
        store = self.store
        return {
            "operator_id": None if store is None else store.operator_id,
            "store_name": None if store is None else store.store_name,
            "partition_id": None if store is None else store.partition_id,
            "version": self.version,
            "slug": self.slug,
            "message": self.message,
            "path": self.path,
            "offset": self.offset,
        }
