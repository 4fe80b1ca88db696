"""The field's nouns: what a checkpoint consists of, as plain values.

Batch ``N`` reads state version ``N`` and writes state version ``N + 1``
(``HDFSBackedStateStoreProvider``); version 0 is the empty state and has no file.
"""

from __future__ import annotations

import enum
import os
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple, NewType

from inspector.exceptions import LimitError
from inspector.light_dataclasses import dataclass

Version = NewType("Version", int)  # state version
BatchId = NewType("BatchId", int)  # number of a batch

DEFAULT_STORE = "default"  # name of the store whose files lie directly in the partition's folder

# stores of a join with the number of rows of each key, by side
JOIN_COUNT_STORES = ("left-keyToNumValues", "right-keyToNumValues")
# stores of a join with its rows, by side
JOIN_ROW_STORES = ("left-keyWithIndexToValue", "right-keyWithIndexToValue")
JOIN_STORES = (*JOIN_COUNT_STORES, *JOIN_ROW_STORES)
"""The only stores that have a folder of their own (``SymmetricHashJoinStateManager``, 2.3 to 4.3,
state formats 1 and 2; in format 3 they are column families of one)."""
# column families of a join with an index by time, by side
JOIN_INDEX_STORES = ("left-tsWithKey", "right-tsWithKey")
# column families of a join with its rows by key and time, by side
JOIN_TIMED_ROW_STORES = ("left-keyWithTsToValues", "right-keyWithTsToValues")
"""Column families of state format 4: the rows by join key and event time, and an index by time
with an entry for each row (``SymmetricHashJoinStateManagerV4`` of 4.3; 4.2 has it for its own tests
alone: "State format version 4 is under development")."""
JOIN_SIDES = ("left", "right")  # sides of a join, in the order of these names


def is_store(name: str, store: str) -> bool:
    """Return whether a name that the user gave means a store.

    ``left`` and ``right`` mean the stores with the rows of that side of a join.
    """
    return name == store or (
        name in JOIN_SIDES
        and store in (*JOIN_ROW_STORES, *JOIN_TIMED_ROW_STORES)
        and store.startswith(f"{name}-")
    )


NO_TIMEOUT = -1  # ``timeoutTimestamp`` of a group state without an armed timer (``GroupStateImpl``)


class FileKind(enum.Enum):
    """Kind of a file in a store's folder, from its name alone, for every provider.

    A delta holds what one version changed, a snapshot a whole version. Tables hold the rows of
    snapshots that share them, and table logs what RocksDB wrote beside them. ABANDONED are deltas
    and snapshots of attempts that were not committed.
    """

    __hash__ = object.__hash__  # as it is compared; that of an Enum is written in Python

    DELTA = "delta"
    SNAPSHOT = "snapshot"
    TABLE = "table"
    TABLE_LOG = "table_log"
    ABANDONED = "abandoned"
    TEMPORARY = "temporary"
    HADOOP_CHECKSUM = "hadoop_checksum"
    SPARK_CHECKSUM = "spark_checksum"
    OTHER = "other"


KINDS_OF_VERSION = (FileKind.DELTA, FileKind.SNAPSHOT)  # the files that a version is made of
KINDS_OF_SUMS = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)  # checksum files
KINDS_OF_STATE = (*KINDS_OF_VERSION, FileKind.TABLE)  # the files that state lies in


class StoreName(NamedTuple):
    """A named store of an operator, over all partitions."""

    operator_id: int  # number of the operator, the folder below ``state``
    store_name: str  # ``default``, or the name of a store or column family


@dataclass(frozen=True, order=True)
class StoreId:
    """A named store of an operator in one partition."""

    operator_id: int  # number of the operator, the folder below ``state``
    store_name: str  # ``default``, or the name of a store or column family
    partition_id: int  # number of the partition

    @property
    def name(self) -> StoreName:
        """Name of the store without its partition."""
        return StoreName(self.operator_id, self.store_name)


@dataclass(frozen=True)
class StoreFile:
    """A file in a store's folder."""

    path: str  # full path, as the storage spells it
    kind: FileKind  # kind by its name
    version: Version | None  # state version in its name; None where the name has none
    size: int  # bytes
    # time of last change, epoch milliseconds; None where the storage has none
    modified_ms: int | None = None
    # Only for the snapshot of a batch that no query ran (:attr:`BatchClock.appended`): True if it
    # resumes from the version before in its folder, False after a repartitioning. None for every
    # other file.
    continues: bool | None = None


