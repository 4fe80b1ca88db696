"""Blocks of a table decompressed, each to exactly the bytes that it says it holds.

======  ==========  ===========================================================================
type    name        what a block holds (``UncompressData``, from format_version 2 on)
======  ==========  ===========================================================================
0       none        the bytes
1       snappy      raw Snappy, which begins with a varint: its bytes decompressed
2       zlib        that varint, then raw Deflate
3       bzip2       that varint, then bzip2
4, 5    lz4, lz4hc  that varint, then an LZ4 block
7       zstd        that varint, then Zstandard
======  ==========  ===========================================================================

Other types (Xpress, those of a user's own compression manager) and dictionaries are refused.
"""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

import numpy as np

from inspector.decode.sst.varints import Varints
from inspector.exceptions import DecodeError, FrameError
from inspector.kernel.loader import kernel

NONE = 0
LZ4 = (4, 5)
_SNAPPY = 1
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_KNOWN = 0xC0
_ZSTD_SINGLE = 0x20


def raw_size(kind: int, block: bytes, offset: int) -> tuple[int, int]:
    """The bytes that a block holds, and where in it they begin compressed.

    Args:
        kind: its type.
        block: its bytes; the first ten are enough.
        offset: in the file, for errors.

    Raises:
        RecordError: no size is told.
    """
    varints = Varints(block, offset)
    size = varints.next("size of a compressed block")
    return size, 0 if kind == _SNAPPY else varints.place


def decompress(kind: int, block: bytes, size: int, offset: int) -> bytes:
    """What a block holds.

    Args:
        kind: its type, none but 0.
        block: from where :func:`raw_size` says.
        size: as it says; was held against the limit.
        offset: of the block in the file, for errors.

    Raises:
        FrameError: it is corrupt, or does not hold ``size`` bytes.
        DecodeError: it is of a type that is not read.
    """
    if kind not in _FUNCTIONS:
        raise DecodeError(f"a block of compression type {kind}, which is not read", offset=offset)
    name, function = _FUNCTIONS[kind]
    try:
        found = function(block, size)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise FrameError(f"{name} block: {error}", offset=offset) from error
    if len(found) != size:
        raise FrameError(f"{name} block of {len(found)} bytes, expected {size}", offset=offset)
    return found


def _lz4(block: bytes, size: int) -> bytes:
    out = bytearray(size)
    arrays = [np.array([number], np.int64) for number in (0, len(block), 0, size)]
    if kernel().lz4_blocks(block, *arrays[:2], out, *arrays[2:]) < 1:
        raise ValueError("it is corrupt")
    return bytes(out)


def _deflate(block: bytes, size: int) -> bytes:
    # One byte more than it should have: so one that has more is noticed, and none more is made.
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, size + 1)


def _bzip2(block: bytes, size: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(block, size + 1)


def _snappy(block: bytes, size: int) -> bytes:
    return bytes(_codec("snappy").decompress(block, size, asbytes=True))


def _zstd(block: bytes, size: int) -> bytes:
    """By pyarrow, which notices that a frame holds less only if the frame tells its size."""
    if _content_size(block) == size:
        return bytes(_codec("zstd").decompress(block, size, asbytes=True))
    import pyarrow as pa  # noqa: PLC0415 - as in _codec

    return bytes(pa.CompressedInputStream(pa.PythonFile(io.BytesIO(block)), "zstd").read(size + 1))


def _content_size(frame: bytes) -> int:
    """The size in the header of a Zstandard frame; -1 if it has none."""
    if not frame.startswith(_ZSTD_MAGIC) or len(frame) < 18:
        return -1
    descriptor = frame[4]
    if not descriptor & (_ZSTD_KNOWN | _ZSTD_SINGLE) or descriptor & 3:
        return -1
    place = 5 if descriptor & _ZSTD_SINGLE else 6
    code = descriptor >> 6
    found = int.from_bytes(frame[place : place + (1 << code)], "little")
    return found + 256 if code == 1 else found


@cache
def _codec(name: Literal["snappy", "zstd"]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - most tables need none: LZ4 is in the kernel

    return pa.Codec(name)


_FUNCTIONS: Mapping[int, tuple[str, Callable[[bytes, int], bytes]]] = {
    1: ("Snappy", _snappy),
    2: ("zlib", _deflate),
    3: ("bzip2", _bzip2),
    4: ("LZ4", _lz4),
    5: ("LZ4", _lz4),
    7: ("Zstandard", _zstd),
}
