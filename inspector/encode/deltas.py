"""One delta, or changelog, as it lies on storage."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inspector.decode.changelog import LineageItem
from inspector.encode.frames import compress_blocks
from inspector.encode.records import Record, changelog, frame_records, row_checksum_of

_ROW_VERSION = b"\x00"
"""What every row that RocksDB holds begins with (:mod:`inspector.decode.encoded_rows`)."""


@dataclass(frozen=True)
class DeltaForm:
    """How the delta of a new version is written.

    Attributes:
        codec: of its compression.
        row_checksum: its records carry checksums.
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
            entries: UnsafeRows; those of a store whose keys are not arranged and that shares its
                files with no other.
        """
        if not self.changelog:
            raw = frame_records(entries, row_checksum=self.row_checksum)
        else:
            raw = changelog(map(self._encode, entries), self.changelog, self.lineage)
        return compress_blocks(raw, self.codec)

    def _encode(self, entry: Record) -> Record:
        """A record as RocksDB holds it.

        A checksum stands before the size and the value of a put, and before the key of a removal
        (``KeyValueChecksumEncoder``, 4.2 on).
        """
        key, value = _ROW_VERSION + entry[0], entry[1]
        if value is None:
            return (row_checksum_of(key, b"") + key if self.row_checksum else key), None
        value = _ROW_VERSION + value
        if self.row_checksum:
            value = row_checksum_of(key, value) + struct.pack("<i", len(value)) + value
        return key, value
