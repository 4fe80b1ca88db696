"""Writers of the checksum files of a state file; :mod:`inspector.decode.side_sums` reads them."""

from __future__ import annotations

import json
import struct
import zlib

import google_crc32c

from inspector.clock import epoch_ms

_PART_BYTES = 512  # bytes of one checksum: Hadoop's default (``file.bytes-per-checksum``)


class SideSums:
    """Checksums of one file, updated with each of its chunks."""

    def __init__(self) -> None:
        self._checksum = 0
        self._parts: list[int] = []
        self._rest = b""
        self._size = 0

    def update(self, chunk: bytes) -> None:
        """Add the next bytes of the file."""
        self._checksum = google_crc32c.extend(self._checksum, bytes(chunk))
        self._size += len(chunk)
        data = self._rest + chunk
        whole_bytes = len(data) - len(data) % _PART_BYTES
        starts = range(0, whole_bytes, _PART_BYTES)
        self._parts += [zlib.crc32(data[start : start + _PART_BYTES]) for start in starts]
        self._rest = data[whole_bytes:]

    def hadoop(self) -> bytes:
        """Return the content of ``.NAME.crc`` of Hadoop's ``ChecksumFileSystem``."""
        parts = [*self._parts, *([zlib.crc32(self._rest)] if self._rest else [])]
        return b"crc\x00" + struct.pack(f">i{len(parts)}I", _PART_BYTES, *parts)

    def spark(self) -> bytes:
        """Return the content of ``NAME.crc`` of Spark 4.1 and later."""
        (signed,) = struct.unpack(">i", struct.pack(">I", self._checksum))
        content = {
            "algorithm": "CRC32C",
            "value": signed,
            "mainFileSize": self._size,
            "timestampMs": epoch_ms(),
            "creator": {"executorId": "inspector", "taskInfo": ""},
        }
        return json.dumps(content, separators=(",", ":")).encode()


def hadoop_sums_of(content: bytes) -> bytes:
    """Return the content of ``.NAME.crc`` for a small file."""
    sums = SideSums()
    sums.update(content)
    return sums.hadoop()
