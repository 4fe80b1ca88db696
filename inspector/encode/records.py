"""Writers of puts and removals in deltas, snapshots and changelogs."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence

import google_crc32c

from inspector.decode.changelog import WITH_KINDS, WITH_LINEAGE, LineageItem
from inspector.encode.frames import compress_blocks
from inspector.kernel.record_layout import KIND_END, KIND_PUT, KIND_REMOVAL
from inspector.light_dataclasses import dataclass

# end mark of a delta, a snapshot, and a changelog whose records have no kind
END = b"\xff\xff\xff\xff"
Record = tuple[bytes, bytes | None]  # A key and its value; None removes the key.
RawRecords = bytes
"""Records of a changelog as bytes, as another changelog of the same format has them."""

_AT_ONCE = 4096  # records that are joined at once
_JOINED_BYTES = 1 << 20  # bytes from which raw records are not joined further


def record(key: bytes, value: bytes | None, *, row_checksum: bool = False) -> bytes:
    """Return the bytes of a put, or of a removal if the value is None.

    With ``row_checksum`` a checksum precedes the value, or the key of a removal.
    """
    # A row checksum is the CRC32C of key and value. It comes before the value; for a removal,
    # before the key (StateStoreRowChecksum, 4.2).
    if row_checksum:
        checksum = row_checksum_of(key, value or b"")
        key, value = (checksum + key, None) if value is None else (key, checksum + value)
    framed = struct.pack(">i", len(key)) + key
    return framed + END if value is None else framed + struct.pack(">i", len(value)) + value


def row_checksum_of(key: bytes, value: bytes) -> bytes:
    """Return the CRC32C of a record's key and value as 4 bytes."""
    return struct.pack("<I", google_crc32c.value(key + value))


def frame_records(
    entries: Iterable[Record | RawRecords], *, row_checksum: bool = False
) -> Iterator[bytes]:
    """Yield the bytes of a delta or snapshot before compression, with the end mark last."""
    part: list[bytes] = []
    for item in entries:
        is_large = False
        if isinstance(item, bytes):
            part.append(item)
            is_large = len(item) >= _JOINED_BYTES
        else:
            part.append(record(*item, row_checksum=row_checksum))
        if is_large or len(part) == _AT_ONCE:
            yield b"".join(part)
            part.clear()
    yield b"".join([*part, END])


def changelog(
    entries: Iterable[Record | RawRecords], version: int, lineage: Sequence[LineageItem] = ()
) -> Iterator[bytes]:
    """Yield the bytes of a changelog of a format version before compression.

    Keys and values must be encoded, with their checksums if there are any. Versions 3 and 4 have
    the lineage.
    """
    # The entries have their checksums where there are any; versions 3 and 4 name the lineage.
    if version > 1:
        yield utf(f"v{version}")
    if version in WITH_LINEAGE:
        items = [{"version": i.version, "checkpointUniqueId": i.unique_id} for i in lineage]
        yield utf(json.dumps(items, separators=(",", ":")))
    if version not in WITH_KINDS:
        yield from frame_records(entries)
        return
    for item in entries:
        if isinstance(item, bytes):
            yield item
        else:
            yield bytes([KIND_REMOVAL if item[1] is None else KIND_PUT]) + record(*item)
    yield bytes([KIND_END])


def utf(text: str) -> bytes:
    """Return an ASCII text as Java's ``DataOutputStream.writeUTF`` writes it."""
    raw = text.encode("ascii")
    return struct.pack(">H", len(raw)) + raw


@dataclass(frozen=True)
class DeltaForm:
    """Form of a delta, snapshot or changelog that is written."""

    name: str  # name of the file in its folder
    codec: str  # short name of the codec, as in ``decode.frames``
    row_checksum: bool = False  # True if the records of a delta have checksums
    # version of a changelog's format; 0 for a delta or snapshot of the HDFS-backed provider
    changelog: int = 0
    # versions that a changelog of checkpoint format 2 is based on
    lineage: tuple[LineageItem, ...] = ()

    def chunks(self, entries: Iterable[Record | RawRecords]) -> Iterator[bytes]:
        """Yield the compressed file, from UnsafeRows; a changelog, from RocksDB entries."""
        if self.changelog:
            return compress_blocks(changelog(entries, self.changelog, self.lineage), self.codec)
        raw = frame_records(entries, row_checksum=self.row_checksum)
        return compress_blocks(raw, self.codec)
