"""The blocks of a table by their handles: checked, decompressed, many at a time.

Behind each block lie 5 bytes: the type of its compression and its checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.sst.checksums import NO_CHECKSUM, checksum, context
from inspector.decode.sst.compression import LZ4, NONE, decompress, raw_size
from inspector.decode.sst.footer import TRAILER, Footer, Handle
from inspector.decode.sst.source import Source, read_exactly
from inspector.exceptions import FrameError
from inspector.kernel.loader import kernel
from inspector.model import Limits, above_limit

_TRAILER = struct.Struct("<BI")
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class RawBlocks:
    """Some consecutive blocks, decompressed.

    Attributes:
        buffer: what the offsets count from.
        offset: where each block starts.
        length: its bytes.
        place: where each lies in the file, for messages.
    """

    buffer: bytes | bytearray
    offset: Int64s
    length: Int64s
    place: Int64s


@dataclass(slots=True)
class _Packed:
    """A block as it lies in a piece of the file: the type, where its payload is, what it holds."""

    kind: int
    start: int
    length: int
    size: int
    place: int


class Blocks:
    """Reads the blocks of one file.

    Args:
        source: the file.
        footer: of it.
        limits: ``frame_bytes`` bounds a block before and after decompression.
    """

    def __init__(self, source: Source, footer: Footer, limits: Limits) -> None:
        self._source, self._footer, self._limits = source, footer, limits

    def read(self, handle: Handle, what: str) -> bytes:
        """One block.

        Raises:
            DecodeError: it lies outside of the file, is corrupt or too large.
            OSError: it cannot be read.
        """
        self._check_size(handle.size, handle.offset)
        data = read_exactly(self._source, handle.offset, handle.size + TRAILER, what)
        packed = self._packed(memoryview(data), 0, handle.size, handle.offset)
        block = data[packed.start : packed.start + packed.length]
        if packed.kind == NONE:
            return block
        return decompress(packed.kind, block, packed.size, packed.place)

    def stretch(
        self, handles: Iterator[Handle], piece_bytes: int, raw_bytes: int
    ) -> Iterator[RawBlocks]:
        """Blocks that lie one behind the other, read and decompressed many at a time.

        Args:
            handles: ascending, without overlap.
            piece_bytes: bytes of the file that are read at once, but for a block that has more.
            raw_bytes: decompressed bytes that are held at once, but for a block that has more.

        Raises:
            DecodeError: a block lies outside of the file, is corrupt or too large.
            OSError: it cannot be read.
        """
        for piece in self._pieces(handles, piece_bytes):
            start = piece[0].offset
            length = piece[-1].offset + piece[-1].size + TRAILER - start
            data = read_exactly(self._source, start, length, "data blocks")
            view = memoryview(data)
            few: list[_Packed] = []
            total = 0
            for handle in piece:
                packed = self._packed(view, handle.offset - start, handle.size, handle.offset)
                if few and total + packed.size > raw_bytes:
                    yield _unpacked(data, few, total)
                    few, total = [], 0
                few.append(packed)
                total += packed.size
            yield _unpacked(data, few, total)

    def _pieces(self, handles: Iterator[Handle], most: int) -> Iterator[list[Handle]]:
        piece: list[Handle] = []
        for handle in handles:
            self._check_size(handle.size, handle.offset)
            if piece and handle.offset + handle.size + TRAILER - piece[0].offset > most:
                yield piece
                piece = []
            piece.append(handle)
        if piece:
            yield piece

    def _packed(self, view: memoryview, start: int, size: int, place: int) -> _Packed:
        """A block in a piece of the file, verified."""
        block = view[start : start + size]
        kind, stored = _TRAILER.unpack_from(view, start + size)
        footer = self._footer
        if footer.checksum_type != NO_CHECKSUM:
            found = checksum(footer.checksum_type, block, kind) + context(footer.base, place)
            if found & _MASK != stored:
                raise FrameError("a block does not match its checksum", offset=place)
        if kind == NONE:
            return _Packed(kind, start, size, size, place)
        raw, skipped = raw_size(kind, bytes(block[:10]), place)
        self._check_size(raw, place)
        return _Packed(kind, start + skipped, size - skipped, raw, place)

    def _check_size(self, size: int, place: int) -> None:
        if size > self._limits.frame_bytes:
            what = f"a block of {size:,} bytes"
            raise above_limit("frame_bytes", what, self._limits, place)


def _unpacked(data: bytes, blocks: list[_Packed], total: int) -> RawBlocks:
    """Blocks of a piece of the file, decompressed into one buffer."""
    numbers = [(block.start, block.length, block.size, block.place) for block in blocks]
    start, length, size, place = np.array(numbers, np.int64).T.copy()
    kinds = {block.kind for block in blocks}
    if kinds == {NONE}:
        return RawBlocks(data, start, length, place)
    out = bytearray(total)
    into = np.cumsum(size) - size
    lz4 = np.array([number for number, b in enumerate(blocks) if b.kind in LZ4], np.int64)
    done = kernel().lz4_blocks(data, start[lz4], length[lz4], out, into[lz4], size[lz4])
    if done < len(lz4):
        raise FrameError("LZ4 block: it is corrupt", offset=int(place[lz4[done]]))
    if not kinds <= set(LZ4):
        for block, at in zip(blocks, into.tolist(), strict=True):
            _put(data, block, out, at)
    return RawBlocks(out, into, size, place)


def _put(data: bytes, block: _Packed, out: bytearray, at: int) -> None:
    """Decompress a block that is not of LZ4 into its place."""
    if block.kind not in LZ4:
        content = data[block.start : block.start + block.length]
        if block.kind != NONE:
            content = decompress(block.kind, content, block.size, block.place)
        out[at : at + block.size] = content
