"""Chunks of compress-lzf, Spark's codec ``lzf``.

Numbers are big endian::

    "ZV" | 00 | uint16 length | bytes                                            stored
    "ZV" | 01 | uint16 compressed length | uint16 decompressed length | LZF      compressed

A chunk has at most 65535 bytes; there is no end mark. LZF data is a row of instructions::

    000LLLLL                        L + 1 literal bytes follow
    LLLooooo oooooooo               copy L + 2 bytes from o + 1 bytes back; L = 1 .. 6
    111ooooo LLLLLLLL oooooooo      copy L + 9 bytes from o + 1 bytes back
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from inspector.decode._source import Source
from inspector.exceptions import FrameError
from inspector.model import Limits

MAGIC = b"ZV"  # first bytes of a chunk

_HEADER = struct.Struct(f">{len(MAGIC)}sBH")  # magic, kind and length of a chunk
_UINT16 = struct.Struct(">H")  # decompressed length of a compressed chunk
_STORED = 0  # kind of a chunk that is not compressed
_COMPRESSED = 1  # kind of a compressed chunk
_LITERALS = 0x20  # first instruction that is a copy; those below are literals
_LONG = 7  # value of L in an instruction with a length byte


def inflate(source: Source, _limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed chunks; each is small by its format. TruncatedError, FrameError."""
    while not source.at_end():
        start = source.offset
        _, kind, length = source.header(_HEADER, MAGIC, "an LZF chunk")
        if kind not in (_STORED, _COMPRESSED):
            raise FrameError(f"LZF chunk of unknown type {kind}", offset=start)
        if kind == _STORED:
            yield bytes(source.take(length, "LZF chunk"))
            continue
        (size,) = _UINT16.unpack(source.take(_UINT16.size, "LZF chunk header"))
        payload = bytes(source.take(length, "LZF chunk"))
        try:
            yield decompress(payload, size)
        except ValueError as error:
            raise FrameError(f"LZF chunk: {error}", offset=start) from error


def decompress(data: bytes, size: int) -> bytes:
    """Return LZF data decompressed to exactly ``size`` bytes. ValueError: it is corrupt."""
    output = bytearray()
    position = 0
    while position < len(data):
        control = data[position]
        position += 1
        if control < _LITERALS:
            end = position + control + 1
            if end > len(data):
                raise ValueError("literal bytes are missing")
            output += data[position:end]
            position = end
        else:
            position = _copy(data, position, control, output)
        if len(output) > size:
            raise ValueError(f"holds more than {size} bytes")
    if len(output) != size:
        raise ValueError(f"holds {len(output)} bytes, expected {size}")
    return bytes(output)


def _copy(data: bytes, position: int, control: int, output: bytearray) -> int:
    """Append the bytes that a copy instruction repeats, and return the position after it.

    ``control`` is its first byte, ``position`` the next. ValueError: it is cut, or goes too far
    back.
    """
    length = control >> 5
    needed = 2 if length == _LONG else 1
    if position + needed > len(data):
        raise ValueError("an instruction is cut")
    if length == _LONG:
        length += data[position]
    length += 2
    back = ((control & 0x1F) << 8 | data[position + needed - 1]) + 1
    if back > len(output):
        raise ValueError("refers to bytes before the start")
    pattern = output[len(output) - back : len(output) - back + length]
    if len(pattern) < length:  # the copy overlaps what it writes: a repeated pattern
        pattern = (pattern * (length // back + 1))[:length]
    output += pattern
    return position + needed
