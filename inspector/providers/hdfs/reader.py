"""Deltas and snapshots of one store to records: compressed blocks of framed puts and removals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from inspector.decode.frames import DEFAULT_CODEC
from inspector.decode.records import RecordBlock, SmallDeltas, read_records, read_small_deltas
from inspector.model import FileKind, StoreFile
from inspector.providers.file_reader import FileReader


class HdfsReader(FileReader):
    """Reader of the deltas and snapshots of one store."""

    other_cause = ", or spark.sql.streaming.stateStore.rowChecksum.enabled was"

    def decode(self, file: StoreFile) -> Iterator[RecordBlock]:
        """Yield the records of a delta or a snapshot in blocks."""
        return read_records(
            self.raw_blocks(file),
            snapshot=file.kind is FileKind.SNAPSHOT,
            row_checksum=self._options.row_checksum,
        )

    def read_together(
        self, files: Sequence[StoreFile]
    ) -> tuple[Sequence[bytes], SmallDeltas | None]:
        """Read local deltas in Spark's default codec at once, up to the first one that is missing.

        Returns their bytes, and the records of the first that are right.
        """
        codecs, storage = self._options.codecs, self._storage
        if self._options.row_checksum or self._ahead.is_remote:
            return (), None
        same_codec = takewhile(
            lambda file: codecs.get(file.version or 0, DEFAULT_CODEC) == DEFAULT_CODEC, files
        )
        paths = [storage.relative(file.path) for file in same_codec]
        contents = storage.read_some(paths, 1 + sum(file.size for file in files))
        return contents, read_small_deltas(contents)


READER = HdfsReader