@dataclass(frozen=True)
class Limits:
    """Largest sizes that are read, so that a forged length costs nothing, and longest waits.

    A value above a limit is a problem that names the limit. The environment variable
    :data:`LIMITS_VARIABLE` sets limits for a process, as ``ratio=5000,fields=20000``.
    """

    frame_bytes: int = 64 << 20  # raw bytes of one compressed block (lz4-java allows 32 MiB)
    record_bytes: int = 256 << 20  # bytes of one key or value (a JVM array ends at 2 GiB)
    # raw bytes that are decoded at once; one longer record is read whole
    block_bytes: int = 1 << 20
    small_file_bytes: int = 64 << 20  # size of a log entry, metadata, schema or checksum file
    chunk_bytes: int = 4 << 20  # bytes asked of the storage at once
    nesting: int = 64  # depth of nested types
    fields: int = 10_000  # fields of one schema, nested ones included
    # raw bytes for each byte of a compressed file, from ``ratio_from_bytes`` on: rows have keys of
    # their own, so that no state comes near it
    ratio: int = 1_000
    ratio_from_bytes: int = 64 << 20  # raw bytes of a file that may have any ratio
    partitions: int = 100_000  # of an operator, as logs and metadata say
    # the least bytes for each checksum of a ``.crc``, of which Hadoop makes 512
    # (``file.bytes-per-checksum``)
    sum_part_bytes: int = 64
    request_seconds: int = 60  # how long one request to a remote storage is waited for
    attempts: int = 3  # how often it is made, if it fails for a moment
    # how long an object that does not answer is waited for in all, however often it is needed
    object_seconds: int = 90

    @classmethod
    def parse(cls, text: str) -> Limits:
        """Return the limits of a text such as ``ratio=5000,fields=20000``; others are the defaults.

        Raises ValueError for an unknown name, or a value that is no number above 0.
        """
        parts: dict[str, int] = {}
        for entry in filter(None, map(str.strip, text.split(","))):
            name, _, number = (part.strip() for part in entry.partition("="))
            if name not in cls.__dataclass_fields__ or not number.isdecimal() or not int(number):
                names = ", ".join(cls.__dataclass_fields__)
                raise ValueError(f"got the limit {entry!r}, expected NAME=NUMBER of {names}")
            parts[name] = int(number)
        return cls(**parts)


LIMITS_VARIABLE = "INSPECTOR_LIMITS"  # name of the environment variable with the limits


try:
    LIMITS, LIMITS_FAULT = Limits.parse(os.environ.get(LIMITS_VARIABLE, "")), ""
except ValueError as error:
    LIMITS, LIMITS_FAULT = Limits(), f"{LIMITS_VARIABLE}: {error}"
"""The limits of this process; and what is wrong with the variable that sets them, or no text."""


def above_limit(
    name: str, amount: str, limits: Limits = LIMITS, offset: int | None = None
) -> LimitError:
    """Return the error that an amount, given in words, exceeds the named limit."""
    return LimitError(
        f"{amount}, the limit {name} is {getattr(limits, name):,} ({LIMITS_VARIABLE}={name}=N sets "
        "another)",
        offset=offset,
    )


@dataclass(frozen=True)
class BatchClock:
    """The clocks of one batch, and facts on how it ran, from its log entries."""

    batch_id: BatchId  # the batch N; it makes state version N + 1
    # ``batchTimestampMs``, the processing-time clock; None if not recorded
    timestamp_ms: int | None = None
    # ``batchWatermarkMs``, the event-time watermark in force; 0 means none yet
    watermark_ms: int | None = None
    committed: bool = False  # whether ``commits/N`` exists
    # True if its source offsets differ from those of the batch before; None if that is not in the
    # log
    has_new_data: bool | None = None
    # ``nextBatchWatermarkMs`` of ``commits/N``; None if absent
    next_watermark_ms: int | None = None
    # a tool wrote it and no query ran it (premise ``appended-batch``): its records show nothing of
    # the operator, and it answered no timer and evicted nothing
    appended: bool = False
    # a copy has other rows at the batch's version than the query had (premise ``edited-version``):
    # the query ran the batch, but the version shows nothing of what it did
    edited: bool = False

    @property
    def has_foreign_rows(self) -> bool:
        """True if a tool wrote or changed the version that the batch made."""
        return self.appended or self.edited

    def time_ms(self, kind: TimeoutKind) -> int | None:
        """Return the clock for timers of a kind, epoch ms; None if the log does not record it."""
        return self.watermark_ms if kind is TimeoutKind.EVENT_TIME else self.timestamp_ms


class Certainty(enum.Enum):
    """Certainty of a statement.

    * proven: the bytes allow nothing else, by premises that Spark's source makes true
      (the page ``explanation/proofs`` of the documentation).
    * inferred: by a rule that had to be guessed, and was right often enough to be worth a warning.
    * undecided: the bytes allow it, and allow its opposite.
    """

    PROVEN = "proven"
    INFERRED = "inferred"
    UNDECIDED = "undecided"


