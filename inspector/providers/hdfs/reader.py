"""Deltas and snapshots of one store to records: compressed blocks of framed puts and removals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from inspector.checkpoint.storage import Storage
from inspector.decode.frames import codec_of, has_checksums, inflate, sniff
from inspector.decode.records import RecordBlock, read_records
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile
from inspector.providers.provider import Checked, ReadOptions, Report
from inspector.providers.read_ahead import ReadAhead
from inspector.providers.side_checks import SideChecks

DEFAULT_CODEC = "lz4"
"""What Spark assumes where no codec is recorded (``StateStoreConf``, all versions)."""


class HdfsReader:
    """Reads the deltas and snapshots of one store.

    Attributes:
        raw_bytes: decompressed bytes of the file read last.
    """

    def __init__(
        self,
        storage: Storage,
        options: ReadOptions,
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> None:
        self._storage, self._options, self._report = storage, options, report
        self.raw_bytes = 0
        self._ahead = ReadAhead(storage)
        self._checks = SideChecks(storage, side_files, report)
        self._decoded: dict[str, int] = {}
        self._summed: set[str] = set()

    @property
    def checked(self) -> Checked:
        """What was right so far, each file once."""
        row_checksums = sum(self._decoded.values()) if self._options.row_checksum else 0
        return Checked(len(self._decoded), self._checks.passed, row_checksums)

    @property
    def unsummed(self) -> frozenset[str]:
        """Paths of the files that were decoded to their end and that hold no checksum.

        Neither their blocks nor their rows do, nor a file beside them.
        """
        if self._options.row_checksum:
            return frozenset()
        return frozenset(self._decoded.keys() - self._summed - self._checks.vouched)

    def expect(self, files: Sequence[StoreFile]) -> None:
        """Announce which files will be read next, and in which order."""
        self._ahead = ReadAhead(self._storage, files)

    def blocks(self, file: StoreFile) -> Iterator[RecordBlock]:
        """The records of a file, block by block; the last block only after its end was verified.

        Raises:
            DecodeError: the file is not what its format says; carries path and offset.
            OSError: it cannot be read.
        """
        self.raw_bytes = records = 0
        wrong: list[tuple[int, int]] = []
        try:
            blocks = read_records(
                self._counted(self._inflated(file, self._chunks(file))),
                snapshot=file.kind is FileKind.SNAPSHOT,
                row_checksum=self._options.row_checksum,
            )
            for block in blocks:
                mismatches = block.checksum_mismatches
                records += block.count
                wrong.extend((block.first_record + i, block.raw_place(i)) for i in mismatches)
                yield block
        except DecodeError as error:
            raise error.at(file.path) from None
        self._decoded[file.path] = records - len(wrong)
        if wrong:
            record, place = wrong[0]
            self._report(
                "row-checksum",
                f"records whose checksum is not that of their bytes: {len(wrong)}, the first is "
                f"record {record} (the offset is that of its key after decompression); the file "
                "was changed after Spark wrote it, or "
                "spark.sql.streaming.stateStore.rowChecksum.enabled was",
                file,
                place,
            )

    def unchecked(self, files: Iterable[StoreFile]) -> Iterator[StoreFile]:
        """Those files that have checksums and that nobody has read to their end."""
        return self._checks.rest(files)

    def check(self, file: StoreFile) -> None:
        """Hold a file against its checksums without decoding it.

        Raises:
            OSError: it cannot be read.
        """
        for _ in self._chunks(file):
            pass

    def _chunks(self, file: StoreFile) -> Iterator[bytes]:
        return self._checks.watch(file, self._ahead.chunks(file))

    def _inflated(self, file: StoreFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
        head = next(chunks, b"")
        recorded = self._options.codecs.get(file.version or 0, DEFAULT_CODEC)
        seen = sniff(head)
        codec = _codec(recorded, seen)
        if seen is not None and seen != codec:
            self._report(
                "codec-mismatch",
                f"the bytes are {seen}, though the offset log records {codec}; read as {seen}",
                file,
                0,
            )
            codec = seen
        if has_checksums(codec):
            self._summed.add(file.path)
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
