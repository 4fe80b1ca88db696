"""Blocks of a table by their handles: checked and decompressed, many at a time.

After each block are 5 bytes: the type of its compression and its checksum. Type 1 is raw Snappy,
which begins with a varint: its decompressed bytes. The other types have that varint first: 2 raw
Deflate, 3 bzip2, 4 and 5 an LZ4 block, 7 Zstandard (``UncompressData``, from format_version 2 on).
Other types and dictionaries are refused.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.arrays import Int64s
from inspector.decode.sst import footer
from inspector.decode.sst.handles import Handles
from inspector.exceptions import DecodeError, FrameError, RecordError
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.model import Limits, above_limit

_SUM = np.arange(1, footer.TRAILER)  # positions of the checksum's bytes in a trailer
_BYTES = 1 << 8 * np.arange(
    footer.TRAILER - 1
)  # place values of the bytes of a little-endian checksum


@dataclass(frozen=True, slots=True, eq=False)
class RawBlocks:
    """Consecutive blocks of a table, decompressed."""

    buffer: bytes | bytearray  # their bytes
    offset: Int64s  # where each starts in the buffer
    length: Int64s  # bytes of each
    place: Int64s  # where each is in the file, for messages


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """Consecutive blocks as they are stored."""

    kind: Int64s  # type of compression of each
    start: Int64s  # where its compressed bytes begin in the piece of the file
    length: Int64s  # number of these bytes
    size: Int64s  # decompressed bytes
    place: Int64s  # where each is in the file, for messages

    def rows(self, start: int, end: int) -> _Packed:
        """Return the blocks from ``start`` to ``end``."""
        item = (self.kind, self.start, self.length, self.size, self.place)
        return _Packed(*(column[start:end] for column in item))


class Blocks:
    """Reader of the blocks of one file, none larger than ``frame_bytes`` packed or decompressed."""

    def __init__(self, source: footer.Source, end: footer.Footer, limits: Limits) -> None:
        self._source, self._footer, self._limits = source, end, limits

    @property
    def max_count(self) -> int:
        """Greatest number of blocks that a file of this size can have."""
        return self._source.size // footer.TRAILER

    def read(self, handle: footer.Handle, noun: str) -> bytes:
        """Return one block, decompressed; ``noun`` names it in messages. DecodeError, OSError."""
        for blocks in self.stretch(iter((Handles.of(handle),)), 1, 1, noun):
            return bytes(blocks.buffer[: int(blocks.length[0])])
        raise AssertionError("a handle is a block")

    def stretch(
        self,
        handles: Iterator[Handles],  # ascending, without overlap
        piece_bytes: int,  # bytes of the file that are read at once; a larger block is read whole
        raw_bytes: int,  # decompressed bytes in memory; a larger block is held whole
        noun: str = "data blocks",  # they are, for messages
    ) -> Iterator[RawBlocks]:
        """Yield blocks one after the other, decompressed many at a time. DecodeError, OSError."""
        for handle in handles:
            for piece in self._pieces(handle, piece_bytes):
                start = int(piece.offset[0])
                length = int(piece.offset[-1] + piece.size[-1]) + footer.TRAILER - start
                data = footer.read_exactly(self._source, start, length, noun)
                packed = self._pack(data, piece, start)
                for first, end in _groups(np.cumsum(packed.size), raw_bytes):
                    yield _unpack(data, packed.rows(first, end))

    def _pieces(self, handles: Handles, max_bytes: int) -> Iterator[Handles]:
        """Yield the handles in groups that are read at once. LimitError: a block is too large."""
        self._check_sizes(handles.size, handles.offset)
        ends = handles.offset + handles.size + footer.TRAILER
        # A gap between blocks (aligned ones have some) counts as read.
        for first, end in _groups(ends - (handles.offset[0] if len(ends) else 0), max_bytes):
            yield handles.part(first, end)

    def _pack(self, data: bytes, handles: Handles, start: int) -> _Packed:
        """Return the blocks of a piece of the file, from ``start``, after checking their sums."""
        octets = np.frombuffer(data, np.uint8)
        offsets = handles.offset - start
        end = offsets + handles.size
        kind = octets[end].astype(np.int64)
        trailers = octets[end[:, None] + _SUM].astype(np.int64)
        view, check = memoryview(data), footer.check_block
        for first, last, expected in zip(
            offsets.tolist(), end.tolist(), (trailers @ _BYTES).tolist(), strict=True
        ):
            check(self._footer, view[first:last], data[last], expected, start + first)
        size, skipped = raw_sizes(octets, offsets, end, kind, start)
        self._check_sizes(size, handles.offset)
        return _Packed(kind, offsets + skipped, handles.size - skipped, size, handles.offset)

    def _check_sizes(self, sizes: Int64s, offsets: Int64s) -> None:
        """Raise LimitError if a block is too large; ``offsets`` are for the error."""
        large = np.flatnonzero(sizes > self._limits.frame_bytes)
        if len(large):
            text = f"a block of {int(sizes[large[0]]):,} bytes"
            raise above_limit("frame_bytes", text, self._limits, int(offsets[large[0]]))


def _groups(ends: Int64s, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) of groups of at most ``max_bytes``, or of one larger item.

    ``ends`` are the cumulative sizes, which ascend from 0.
    """
    first, decoded_size = 0, 0
    while first < len(ends):
        end = max(int(np.searchsorted(ends, decoded_size + max_bytes, "right")), first + 1)
        yield first, end
        first, decoded_size = end, int(ends[end - 1])


