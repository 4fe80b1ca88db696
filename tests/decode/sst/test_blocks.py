"""Blocks by their handles: in pieces of any size, damaged, above the limits."""

from __future__ import annotations

import numpy as np
import pytest

from inspector.decode.sst.blocks import Blocks
from inspector.decode.sst.footer import Footer, Handle
from inspector.decode.sst.handles import Handles
from inspector.exceptions import FrameError, LimitError, TruncatedError
from inspector.model import LIMITS, Limits
from tests.decode.sst.tables import BytesSource, Writer, varint

FOOTER = Footer(5, 4, 0, Handle(0, 0), None)
PARTS = [b"first", b"", b"third block", b"x" * 300]


def written() -> tuple[bytes, Handles]:
    """Blocks one behind the other; the second and third one as LZ4."""
    writer, offsets, sizes = Writer(), [], []
    for number, part in enumerate(PARTS):
        packed = number in (1, 2)
        block = varint(len(part)) + bytes((len(part) << 4,)) + part if packed else part
        offsets.append(len(writer.data))
        sizes.append(len(block))
        writer.add(block, 4 if packed else 0)
    return bytes(writer.data), Handles(np.array(offsets, np.int64), np.array(sizes, np.int64))


def read(
    data: bytes, handles: Handles, piece: int, raw: int, limits: Limits = LIMITS
) -> list[bytes]:
    result = []
    for item in Blocks(BytesSource(data), FOOTER, limits).stretch(iter((handles,)), piece, raw):
        for at, size in zip(item.offset.tolist(), item.length.tolist(), strict=True):
            result.append(bytes(item.buffer[at : at + size]))
    return result


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
    for item in range(len(data)):
        damaged = bytearray(data)
        damaged[item] ^= 0x40
        with pytest.raises(FrameError, match="does not match its checksum") as caught:
            read(bytes(damaged), handles, 10_000, 10_000)
        assert caught.value.offset == max(at for at in handles.offset.tolist() if at <= item)


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
