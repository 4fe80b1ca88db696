"""Deltas and snapshots of one store to records: compressed blocks of framed puts and removals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from inspector.checkpoint.storage import Storage
from inspector.decode.records import RecordBlock, read_records
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile
from inspector.providers.codecs import inflated
from inspector.providers.provider import Checked, ReadOptions, Report
from inspector.providers.read_ahead import ReadAhead
from inspector.providers.side_checks import SideChecks


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
        self._options, self._report = options, report
        self.raw_bytes = 0
        self._ahead = ReadAhead(storage)
        self._checks = SideChecks(self._ahead.whole, side_files, report)
        self._decoded: dict[str, int] = {}

    @property
    def checked(self) -> Checked:
        """What was right so far, each file once."""
        row_checksums = sum(self._decoded.values()) if self._options.row_checksum else 0
        return Checked(len(self._decoded), self._checks.passed, row_checksums)

    def expect(self, files: Sequence[StoreFile]) -> None:
        """Announce which files will be read next, and in which order."""
        sides = self._checks.sides_of
        self._ahead.expect([each for file in files for each in (*sides(file), file)])

    def goes_on_from(self, other: object) -> None:
        """Nothing has to be known: each file says all of itself."""

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
                self._counted(inflated(file, self._chunks(file), self._options, self._report)),
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

    def _counted(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self.raw_bytes += len(block)
            yield block
