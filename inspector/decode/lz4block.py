"""Stream of lz4-java's ``LZ4BlockOutputStream``, Spark's codec ``lz4``.

It is not the LZ4 frame format. Numbers are little endian::

    "LZ4Block"                8 bytes
    token                     1 byte: method (0x10 stored, 0x20 LZ4) | level
    compressed length         4
    decompressed length       4
    checksum                  4: XXH32 of the decompressed bytes, its upper 4 bits cleared
    payload

A block of no bytes ends a stream. Spark continues after it (``withStopOnEmptyBlock(false)``), so
streams may follow one another. A file that ends without an end mark was cut.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache

import xxhash

from inspector.decode._source import RawCodec, Source
from inspector.exceptions import FrameError, LimitError, TruncatedError
from inspector.kernel.loader import kernel
from inspector.model import Limits

MAGIC = b"LZ4Block"  # first bytes of a block

_HEADER = struct.Struct("<8sBiiI")  # fields of a block's header
_STORED = 0x10  # method of a block that is not compressed
_LZ4 = 0x20  # method of a compressed block
_LEVEL_BASE = 10  # a block of level n has up to 2 ** (10 + n) bytes
_SEED = 0x9747B28C  # seed of the checksum
_AT_ONCE = 1 << 20  # raw bytes that are decompressed at once
# bits of a checksum; StreamingXXHash32.asChecksum() drops the upper four
_CHECKSUM_BITS = 0x0FFFFFFF


def inflate(source: Source, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed blocks of one or more streams. Errors as :func:`frames.inflate`."""
    blocks = _kernel_blocks()
    room = min(_AT_ONCE, limits.frame_bytes)
    ended = False
    while not source.at_end():
        raw, packed = b"", 0
        if blocks is not None:
            # The kernel does many blocks at once without the GIL; the rest is examined here.
            raw, packed = blocks(source.window, 0, limits.frame_bytes, room)
            source.skip(packed)
        if not packed:
            raw = _read_block(source, limits)
        ended = not raw
        if raw:
            yield raw
    if not ended:
        raise TruncatedError("the LZ4 stream has no end mark", offset=source.offset)


def _read_block(source: Source, limits: Limits) -> bytes:
    """Return the next block, decompressed and checked; empty for an end mark."""
    start = source.offset
    _, token, compressed, size, checksum = source.header(_HEADER, MAGIC, "an LZ4 block")
    _check_lengths(token, compressed, size, checksum, start)
    if size == 0:
        return b""
    if max(size, compressed) > limits.frame_bytes:
        message = f"LZ4 block of {max(size, compressed)} bytes, limit {limits.frame_bytes}"
        raise LimitError(message, offset=start)
    payload = source.take(compressed, "LZ4 block")
    # A block that is too short fails by its checksum.
    stored = token & 0xF0 == _STORED
    block = bytes(payload) if stored else _codec().block(payload, size, start)
    if xxhash.xxh32_intdigest(block, _SEED) & _CHECKSUM_BITS != checksum:
        raise FrameError("LZ4 block does not match its checksum", offset=start)
    return block


@cache
def _codec() -> RawCodec:
    """Return pyarrow's LZ4 codec."""
    return RawCodec("lz4_raw", "LZ4")


def _kernel_blocks() -> Callable[[memoryview, int, int, int], tuple[bytes, int]] | None:
    """Return the kernel's function that decompresses intact blocks; None without the C kernel.

    The function takes a buffer, the offset of the first block, the most bytes of a block, and about
    how many raw bytes are needed. It returns the raw bytes, and the number of packed ones, with
    headers.
    """
    # It takes a buffer, where the first block begins, the most bytes of a block, and about how many
    # raw bytes are needed; it returns raw bytes, and how many packed ones they were, headers
    # included.
    return getattr(kernel(), "lz4_stream", None)


def _check_lengths(token: int, compressed: int, size: int, checksum: int, start: int) -> None:
    """Raise FrameError for a block that ``LZ4BlockInputStream.refill`` refuses."""
    method = token & 0xF0
    if method not in (_STORED, _LZ4):
        raise FrameError(f"LZ4 block of unknown method {method:#04x}", offset=start)
    largest = 1 << _LEVEL_BASE + (token & 0x0F)
    if not 0 <= size <= largest:
        raise FrameError(f"LZ4 block of {size} bytes, its level has {largest}", offset=start)
    if compressed < 0 or (size == 0) != (compressed == 0) or (size == 0 and checksum != 0):
        raise FrameError(f"LZ4 block of {compressed} bytes that hold {size}", offset=start)
    if method == _STORED and size != compressed:
        raise FrameError(f"stored LZ4 block of {compressed} bytes for {size}", offset=start)
