"""Deltas and snapshots of one store to records: compressed blocks of framed puts and removals."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.decode.records import RecordBlock, read_records
from inspector.model import FileKind, StoreFile
from inspector.providers.file_reader import FileReader


class HdfsReader(FileReader):
    """Reads the deltas and snapshots of one store."""

    other_cause = ", or spark.sql.streaming.stateStore.rowChecksum.enabled was"

    def decode(self, file: StoreFile) -> Iterator[RecordBlock]:
        """The records of a delta or a snapshot."""
        return read_records(
            self.raw_blocks(file),
            snapshot=file.kind is FileKind.SNAPSHOT,
            row_checksum=self._options.row_checksum,
        )


READER = HdfsReader
