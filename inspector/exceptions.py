"""Every error that this package raises, and the one way in which it is worded.

Decoders know offsets and not paths; whoever knows the path adds it with :meth:`InspectorError.at`.
Failures of the storage stay ``OSError``.
"""

from __future__ import annotations

from typing import TypeVar

from inspector.credentials import redact

# message if memory is not enough
OUT_OF_MEMORY = (
    "there is not enough memory for the keys of the partitions that are read at the same time; "
    "read fewer with --workers 1, or one with --partition N, or spread them with --engine spark"
)

E = TypeVar("E", bound="InspectorError")  # class of errors


class InspectorError(Exception):
    """Base of all errors here.

    Attributes:
        message: what is wrong, what was expected and what to do, without path and offset.
        path: the file or folder; None if only the offset is known, or neither.
        offset: the byte in the file, as it is stored unless the message says *raw*; None if it is
            unknown.
        slug: short, stable name of the class of error, for programs.
    """

    slug = "error"

    def __init_subclass__(cls, *, slug: str = "") -> None:
        """Set the slug of a class of errors; by default that of its base."""
        cls.slug = slug or cls.slug

    def __init__(
        self, message: str = "", path: str | None = None, offset: int | None = None
    ) -> None:
        """Make an error; secrets in its texts are hidden."""
        # Whoever prints, logs or serializes it finds no secret in it.
        message, path = redact(message), None if path is None else redact(path)
        # Every argument has a default and goes to args, so that pickle can rebuild it on a driver.
        super().__init__(message, path, offset)
        self.message, self.path, self.offset = message, path, offset

    def __str__(self) -> str:
        """Return path, offset and message as one line."""
        return where(self.path, self.offset) + self.message

    def at(self: E, path: str | None) -> E:
        """Return the error with the path where it happened, unless it has a path already."""
        if self.path is None and path is not None:
            self.path = redact(path)
            self.args = (self.message, self.path, self.offset)
        return self


def where(path: str | None, offset: int | None) -> str:
    """Return the begin of an error's text: ``<path>: byte <n>: ``, without parts that are None."""
    prefix = "" if path is None else f"{path}: "
    return prefix if offset is None else f"{prefix}byte {offset}: "


class CheckpointError(InspectorError, slug="checkpoint"):
    """The checkpoint as a whole cannot be used as requested. The message says what to change."""


class NotACheckpointError(CheckpointError, slug="not-a-checkpoint"):
    """There is no Structured Streaming checkpoint at the path.

    Give the folder with `offsets` in it.
    """


class MissingVersionError(CheckpointError, slug="missing-version"):
    """The requested state version lacks its snapshot or deltas: cleaned up by Spark, or lost.

    `inspector files` shows which versions can be restored; version N is of batch N - 1.
    """


class OutpacedError(InspectorError, slug="outpaced"):
    """The query removed files of a version while they were read. Run the command again."""


class UnsupportedProviderError(CheckpointError, slug="unsupported-provider"):
    """The class of the state store provider is none of Spark's or Databricks'.

    If it writes the files of their `HDFSBackedStateStoreProvider` or `RocksDBStateStoreProvider`,
    `--provider-format` (`Options.provider_format`) says so.
    """


class DecodeError(InspectorError, ValueError, slug="undecodable"):
    """Bytes that do not follow their format."""


class TruncatedError(DecodeError, EOFError, slug="truncated"):
    """The bytes end in the middle of a value, as of a file that was cut."""


class FrameError(DecodeError, slug="bad-frame"):
    """A compressed block or its checksum is wrong."""


class RecordError(DecodeError, slug="bad-record"):
    """A record of a delta or snapshot has an impossible length or form."""


class TailError(RecordError, slug="bad-tail"):
    """Error in the bytes after the end mark of a file's records. Spark does not read them."""


class RowError(DecodeError, slug="bad-row"):
    """A row does not fit its schema: the row is damaged, or the schema is of another query."""


class LimitError(DecodeError, slug="over-limit"):
    """A size is above what this package agrees to read. Most likely its bytes are damaged.

    `INSPECTOR_LIMITS` raises a limit.
    """


class NoSchemaError(DecodeError, slug="no-schema"):
    """The state schema could not be read, and without it the state file cannot be decoded.

    Give it as DDL, such as `--key-schema 'user string' --value-schema 'count bigint'`.
    """


class ChecksumError(DecodeError, slug="bad-checksum"):
    """The bytes of a log, metadata or schema file do not match its `.crc`, so it is not used.

    State files are another problem: `file-checksum`.
    """


class NewerFormError(DecodeError, slug="newer-form"):
    """A MANIFEST of RocksDB in a form that is not read here; RocksDB itself may read it."""


class RefusedSnapshotError(DecodeError, slug="refused-snapshot"):
    """A snapshot that RocksDB does not open, because its own files contradict each other."""

    @classmethod
    def of(
        cls, message: str, words: str, path: str | None = None, offset: int | None = None
    ) -> RefusedSnapshotError:
        """Return the error from a message and the words with which RocksDB fails."""
        return cls(f"{message}{REFUSES}{words}", path, offset)


REFUSES = ". RocksDB refuses the snapshot: "
"""Text between what is wrong with a refused snapshot and the words with which Spark fails."""


class SourceNotWholeError(InspectorError, slug="not-whole"):
    """The checkpoint lacks what a copy needs, or differs from its copy: the message says where."""


class EngineError(InspectorError, slug="engine"):
    """Something the run needs is absent: PySpark, Java, the compiled kernel, a worker's pyarrow.

    Install it as the message says.
    """


class UnknownFactError(EngineError, slug="unknown-fact"):
    """A worker returned a kind of result that is not known here: it runs another version.

    Install the same version of the inspector on the driver and on all workers.
    """


class NotEnoughMemoryError(InspectorError, MemoryError, slug="out-of-memory"):
    """The keys of the partitions that are read at the same time do not fit into memory.

    Read fewer at a time with `--workers 1`, or in several passes with `--memory-limit`.
    """
