"""The blocks of a table by their handles: checked, decompressed, many at a time.

Behind each block lie 5 bytes: the type of its compression and its checksum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.sst.compression import LZ4, NONE, decompress, raw_sizes
from inspector.decode.sst.footer import (
    NO_CHECKSUM,
    TRAILER,
    Footer,
    Handle,
    Handles,
    Source,
    checksum,
    context,
    read_exactly,
)
from inspector.exceptions import FrameError, LimitError, RecordError
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.model import Limits, above_limit

_SUM = np.arange(1, TRAILER)  # behind the byte of the type
_BYTES = 1 << 8 * np.arange(TRAILER - 1)
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class RawBlocks:
    """Some consecutive blocks, decompressed."""

    buffer: bytes | bytearray
    offset: Int64s
    length: Int64s
    place: Int64s  # where each lies in the file, for messages


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    kind: Int64s  # type of the compression of each
    start: Int64s  # where in the piece what is compressed begins
    length: Int64s
    size: Int64s  # what it holds
    place: Int64s

    def rows(self, start: int, end: int) -> _Packed:
        item = (self.kind, self.start, self.length, self.size, self.place)
        return _Packed(*(column[start:end] for column in item))


class Blocks:
    """Reads the blocks of one file, none larger than ``frame_bytes`` packed or decompressed."""

    def __init__(self, source: Source, footer: Footer, limits: Limits) -> None:
        self._source, self._footer, self._limits = source, footer, limits

    @property
    def most(self) -> int:
        """How many blocks a file of this size can have."""
        return self._source.size // TRAILER

    def read(self, handle: Handle, noun: str, most_bytes: int | None = None) -> bytes:
        """One block, of at most ``most_bytes``, as ``noun`` in messages (DecodeError, OSError)."""
        for blocks in self.stretch(iter((Handles.of(handle),)), 1, 1, noun):
            length = int(blocks.length[0])
            if most_bytes is not None and length > most_bytes:
                message = f"{noun} of {length:,} bytes, at most {most_bytes:,} are read"
                raise LimitError(message, offset=handle.offset)
            return bytes(blocks.buffer[:length])
        raise AssertionError("a handle is a block")

    def read_opening(self, handle: Handle, noun: str, most_bytes: int | None = None) -> bytes:
        """One block without which RocksDB does not open the table (``BlockBasedTable::Open``)."""
        # A corrupt one is a RecordError: a block of rows is a FrameError.
        try:
            return self.read(handle, noun, most_bytes)
        except FrameError as error:
            raise RecordError(f"{noun}: {error.message}", offset=error.offset) from None

    def stretch(
        self,
        handles: Iterator[Handles],  # ascending, without overlap
        piece_bytes: int,  # bytes of the file that are read at once, but for a block that has more
        raw_bytes: int,  # decompressed bytes that are held at once, but for a block that has more
        noun: str = "data blocks",  # they are, for messages
    ) -> Iterator[RawBlocks]:
        """Blocks one behind the other, decompressed many at a time (DecodeError, OSError)."""
        for handle in handles:
            for piece in self._pieces(handle, piece_bytes):
                start = int(piece.offset[0])
                length = int(piece.offset[-1] + piece.size[-1]) + TRAILER - start
                data = read_exactly(self._source, start, length, noun)
                packed = self._pack(data, piece, start)
                for first, end in _groups(np.cumsum(packed.size), raw_bytes):
                    yield _unpack(data, packed.rows(first, end))

    def _pieces(self, handles: Handles, most: int) -> Iterator[Handles]:
        self._check_sizes(handles.size, handles.offset)
        ends = handles.offset + handles.size + TRAILER
        # A gap between blocks (aligned ones have some) counts as read.
        for first, end in _groups(ends - (handles.offset[0] if len(ends) else 0), most):
            yield handles.part(first, end)

    def _pack(self, data: bytes, handles: Handles, start: int) -> _Packed:
        octets = np.frombuffer(data, np.uint8)
        at = handles.offset - start
        end = at + handles.size
        kind = octets[end].astype(np.int64)
        trailers = octets[end[:, None] + _SUM].astype(np.int64)
        summed, base, view = self._footer.checksum_type, self._footer.base, memoryview(data)
        pairs = zip(at.tolist(), end.tolist(), (trailers @ _BYTES).tolist(), strict=True)
        for first, last, expected in pairs if summed != NO_CHECKSUM else ():
            result = checksum(summed, view[first:last], data[last])
            if (result + context(base, start + first)) & _MASK != expected:
                raise FrameError("a block does not match its checksum", offset=start + first)
        size, skipped = raw_sizes(octets, at, end, kind, start)
        self._check_sizes(size, handles.offset)
        return _Packed(kind, at + skipped, handles.size - skipped, size, handles.offset)

    def _check_sizes(self, sizes: Int64s, offsets: Int64s) -> None:
        large = np.flatnonzero(sizes > self._limits.frame_bytes)
        if len(large):
            text = f"a block of {int(sizes[large[0]]):,} bytes"
            raise above_limit("frame_bytes", text, self._limits, int(offsets[large[0]]))


def _groups(ends: Int64s, most: int) -> Iterator[tuple[int, int]]:
    """Neighbours of at most so many bytes, or one that has more; ``ends`` ascend from 0."""
    first, before = 0, 0
    while first < len(ends):
        end = max(int(np.searchsorted(ends, before + most, "right")), first + 1)
        yield first, end
        first, before = end, int(ends[end - 1])


def _unpack(data: bytes, blocks: _Packed) -> RawBlocks:
    if not blocks.kind.any():
        return RawBlocks(data, blocks.start, blocks.length, blocks.place)
    out = bytearray(int(blocks.size.sum()))
    into = np.cumsum(blocks.size) - blocks.size
    is_lz4 = np.isin(blocks.kind, LZ4)
    lz4 = np.flatnonzero(is_lz4)
    arrays = (blocks.start[lz4], blocks.length[lz4])
    done = kernel().lz4_blocks(data, *arrays, out, into[lz4], blocks.size[lz4])
    if done < len(lz4):
        raise FrameError("LZ4 block: it is corrupt", offset=int(blocks.place[lz4[done]]))
    for number in np.flatnonzero(~is_lz4).tolist():
        kind, size = int(blocks.kind[number]), int(blocks.size[number])
        start, at = int(blocks.start[number]), int(into[number])
        content = data[start : start + int(blocks.length[number])]
        if kind != NONE:
            content = decompress(kind, content, size, int(blocks.place[number]))
        out[at : at + size] = content
    return RawBlocks(out, into, blocks.size, blocks.place)
