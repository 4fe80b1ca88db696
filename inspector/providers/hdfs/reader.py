"""Deltas and snapshots of one store to records: compressed blocks of framed puts and removals."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.decode.records import RecordBlock, read_records
from inspector.model import FileKind, StoreFile
from inspector.providers.framed_reader import FramedReader


class HdfsReader(FramedReader):
    """Reads the deltas and snapshots of one store."""

    other_cause = ", or spark.sql.streaming.stateStore.rowChecksum.enabled was"

    def goes_on_from(self, other: object) -> None:
        """Nothing has to be known: each file says all of itself."""

    def _records(self, file: StoreFile) -> Iterator[RecordBlock]:
        return read_records(
            self._raw(file),
            snapshot=file.kind is FileKind.SNAPSHOT,
            row_checksum=self._options.row_checksum,
        )
