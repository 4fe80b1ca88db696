"""Every error that this package raises, and the one way in which it is worded.

::

    InspectorError
      CheckpointError             the folder as a whole: what it is, what it lacks
        NotACheckpointError         no checkpoint at this path
        MissingVersionError         no chain of files makes this state version
        UnsupportedProviderError    state that another provider wrote
      DecodeError (ValueError)    bytes that are not what their format says
        TruncatedError (EOFError)   the bytes end too early
        FrameError                  a compressed block
        RecordError                 a record of a delta or snapshot
          TailError                   what follows the last record
        RowError                    an UnsafeRow against its schema
        LimitError                  a size above the limits we read
        NoSchemaError               bytes that only a schema explains which could not be read
        ChecksumError               bytes that are not those their checksum file was made of
      SourceNotWholeError         what a copy needs is missing, or the copy is not what it should be
      EngineError                 what the run itself needs is not there
        UnknownFactError            a worker reported a fact that this version does not know
      NotEnoughMemoryError (MemoryError)   the keys do not fit into this process

Decoders know offsets and not paths; whoever knows the path adds it with :meth:`InspectorError.at`.
Failures of the storage stay ``OSError``.
"""

from __future__ import annotations

from typing import TypeVar

from inspector.credentials import redact

OUT_OF_MEMORY = (
    "there is not enough memory for the keys of the partitions that are read at the same time; "
    "read fewer with --workers 1, or one with --partition N, or spread them with --engine spark"
)

E = TypeVar("E", bound="InspectorError")


class InspectorError(Exception):
    """The base of all errors of this package.

    Attributes:
        message: what was got, what was expected, what to do; without the place.
        path: the file or folder it is about, or None where only the offset is known.
        offset: byte offset of the trouble within ``path`` (for decoders: within the file as it
            lies on storage, unless the message says *raw*), or None.
        slug: short stable name of the class of error, for machines.
    """

    slug = "error"

    def __init__(
        self, message: str = "", path: str | None = None, offset: int | None = None
    ) -> None:
        # Whoever prints, logs or serializes it finds no secret in it.
        message, path = redact(message), None if path is None else redact(path)
        # Every argument has a default and goes to args, so that pickle can rebuild it on a driver.
        super().__init__(message, path, offset)
        self.message = message
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return where(self.path, self.offset) + self.message

    def at(self: E, path: str) -> E:
        """The same error with the path it happened in, unless it has one already."""
        if self.path is None:
            self.path = redact(path)
            self.args = (self.message, self.path, self.offset)
        return self


def where(path: str | None, offset: int | None) -> str:
    """The place of an error as a prefix: ``<path>: byte <n>: ``, as far as it is known."""
    prefix = "" if path is None else f"{path}: "
    return prefix if offset is None else f"{prefix}byte {offset}: "


class CheckpointError(InspectorError):
    """The checkpoint as a whole cannot be used as requested."""

    slug = "checkpoint"


class NotACheckpointError(CheckpointError):
    """There is no Structured Streaming checkpoint at the path."""

    slug = "not-a-checkpoint"


class MissingVersionError(CheckpointError):
    """No snapshot and deltas make the requested state version."""

    slug = "missing-version"


class OutpacedError(InspectorError):
    """The query removed the files of a version while they were being read; nothing is damaged."""

    slug = "outpaced"


class UnsupportedProviderError(CheckpointError):
    """The state was written by a provider whose files this package does not read."""

    slug = "unsupported-provider"


class DecodeError(InspectorError, ValueError):
    """Bytes that do not follow their format."""

    slug = "undecodable"


class TruncatedError(DecodeError, EOFError):
    """The bytes end before the value does."""

    slug = "truncated"


class FrameError(DecodeError):
    """A compressed block or its checksum is wrong."""

    slug = "bad-frame"


class RecordError(DecodeError):
    """A record of a delta or snapshot is wrong."""

    slug = "bad-record"


class TailError(RecordError):
    """What follows the end mark of a file's records, which Spark does not read, is wrong."""

    slug = "bad-tail"


class RowError(DecodeError):
    """An UnsafeRow does not fit its schema."""

    slug = "bad-row"


class LimitError(DecodeError):
    """A size is above what this package agrees to read."""

    slug = "over-limit"


class NoSchemaError(DecodeError):
    """The state schema could not be read without which a state file says nothing."""

    slug = "no-schema"


class ChecksumError(DecodeError):
    """A file is not the one that its checksum file was made of."""

    slug = "bad-checksum"


class SourceNotWholeError(InspectorError):
    """A checkpoint lacks what a copy of it needs, or the copy is not what it should be."""

    slug = "not-whole"


class EngineError(InspectorError):
    """Something the run needs is absent: PySpark, Java, a kernel, a worker's pyarrow."""

    slug = "engine"


class UnknownFactError(EngineError):
    """A worker reported a kind of fact that is not declared here: another version runs there."""

    slug = "unknown-fact"


class NotEnoughMemoryError(InspectorError, MemoryError):
    """The keys of the partitions that are read at the same time do not fit; and how far it came."""

    slug = "out-of-memory"
