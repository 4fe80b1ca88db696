"""A simple check of Hadoop's checksum files, as a reference for the streaming check."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator

from inspector.decode._source import Source
from inspector.decode.side_sums import hadoop_sums
from inspector.model import Limits

ANY_PART = Limits(sum_part_bytes=1)


def verify_hadoop_crc(crc: bytes, chunks: Iterable[bytes]) -> list[int]:
    """Compare a file with its ``.NAME.crc`` (Hadoop's ``ChecksumFileSystem``).

    Args:
        crc: The bytes of the checksum file.
        chunks: The bytes of the main file, in chunks of any size.

    Returns:
        Offsets in the main file of the parts that do not match, including parts that only one of
        the two files has.

    Raises:
        DecodeError: If ``crc`` is not a checksum file.
    """
    size, sums = hadoop_sums(crc, ANY_PART)
    expected = [item for (item,) in struct.iter_unpack(">I", sums)]
    parts = itertools.zip_longest(expected, _crc32_of_parts(chunks, size))
    return [i * size for i, (want, got) in enumerate(parts) if want != got]


def _crc32_of_parts(chunks: Iterable[bytes], size: int) -> Iterator[int]:
    """Yield the CRC-32 of every ``size`` bytes. No part is held in memory, whatever its size."""
    source = Source(chunks)
    while not source.at_end():
        result, left = 0, size
        while left and (next_bytes := source.next_bytes(left)):
            result = zlib.crc32(next_bytes, result)
            left -= len(next_bytes)
        yield result
