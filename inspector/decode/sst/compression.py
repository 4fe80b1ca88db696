"""Blocks of a table decompressed, each to exactly the bytes that it says it holds.

Type 1 is raw Snappy, which begins with a varint: its bytes decompressed. Of the others that varint
comes first: 2 raw Deflate, 3 bzip2, 4 and 5 an LZ4 block, 7 Zstandard (``UncompressData``, from
format_version 2 on). Other types and dictionaries are refused.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.arrays import Int64s
from inspector.decode.sst.footer import Varints
from inspector.exceptions import DecodeError, FrameError, RecordError

NONE = 0
LZ4 = (4, 5)
_SNAPPY = 1
_VARINT = 5  # bytes of a varint of 32 bits
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_KNOWN = 0xC0
_ZSTD_SINGLE = 0x20


def raw_sizes(
    octets: npt.NDArray[np.uint8], start: Int64s, end: Int64s, kind: Int64s, base: int
) -> tuple[Int64s, Int64s]:
    """The bytes that blocks of a piece of a file hold, and where what is compressed begins in each.

    Raises RecordError where a compressed block has no size of 32 bits; the piece lies at ``base``.
    """
    size, skipped = end - start, np.zeros(len(start), np.int64)
    left = np.flatnonzero(kind != NONE)
    size[left] = 0
    for number in range(_VARINT):
        cut = left[start[left] + number >= end[left]]
        if len(cut):
            left = cut
            break
        byte = octets[start[left] + number].astype(np.int64)
        size[left] |= (byte & 0x7F) << 7 * number
        skipped[left] = number + 1
        left = left[byte >= 0x80]
    if len(left):
        where = base + int(start[left[0]])
        raise RecordError("a compressed block without its size", offset=where)
    skipped[kind == _SNAPPY] = 0  # Snappy reads it itself
    return size, skipped


def decompress(kind: int, block: bytes, size: int, offset: int) -> bytes:
    """What a block of a type holds from where :func:`raw_sizes` says; its size is within limits.

    Raises FrameError where it is corrupt, or does not hold ``size`` bytes; DecodeError for its
    type.
    """
    if kind not in _FUNCTIONS:
        raise DecodeError(f"a block of compression type {kind}, which is not read", offset=offset)
    name, function = _FUNCTIONS[kind]
    try:
        result = function(block, size)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FrameError(f"{name} block: {error}", offset=offset) from error
    if len(result) != size:
        raise FrameError(f"{name} block of {len(result)} bytes, expected {size}", offset=offset)
    return result


def _deflate(block: bytes, size: int) -> bytes:
    # One byte more than it should have: so one that has more is noticed, and none more is made.
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, size + 1)


def _snappy(block: bytes, size: int) -> bytes:
    if Varints(block, 0).next("size") != size:  # pyarrow does not hold them against each other
        raise ValueError("it says another size")
    return bytes(_codec("snappy").decompress(block, size, asbytes=True))


def _zstd(block: bytes, size: int) -> bytes:
    """By pyarrow, which notices that a frame holds less only if the frame tells its size."""
    if _content_size(block) == size:
        return bytes(_codec("zstd").decompress(block, size, asbytes=True))
    return bytes(pa.CompressedInputStream(pa.BufferReader(block), "zstd").read(size + 1))


def _content_size(frame: bytes) -> int:
    """The size in the header of a Zstandard frame; -1 if it has none."""
    if not frame.startswith(_ZSTD_MAGIC) or len(frame) < 18:
        return -1
    descriptor = frame[4]
    if not descriptor & (_ZSTD_KNOWN | _ZSTD_SINGLE) or descriptor & 3:
        return -1
    position = 5 if descriptor & _ZSTD_SINGLE else 6
    code = descriptor >> 6
    result = int.from_bytes(frame[position : position + (1 << code)], "little")
    return result + 256 if code == 1 else result


@cache
def _codec(name: Literal["snappy", "zstd"]) -> Any:
    return pa.Codec(name)


_FUNCTIONS: Mapping[int, tuple[str, Callable[[bytes, int], bytes]]] = {
    1: ("Snappy", _snappy),
    2: ("zlib", _deflate),
    3: ("bzip2", lambda block, size: bz2.BZ2Decompressor().decompress(block, size + 1)),
    7: ("Zstandard", _zstd),
}
