"""Row checksums (Spark 4.2 and later): a CRC32C within each record of a state file.

It lies before a put's value and covers key and value, and before a removal's key and covers the
key alone; little endian (``StateStoreRowChecksum``).
"""

from __future__ import annotations

import struct

import google_crc32c
import numpy as np
import numpy.typing as npt

from inspector.exceptions import RecordError

ROW_CHECKSUM_BYTES = 4

_ROW_CHECKSUM = struct.Struct("<I")


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