def _unpack(data: bytes, blocks: _Packed) -> RawBlocks:
    """Return the blocks decompressed. FrameError: one is corrupt."""
    if not blocks.kind.any():
        return RawBlocks(data, blocks.start, blocks.length, blocks.place)
    output = bytearray(int(blocks.size.sum()))
    targets = np.cumsum(blocks.size) - blocks.size
    is_lz4 = np.isin(blocks.kind, LZ4)
    lz4 = np.flatnonzero(is_lz4)
    arrays = (blocks.start[lz4], blocks.length[lz4])
    done = kernel().lz4_blocks(data, *arrays, output, targets[lz4], blocks.size[lz4])
    if done < len(lz4):
        raise FrameError("LZ4 block: it is corrupt", offset=int(blocks.place[lz4[done]]))
    for number in np.flatnonzero(~is_lz4).tolist():
        kind, size = int(blocks.kind[number]), int(blocks.size[number])
        start, target = int(blocks.start[number]), int(targets[number])
        content = data[start : start + int(blocks.length[number])]
        if kind != NONE:
            content = decompress(kind, content, size, int(blocks.place[number]))
        output[target : target + size] = content
    return RawBlocks(output, targets, blocks.size, blocks.place)


# --- what blocks hold ---------------------------------------------------------------------------

NONE = 0  # type of a block that is not compressed
LZ4 = (4, 5)  # types of LZ4 blocks
_SNAPPY = 1  # type of a Snappy block
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # first bytes of a Zstandard frame
_ZSTD_KNOWN = 0xC0  # bits of a frame's descriptor that show that its size is recorded
_ZSTD_SINGLE = 0x20  # bit of a frame of a single segment, whose size is recorded


def raw_sizes(
    octets: npt.NDArray[np.uint8], start: Int64s, end: Int64s, kind: Int64s, base: int
) -> tuple[Int64s, Int64s]:
    """Return the decompressed bytes of blocks, and the bytes before what is compressed.

    ``octets`` is a piece of the file at ``base``, ``start`` and ``end`` are the blocks in it.
    RecordError: a compressed block has no size of 32 bits.
    """
    size, skipped = end - start, np.zeros(len(start), np.int64)
    left = np.flatnonzero(kind != NONE)
    size[left] = 0
    for number in range(5):  # bytes of a varint of 32 bits
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
    """Return a block decompressed to ``size`` bytes, which must be within limits.

    FrameError: it is corrupt or has another size. DecodeError: ``kind`` is an unknown compression.
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
    """Return a Deflate block, decompressed; at most one byte more than ``size``."""
    # One byte more than it should have: so one that has more is noticed, and none more is made.
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, size + 1)


def _snappy(block: bytes, size: int) -> bytes:
    """Return a Snappy block, decompressed. ValueError: it records another size."""
    # pyarrow does not hold the two sizes against each other.
    if footer.Varints(block, 0).next("size") != size:
        raise ValueError("it says another size")
    return bytes(_codec("snappy").decompress(block, size, asbytes=True))


def _zstd(block: bytes, size: int) -> bytes:
    """Return a Zstandard block, decompressed; at most one byte more than ``size``."""
    if _content_size(block) == size:
        return bytes(_codec("zstd").decompress(block, size, asbytes=True))
    return bytes(pa.CompressedInputStream(pa.BufferReader(block), "zstd").read(size + 1))


def _content_size(frame: bytes) -> int:
    """Return the size in the header of a Zstandard frame; -1 if it has none."""
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
    """Return pyarrow's codec of a name."""
    return pa.Codec(name)


# Name and function of each compression, by type.
_FUNCTIONS: Mapping[int, tuple[str, Callable[[bytes, int], bytes]]] = {
    1: ("Snappy", _snappy),
    2: ("zlib", _deflate),
    3: ("bzip2", lambda block, size: bz2.BZ2Decompressor().decompress(block, size + 1)),
    7: ("Zstandard", _zstd),
}
