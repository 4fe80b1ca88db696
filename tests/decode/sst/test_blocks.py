"""Blocks by their handles: in pieces of any size, damaged, above the limits."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from inspector.decode.sst.blocks import Blocks
from inspector.decode.sst.footer import Footer, Handle
from inspector.decode.sst.handles import Handles
from inspector.exceptions import FrameError, LimitError, TruncatedError
from inspector.model import LIMITS, Limits
from tests.decode.spans import flip, parts_of, spans_of
from tests.decode.sst.tables import BytesSource, Writer, varint

FOOTER = Footer(5, 4, 0, Handle(0, 0), None)
PARTS = [b"first", b"", b"third block", b"x" * 300]


def written() -> tuple[bytes, Handles]:
    """Return blocks of a file and their handles. The second and third block are LZ4."""
    writer = Writer()
    blocks = [PARTS[0], literal_lz4(PARTS[1]), literal_lz4(PARTS[2]), PARTS[3]]
    writer.add(blocks[0])
    writer.add(blocks[1], 4)
    writer.add(blocks[2], 4)
    writer.add(blocks[3])
    _, offsets, sizes = spans_of(blocks)
    return bytes(writer.data), Handles(offsets + 5 * np.arange(4), sizes)


def literal_lz4(part: bytes) -> bytes:
    """Return a short block as LZ4 of one literal, after its size."""
    return varint(len(part)) + bytes((len(part) << 4,)) + part


def read(
    data: bytes, handles: Handles, piece: int, raw: int, limits: Limits = LIMITS
) -> list[bytes]:
    stretch = Blocks(BytesSource(data), FOOTER, limits).stretch(iter((handles,)), piece, raw)
    return list(chain(*(parts_of(item.buffer, item.offset, item.length) for item in stretch)))


@pytest.mark.parametrize("piece", [1, 20, 60, 10_000])
@pytest.mark.parametrize("raw", [1, 16, 10_000])
def test_blocks_are_read_in_pieces_of_any_size(piece: int, raw: int) -> None:
    data, handles = written()
    assert read(data, handles, piece, raw) == PARTS


def test_single_block_is_read() -> None:
    data, handles = written()
    blocks = Blocks(BytesSource(data), FOOTER, LIMITS)
    item = zip(handles.offset.tolist(), handles.size.tolist(), strict=True)
    assert [blocks.read(Handle(*pair), "block") for pair in item] == PARTS


def test_changed_byte_of_a_block_fails_its_checksum() -> None:
    data, handles = written()
    for at in range(len(data)):
        with pytest.raises(FrameError, match="does not match its checksum") as caught:
            read(flip(data, at, 0x40), handles, 10_000, 10_000)
        block = np.searchsorted(handles.offset, at, "right") - 1
        assert caught.value.offset == handles.offset[block]


def test_block_outside_of_the_file_is_refused() -> None:
    data, handles = written()
    with pytest.raises(TruncatedError, match="data blocks of"):
        read(data[:-1], handles, 10_000, 10_000)
    with pytest.raises(TruncatedError, match="index of 6 bytes"):
        Blocks(BytesSource(b""), FOOTER, LIMITS).read(Handle(0, 1), "index")


def test_block_above_the_limit_is_refused_packed_and_unpacked() -> None:
    data, handles = written()
    assert read(data, handles, 1, 1, Limits(frame_bytes=300))
    with pytest.raises(LimitError, match="a block of 300 bytes"):
        read(data, handles, 1, 1, Limits(frame_bytes=299))
    writer = Writer()
    writer.add(varint(5000) + b"\0", 4)
    item = Handles(np.array([0]), np.array([3]))
    with pytest.raises(LimitError, match="a block of 5,000 bytes"):
        read(bytes(writer.data), item, 1, 1, Limits(frame_bytes=4999))
    with pytest.raises(FrameError, match="LZ4 block"):
        read(bytes(writer.data), item, 1, 1)
