"""Checksum files of a state file, compared with its bytes while they are read.

Each kind takes the chunks of the main file one after the other, and at the end returns the mismatch
in words.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TypeAlias

from inspector.exceptions import DecodeError, TruncatedError
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS, Limits, above_limit

_HADOOP_HEADER = struct.Struct(">4si")  # magic bytes and bytes for each checksum
_HADOOP_SUM = struct.Struct(">I")  # one checksum
_PARTS_AT_ONCE = 1 << 12  # checksums that are computed before they are compared


@dataclass(frozen=True)
class Mismatch:
    """Mismatch of a main file and its checksum file."""

    message: str  # the mismatch in words
    # offset of the first part that differs; None if only the whole is summed
    offset: int | None = None


class HadoopSum:
    """Comparison with ``.NAME.crc`` of Hadoop's ``ChecksumFileSystem`` on local disks.

    It has a CRC-32 of every 512 bytes or so, big endian. DecodeError: the file is no such file.
    """

    def __init__(self, side: bytes, limits: Limits = LIMITS) -> None:
        self._part, self._expected = hadoop_sums(side, limits)
        self._parts = self._bad = 0
        self._first: int | None = None
        self._sum, self._filled = 0, 0

    def update(self, chunk: bytes) -> None:
        """Add the next bytes; each part is compared at its end, and not kept."""
        remainder = memoryview(chunk)
        if self._filled:
            remainder = self._take(remainder, self._part - self._filled)
        size, chunk_bytes = self._part, self._part * _PARTS_AT_ONCE
        whole_bytes = len(remainder) - len(remainder) % size
        for start in range(0, whole_bytes, chunk_bytes):
            part = remainder[start : min(start + chunk_bytes, whole_bytes)]
            self._compare(
                [zlib.crc32(part[offset : offset + size]) for offset in range(0, len(part), size)]
            )
        self._take(remainder[whole_bytes:], size)

    def _take(self, remainder: memoryview, max_bytes: int) -> memoryview:
        """Add at most ``max_bytes`` to the present part, and return the bytes that are left."""
        part = remainder[:max_bytes]
        if part:
            self._sum = zlib.crc32(part, self._sum)
            self._filled += len(part)
        if self._filled == self._part:
            self._compare([self._sum])
            self._sum, self._filled = 0, 0
        return remainder[len(part) :]

    def _compare(self, sums: list[int]) -> None:
        """Compare the checksums of the next parts with the recorded ones."""
        position = self._parts * _HADOOP_SUM.size
        result = struct.pack(f">{len(sums)}I", *sums)
        recorded = self._expected[position : position + len(result)]
        if result != recorded:
            item = _HADOOP_SUM.size
            spans = (slice(start, start + item) for start in range(0, len(result), item))
            bad = [part for part, span in enumerate(spans) if result[span] != recorded[span]]
            self._bad += len(bad)
            self._first = self._parts + bad[0] if self._first is None else self._first
        self._parts += len(sums)

    def finish(self) -> Mismatch | None:
        """Return the first mismatch, None if there is none; parts of only one file count too."""
        if self._filled:
            self._compare([self._sum])
        recorded = len(self._expected) // _HADOOP_SUM.size
        left = max(0, recorded - self._parts)
        first = self._parts if self._first is None and left else self._first
        if first is None:
            return None
        return Mismatch(
            f"{self._bad + left} of {max(self._parts, recorded)} parts of {self._part} bytes "
            "differ from Hadoop's checksum file, this is the first: the file was changed, or the "
            "checksum file was left behind by another of its name; Spark compares them and fails "
            "only with FileSystemBasedCheckpointFileManager",
            first * self._part,
        )


class SparkSum:
    """Comparison with ``NAME.crc`` of Spark 4.1: the CRC32C of the whole file, signed, in JSON.

    DecodeError: the file is no such file.
    """

    def __init__(self, side: bytes) -> None:
        import google_crc32c  # noqa: PLC0415 - Hadoop's sums, and `info`, do without

        self._extend = google_crc32c.extend
        self._recorded = parse_spark_checksum(side)
        self._sum = self._size = 0

    def update(self, chunk: bytes) -> None:
        """Add the next bytes."""
        self._sum = self._extend(self._sum, bytes(chunk))
        self._size += len(chunk)

    def finish(self) -> Mismatch | None:
        """Return how the file differs from its checksum; None if equal, or not CRC32C."""
        algorithm, value, size = self._recorded
        if algorithm != "CRC32C" or (value == self._sum and size in (None, self._size)):
            return None
        return Mismatch(
            f"got CRC32C {self._sum:08x} over {self._size} bytes, Spark's checksum file records "
            f"{value:08x} over {size} bytes: the file was changed; that proves "
            "nothing if a Spark that writes no such files (other than 4.1) wrote it anew since"
        )


SideSum: TypeAlias = HadoopSum | SparkSum
"""Comparison with a checksum file of either kind; finished after the last chunk of the main file.
"""


def hadoop_sums(crc: bytes, limits: Limits = LIMITS) -> tuple[int, memoryview]:
    """Return the bytes for each checksum, and the checksums, four bytes each, of a ``.NAME.crc``.

    DecodeError: it is no such file. LimitError: parts shorter than ``limits.sum_part_bytes``.
    """
    if len(crc) < _HADOOP_HEADER.size:
        raise TruncatedError("checksum file without a header", offset=len(crc))
    magic, size = _HADOOP_HEADER.unpack_from(crc)
    sums = memoryview(crc)[_HADOOP_HEADER.size :]
    if magic != b"crc\0" or size <= 0 or len(sums) % _HADOOP_SUM.size:
        raise DecodeError(f"not a Hadoop checksum file: {crc[:8]!r}, {len(crc)} bytes")
    if size < limits.sum_part_bytes:
        raise above_limit("sum_part_bytes", f"a checksum for each {size} bytes", limits)
    return size, sums


def parse_spark_checksum(data: bytes) -> tuple[str, int, int | None]:
    """Return algorithm, checksum and size in Spark 4.1's ``NAME.crc``.

    The checksum is unsigned, although Spark writes it signed (``ChecksumCheckpointFileManager``).
    The size in bytes is None if not recorded. DecodeError: it is no such file.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not a Spark checksum file: {error}") from error
    if not isinstance(document, dict):
        raise DecodeError("not a Spark checksum file: no JSON object")
    algorithm, value = document.get("algorithm"), document.get("value")
    size = document.get("mainFileSize")
    if not isinstance(algorithm, str) or not isinstance(value, int):
        raise DecodeError("not a Spark checksum file: no algorithm or value")
    return algorithm, value & 0xFFFFFFFF, size if isinstance(size, int) else None
