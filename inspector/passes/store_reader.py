"""Files to records, and what goes wrong on the way to problems with a path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from inspector.checkpoint.logfile import problem
from inspector.checkpoint.storage import Storage
from inspector.decode.frames import codec_of, inflate, sniff
from inspector.decode.records import RecordBlock, read_records
from inspector.discovery.tasks import Task
from inspector.exceptions import DecodeError, InspectorError
from inspector.model import FileKind, Problem, StoreFile, StoreId
from inspector.passes.read_ahead import ReadAhead
from inspector.passes.side_checks import SideChecks

DEFAULT_CODEC = "lz4"
"""What Spark assumes where no codec is recorded (``StateStoreConf``, all versions)."""

READ_ERRORS = (InspectorError, OSError)
"""What reading a file may raise; anything else is a fault of this package."""


class StoreReader:
    """Reads the state files of one store and keeps the problems it meets.

    Attributes:
        store: the store. problems: what was met; the caller reports them.
        raw_bytes: decompressed bytes of the file read last.
    """

    def __init__(
        self,
        task: Task,
        storage: Storage,
        store: StoreId,
        side_files: Iterable[StoreFile] = (),
    ) -> None:
        self._task = task
        self._storage = storage
        self.store = store
        self.problems: list[Problem] = []
        self.raw_bytes = 0
        self._ahead = ReadAhead(storage)
        self._checks = SideChecks(storage, side_files, self.report)

    def expect(self, files: Sequence[StoreFile]) -> None:
        """Tell which files will be read next, and in which order."""
        self._ahead = ReadAhead(self._storage, files)

    def blocks(self, file: StoreFile) -> Iterator[RecordBlock]:
        """The records of a file, block by block; the last block only after its end was verified.

        Raises:
            DecodeError: the file is not what its format says; carries path and offset.
            OSError: it cannot be read.
        """
        self.raw_bytes = 0
        wrong: list[tuple[int, int]] = []
        try:
            chunks = self._watched(file)
            blocks = read_records(
                self._counted(self._inflated(file, chunks)),
                snapshot=file.kind is FileKind.SNAPSHOT,
                row_checksum=self._task.row_checksum,
            )
            for block in blocks:
                mismatches = block.checksum_mismatches
                wrong.extend((block.first_record + i, block.raw_place(i)) for i in mismatches)
                yield block
        except DecodeError as error:
            raise error.at(file.path) from None
        if wrong:
            record, place = wrong[0]
            self.report(
                "row-checksum",
                f"the checksum of {len(wrong)} records is not that of their bytes, first of record "
                f"{record} (raw offset of its key): the file was changed after Spark wrote it, or "
                "rowChecksum.enabled was",
                file,
                place,
            )

    def check_rest(self, files: Iterable[StoreFile]) -> None:
        """Hold those files against their checksums that were not read, or not to their end."""
        for file in self._checks.rest(files):
            try:
                for _ in self._watched(file):
                    pass
            except OSError as error:  # noqa: PERF203 - a file takes longer than its try
                self.failed(error, file)

    def _watched(self, file: StoreFile) -> Iterator[bytes]:
        return self._checks.watch(file, self._ahead.chunks(file))

    def report(
        self, slug: str, message: str, file: StoreFile | None = None, offset: int | None = None
    ) -> None:
        """Keep a problem of this store."""
        path, version = (None, None) if file is None else (file.path, file.version)
        self.problems.append(Problem(slug, message, path, offset, self.store, version))

    def failed(self, error: Exception, file: StoreFile) -> None:
        """Keep an error as a problem.

        Raises:
            Exception: the error itself, if it is none of reading.
        """
        if not isinstance(error, READ_ERRORS):
            raise error
        found = problem(error, file.path)
        self.report(found.slug, found.message, file, found.offset)

    def row(self, kind: str, version: int | None) -> dict[str, Any]:
        """The columns that every row about this store has."""
        return {
            "kind": kind,
            "operator_id": self.store.operator_id,
            "store_name": self.store.store_name,
            "partition_id": self.store.partition_id,
            "version": version,
        }

    def _inflated(self, file: StoreFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
        head = next(chunks, b"")
        recorded = self._task.codecs.get(file.version or 0, DEFAULT_CODEC)
        seen = sniff(head)
        codec = _codec(recorded, seen)
        if seen is not None and seen != codec:
            self.report(
                "codec-mismatch",
                f"the bytes are {seen}, though the offset log records {codec}; read as {seen}",
                file,
                0,
            )
            codec = seen
        return inflate(chain([head] if head else [], chunks), codec)

    def _counted(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self.raw_bytes += len(block)
            yield block


def _codec(recorded: str, seen: str | None) -> str:
    """The codec that a conf means; for a class that is not Spark's own the bytes decide."""
    try:
        return codec_of(recorded)
    except DecodeError:
        if seen is None:
            raise
        return seen