class TimeoutKind(enum.Enum):
    """Clock of a query's timeouts (``GroupStateTimeout``); it is not in the checkpoint."""

    __hash__ = object.__hash__

    EVENT_TIME = "event"
    PROCESSING_TIME = "processing"

    @property
    def other(self) -> TimeoutKind:
        """The opposite timeout kind."""
        event, processing = TimeoutKind
        return processing if self is event else event


class ProblemMode(enum.Enum):
    """Handling of files that cannot be read, in the words of Spark's own sources.

    ``failfast`` raises an error. ``permissive`` adds a row that names the store and has the problem
    as JSON in its column ``problem``. ``dropmalformed`` leaves the data out.
    """

    FAILFAST = "failfast"
    PERMISSIVE = "permissive"
    DROPMALFORMED = "dropmalformed"


class Redact(enum.Enum):
    """Redaction of keys and values, which are personal data: none, hashes, or all hidden."""

    NONE = "none"
    HASH = "hash"
    ALL = "all"


COMPARED = "compared"
"""Slug of a note: changes are known by comparing snapshots, because there are no deltas."""

# slug of a note: an operator that the query no longer has ends before the newest version
LEFT = "operator-left"

UNLISTED = "unlisted-table"
"""Slug of a snapshot that RocksDB opens without some rows, such as those of unlisted tables."""

NO_FAULT = ("moved", COMPARED, LEFT)
"""Slugs of notes for the reader of a report; they are no problems of the checkpoint."""

READABLE = (
    *("snapshot-differs", "file-checksum", "bad-tail", "codec-mismatch", "uncommitted", *NO_FAULT),
    *("foreign-folder", "extra-partition", "partition-counts"),
    *("absent-removals", "foreign-records", "unfinished-repartition"),
    "stray-version",
    UNLISTED,
)
"""Slugs of problems that are statements about files that could be read."""


@dataclass(frozen=True)
class Problem:
    """A file or fact of the checkpoint that cannot be read, or is not as Spark writes it."""

    slug: str  # class of the problem (see :mod:`inspector.exceptions`)
    message: str  # what is wrong and what was expected, without the path
    path: str | None = None  # file or folder
    offset: int | None = None  # byte offset in it
    store: StoreId | None = None  # store that it belongs to; None for the checkpoint as a whole
    version: int | None = None  # state version that it belongs to

    @property
    def cause(self) -> tuple[Any, ...]:
        """Key that is equal for all problems with one cause, such as one lost file."""
        return self.slug, self.path, self.offset, self.message.partition(", expected")[0]

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Problem:
        """Return the problem of a row that :meth:`to_row` made."""
        store = StoreId(row["operator_id"], row["store_name"], row["partition_id"])
        return cls(row["slug"], row["message"], row["path"], row["offset"], store, row["version"])

    def to_row(self) -> dict[str, Any]:
        """Return the problem as the columns :data:`inspector.schemas.PROBLEM`, by name."""
        store = vars(self.store) if self.store else dict.fromkeys(StoreId.__dataclass_fields__)
        names = ("version", "slug", "message", "path", "offset")
        return {**store, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Subset:
    """One part of the state files, chosen by a hash of their paths below the checkpoint's root."""

    number: int  # number of the part, from 1
    count: int  # number of parts

    @classmethod
    def parse(cls, text: str) -> Subset:
        """Return the part that is spelled ``1/24``.

        Raises ValueError for other texts, or more than :data:`MOST_SUBSETS` parts.
        """
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal()):
            raise ValueError(f"got the subset {text!r}, expected one such as 1/24")
        if not 1 <= int(number) <= int(count) <= MOST_SUBSETS:
            expected = f"a part from 1 on of at most {MOST_SUBSETS:,}"
            raise ValueError(f"got the subset {text!r}, expected {expected}")
        return cls(int(number), int(count))

    def has(self, path: str) -> bool:
        """Return whether a file is in the part, by its path below the checkpoint's root."""
        return zlib.crc32(path.encode("utf-8", "surrogatepass")) % self.count == self.number - 1

    def __str__(self) -> str:
        """Return ``1/24``: the number of the part, and the number of parts."""
        return f"{self.number}/{self.count}"


MOST_SUBSETS = 10_000  # parts that the files may be divided into


@dataclass(frozen=True)
class KeyRange:
    """One range of a partition's keys, chosen by a hash of the keys."""

    number: int  # number of the range, from 0
    count: int  # number of ranges
    seed: int  # seed of the hash, the same for all ranges

    @classmethod
    def divide(cls, count: int, seed: int | None = None) -> list[KeyRange]:
        """Return ``count`` ranges that together have all keys.

        ``seed`` is drawn at random if it is None.
        """
        seed = int.from_bytes(os.urandom(8), "big") >> 2 if seed is None else seed
        return [cls(number, count, seed) for number in range(count)]
