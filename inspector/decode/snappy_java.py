"""Stream of snappy-java's ``SnappyOutputStream``, Spark's codec ``snappy``.

Numbers are big endian::

    82 "SNAPPY" 00 | int32 version | int32 lowest compatible version     header, 16 bytes
    int32 length | raw Snappy block, which starts with its decompressed length     repeated

There is no end mark. A header may come again if streams were concatenated.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from inspector.decode._source import RawCodec, Source
from inspector.exceptions import FrameError, LimitError
from inspector.model import Limits

MAGIC = b"\x82SNAPPY\x00"  # first bytes of a stream

_INT32 = struct.Struct(">i")  # length of a block
_VERSIONS = struct.Struct(">ii")  # versions in a header
# version that is read (SnappyCodec.currentHeader); a reader must know the lowest compatible one
_VERSION = 1


def inflate(source: Source, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed blocks. TruncatedError, FrameError, LimitError as frames.inflate."""
    codec = RawCodec("snappy", "Snappy")
    source.expect(MAGIC, "a Snappy stream")
    _versions(source)
    while not source.at_end():
        start = source.offset
        head = source.take(_INT32.size, "Snappy block length")
        if head == MAGIC[: _INT32.size]:
            source.expect(MAGIC[_INT32.size :], "a Snappy stream")
            _versions(source)
            continue
        (length,) = _INT32.unpack(head)
        if length <= 0:
            raise FrameError(f"Snappy block of {length} bytes", offset=start)
        if length > limits.frame_bytes:
            message = f"Snappy block of {length} bytes, limit {limits.frame_bytes}"
            raise LimitError(message, offset=start)
        block = source.take(length, "Snappy block")
        size = _parse_length(block, start)
        if size > limits.frame_bytes:
            message = f"Snappy block that holds {size} bytes, limit {limits.frame_bytes}"
            raise LimitError(message, offset=start)
        yield codec.block(block, size, start)


def _versions(source: Source) -> None:
    """Read the versions in a header. FrameError: the stream needs a newer reader."""
    start = source.offset
    version, compatible = _VERSIONS.unpack(source.take(_VERSIONS.size, "Snappy header"))
    if version < _VERSION or compatible > _VERSION:
        message = f"Snappy stream of version {version}, readable from {compatible} on, expected 1"
        raise FrameError(message, offset=start)


def _parse_length(block: memoryview, start: int) -> int:
    """Return the number at the start of a raw Snappy block: 7 bits to a byte, lowest first.

    FrameError: there is none.
    """
    size = 0
    for i, byte in enumerate(block[:5]):  # of a 32-bit number
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise FrameError("Snappy block without a decompressed length", offset=start)
