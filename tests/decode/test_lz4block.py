"""The layout of lz4-java's block stream, byte by byte."""

from __future__ import annotations

import pytest

from inspector.decode.frames import inflate
from inspector.exceptions import DecodeError, FrameError, LimitError, TruncatedError
from inspector.model import Limits
from tests import encode

RAW = b"state " * 50
BLOCK = encode.lz4_block(RAW, 5)
STORED = encode.lz4_block(b"\xff\xff\xff\xff", 5)
ENDED = encode.lz4_header(0x15, 0, 0, 0)


def read(data: bytes, limits: Limits | None = None) -> bytes:
    return b"".join(inflate([data], "lz4", limits or Limits()))


def test_blocks_and_end_mark() -> None:
    assert BLOCK[8] == 0x25
    assert STORED[8] == 0x15
    assert read(BLOCK + STORED + ENDED) == RAW + b"\xff\xff\xff\xff"


@pytest.mark.parametrize("size", [64, 1 << 10, 32 << 10, 1 << 20])
def test_block_sizes_that_spark_allows(size: int) -> None:
    raw = bytes(range(256)) * 512
    assert read(encode.lz4(raw, size)) == raw


def test_a_stream_of_nothing_is_an_end_mark() -> None:
    assert read(ENDED) == b""


def test_the_end_mark_must_be_there() -> None:
    with pytest.raises(TruncatedError, match=f"byte {len(BLOCK)}: the LZ4 stream has no end mark"):
        read(BLOCK)
    with pytest.raises(TruncatedError, match="has no end mark"):
        read(ENDED + BLOCK)


@pytest.mark.parametrize("garbage", [b"\x00", b"LZ4Blokk", b"0" * 30])
def test_garbage_behind_the_end_mark(garbage: bytes) -> None:
    with pytest.raises(FrameError, match="expected an LZ4 block") as caught:
        read(BLOCK + ENDED + garbage)
    assert caught.value.offset == len(BLOCK + ENDED)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ((0x35, 4, 4, 0), "unknown method 0x30"),
        ((0x05, 4, 4, 0), "unknown method 0x00"),
        ((0x20, 4, 1025, 0), "1025 bytes, its level has 1024"),
        ((0x25, 4, -1, 0), "-1 bytes, its level"),
        ((0x25, -1, 4, 0), "-1 bytes that hold 4"),
        ((0x25, 0, 4, 0), "0 bytes that hold 4"),
        ((0x25, 4, 0, 0), "4 bytes that hold 0"),
        ((0x15, 0, 0, 1), "0 bytes that hold 0"),
        ((0x15, 4, 5, 0), "stored LZ4 block of 4 bytes for 5"),
        ((0x25, 4, 300, 0), "LZ4 block: "),
        ((0x15, 4, 4, 0), "does not match its checksum"),
    ],
)
def test_headers_that_lz4_java_refuses(header: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(FrameError, match=message) as caught:
        read(BLOCK + encode.lz4_header(*header) + b"abcd" + ENDED)
    assert caught.value.offset == len(BLOCK)


def test_a_block_that_holds_less_than_it_claims() -> None:
    """What pyarrow leaves out of the buffer stays as it was; the checksum notices."""
    payload = BLOCK[21:]
    header = encode.lz4_header(0x25, len(payload), len(RAW) + 500, 0x1234567)
    with pytest.raises(FrameError, match="checksum"):
        read(header + payload + ENDED)


@pytest.mark.parametrize("size", [1 << 20, (1 << 25) - 1])
def test_a_forged_size_is_refused_before_it_is_used(size: int) -> None:
    header = encode.lz4_header(0x2F, 4, size, 0)
    with pytest.raises(LimitError, match=f"LZ4 block of {size} bytes, limit 1000"):
        read(header + b"abcd", Limits(frame_bytes=1000))
    with pytest.raises(LimitError):
        read(encode.lz4_header(0x2F, size, 4, 0), Limits(frame_bytes=1000))


def test_a_block_that_is_cut() -> None:
    with pytest.raises(TruncatedError, match=r"byte 21: LZ4 block: got 3 bytes, expected \d+"):
        read(BLOCK[:24])


@pytest.mark.parametrize("size", [1, 8, 20])
def test_a_header_that_is_cut(size: int) -> None:
    with pytest.raises(TruncatedError, match="an LZ4 block is cut short") as caught:
        read(BLOCK + BLOCK[:size])
    assert caught.value.offset == len(BLOCK)


def test_every_flipped_bit_is_noticed_or_harmless() -> None:
    """Harmless: a higher level, and the method of the end mark."""
    data = BLOCK + STORED + ENDED
    expected = read(data)
    for at in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            try:
                assert read(bytes(damaged)) == expected
            except DecodeError:
                continue
