"""Checksums around a state file: of each row, of the file by Hadoop, of the file by Spark.

======================  =========================  ==========================================
what                    where                      algorithm
======================  =========================  ==========================================
row checksum (4.2+)     before each value, and     CRC32C, little endian, of key and value,
                        each removal's key         of the key alone for a removal
``.NAME.crc``           beside it, local disks     CRC-32 of every 512 bytes or so, big endian
``NAME.crc`` (4.1)      beside it                  CRC32C of the whole, signed, in JSON
======================  =========================  ==========================================
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass

import google_crc32c
import numpy as np
import numpy.typing as npt

from inspector.exceptions import DecodeError, RecordError, TruncatedError

ROW_CHECKSUM_BYTES = 4

_ROW_CHECKSUM = struct.Struct("<I")
_HADOOP_HEADER = struct.Struct(">4si")
_HADOOP_MAGIC = b"crc\x00"
_HADOOP_SUM = struct.Struct(">I")


def strip_and_verify(buffer: bytes, spans: npt.NDArray[np.int64], raw: int) -> tuple[int, ...]:
    """Take the row checksum off every record and compare it with its bytes.

    As ``StateStoreRowChecksum`` writes them since 4.2: a put has it in front of its value and it
    covers key and value; a removal has it in front of its key and it covers the key.

    Args:
        buffer: what the spans lie in.
        spans: four rows (key offset, key length, value offset, value length or -1); changed in
            place to leave the checksums out.
        raw: offset of the buffer in the decompressed file, for messages.

    Returns:
        Indexes of the records whose checksum is wrong.

    Raises:
        RecordError: a value, or a removal's key, is shorter than a checksum.
    """
    removed = spans[3] < 0
    held = np.where(removed, spans[1], spans[3])
    if (short := np.flatnonzero(held < ROW_CHECKSUM_BYTES)).size:
        offset = raw + int(spans[0, short[0]])
        raise RecordError("no room for a row checksum, (raw offset of its key)", offset=offset)
    sums_at = np.where(removed, spans[0], spans[2])
    for moved, offsets, lengths in ((removed, 0, 1), (~removed, 2, 3)):
        spans[offsets][moved] += ROW_CHECKSUM_BYTES
        spans[lengths][moved] -= ROW_CHECKSUM_BYTES
    rows = zip(sums_at.tolist(), *spans.tolist(), strict=True)
    return tuple(i for i, row in enumerate(rows) if not _matches(buffer, *row))


def _matches(
    buffer: bytes, sum_at: int, key_at: int, key_size: int, value_at: int, value_size: int
) -> bool:
    (expected,) = _ROW_CHECKSUM.unpack_from(buffer, sum_at)
    found = google_crc32c.value(buffer[key_at : key_at + key_size])
    if value_size >= 0:
        found = google_crc32c.extend(found, buffer[value_at : value_at + value_size])
    return bool(found == expected)


def hadoop_sums(crc: bytes) -> tuple[int, list[int]]:
    """Bytes per checksum, and the checksums, of a ``.NAME.crc``.

    Raises:
        DecodeError: it is not one.
    """
    if len(crc) < _HADOOP_HEADER.size:
        raise TruncatedError("checksum file without a header", offset=len(crc))
    magic, size = _HADOOP_HEADER.unpack_from(crc)
    sums = crc[_HADOOP_HEADER.size :]
    if magic != _HADOOP_MAGIC or size <= 0 or len(sums) % _HADOOP_SUM.size:
        raise DecodeError(f"not a Hadoop checksum file: {crc[:8]!r}, {len(crc)} bytes")
    return size, [each for (each,) in _HADOOP_SUM.iter_unpack(sums)]


@dataclass(frozen=True)
class SparkChecksum:
    """What Spark 4.1's ``NAME.crc`` says of its main file (``ChecksumCheckpointFileManager``).

    Attributes:
        algorithm: ``CRC32C``.
        value: the checksum, unsigned.
        size: bytes of the main file; None if not recorded.
    """

    algorithm: str
    value: int
    size: int | None = None


def parse_spark_checksum(data: bytes) -> SparkChecksum:
    """Read Spark's checksum side file.

    Raises:
        DecodeError: it is not one.
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
    return SparkChecksum(algorithm, value & 0xFFFFFFFF, size if isinstance(size, int) else None)


def crc32c(chunks: Iterable[bytes], found: int = 0) -> tuple[int, int]:
    """CRC32C of a file as it arrives, unsigned, going on from ``found``; and its size in bytes."""
    size = 0
    for chunk in chunks:
        found = google_crc32c.extend(found, bytes(chunk))
        size += len(chunk)
    return found, size
