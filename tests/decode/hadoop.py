"""Hadoop's side files by the plainest reading: what the streaming one is held against."""

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
        crc: the side file.
        chunks: the bytes of the main file, cut anywhere.

    Returns:
        Offsets in the main file of the parts that do not match, those that only one of the two
        files has included.

    Raises:
        DecodeError: the side file is not one.
    """
    size, sums = hadoop_sums(crc, ANY_PART)
    expected = [item for (item,) in struct.iter_unpack(">I", sums)]
    parts = itertools.zip_longest(expected, _crc32_of_parts(chunks, size))
    return [i * size for i, (want, got) in enumerate(parts) if want != got]


def _crc32_of_parts(chunks: Iterable[bytes], size: int) -> Iterator[int]:
    """The CRC-32 of every ``size`` bytes; no part is ever held, however large it claims to be."""
    source = Source(chunks)
    while not source.at_end():
        result, left = 0, size
        while left and (next_bytes := source.next_bytes(left)):
            result = zlib.crc32(next_bytes, result)
            left -= len(next_bytes)
        yield result
