"""One delta, or changelog, as it lies on storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inspector.decode.changelog import LineageItem
from inspector.encode.frames import compress_blocks
from inspector.encode.records import Record, changelog, frame_records
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class DeltaForm:
    """How the delta of a new version is written.

    Attributes:
        codec: of its compression.
        row_checksum: the records of a delta carry checksums.
        changelog: version of a changelog's format; 0 for a delta or snapshot of the HDFS-backed
            provider.
        lineage: the versions that a changelog of checkpoint format 2 is based on.
    """

    name: str
    codec: str
    row_checksum: bool = False
    changelog: int = 0
    lineage: tuple[LineageItem, ...] = ()

    def chunks(self, entries: Iterable[Record]) -> Iterator[bytes]:
        """The bytes of the file.

        Args:
            entries: UnsafeRows; those of a changelog as RocksDB holds them
                (:mod:`inspector.encode.stored_rows`).
        """
        if self.changelog:
            return compress_blocks(changelog(entries, self.changelog, self.lineage), self.codec)
        raw = frame_records(entries, row_checksum=self.row_checksum)
        return compress_blocks(raw, self.codec)
