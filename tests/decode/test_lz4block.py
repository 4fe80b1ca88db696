"""The layout of lz4-java's block stream, byte by byte."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from itertools import product
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode import lz4block
from inspector.decode._source import RawCodec
from inspector.decode.frames import inflate
from inspector.exceptions import DecodeError, FrameError, LimitError, TruncatedError
from inspector.kernel.loader import ENVIRONMENT, load
from inspector.model import Limits
from tests import encode
from tests.decode.spans import damaged, flip, pieces

RAW = b"state " * 50
BLOCK = encode.lz4_block(RAW, 5)
STORED = encode.lz4_block(b"\xff\xff\xff\xff", 5)
ENDED = encode.lz4_header(0x15, 0, 0, 0)


def read(data: bytes, limits: Limits | None = None) -> bytes:
    return b"".join(inflate([data], "lz4", limits or Limits()))


def test_reads_compressed_and_stored_lz4_blocks() -> None:
    assert BLOCK[8] == 0x25
    assert STORED[8] == 0x15
    assert read(BLOCK + STORED + ENDED) == RAW + b"\xff\xff\xff\xff"


@pytest.mark.parametrize("size", [64, 1 << 10, 32 << 10, 1 << 20])
def test_block_sizes_that_spark_allows(size: int) -> None:
    raw = bytes(range(256)) * 512
    assert read(encode.lz4(raw, size)) == raw


def test_empty_lz4_stream_is_only_an_end_mark() -> None:
    assert read(ENDED) == b""


def test_missing_end_mark_raises_truncated_error() -> None:
    with pytest.raises(TruncatedError, match=f"byte {len(BLOCK)}: the LZ4 stream has no end mark"):
        read(BLOCK)
    with pytest.raises(TruncatedError, match="has no end mark"):
        read(ENDED + BLOCK)


@pytest.mark.parametrize("garbage", [b"\x00", b"LZ4Blokk", b"0" * 30])
def test_bytes_after_the_end_mark_are_refused(garbage: bytes) -> None:
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


def test_block_shorter_than_its_header_claims() -> None:
    """Pyarrow leaves the rest of the buffer unchanged. The checksum then differs."""
    payload = BLOCK[21:]
    header = encode.lz4_header(0x25, len(payload), len(RAW) + 500, 0x1234567)
    with pytest.raises(FrameError, match="checksum"):
        read(header + payload + ENDED)


@pytest.mark.parametrize("size", [1 << 20, (1 << 25) - 1])
def test_forged_lz4_block_size_is_refused(size: int) -> None:
    header = encode.lz4_header(0x2F, 4, size, 0)
    with pytest.raises(LimitError, match=f"LZ4 block of {size} bytes, limit 1000"):
        read(header + b"abcd", Limits(frame_bytes=1000))
    with pytest.raises(LimitError):
        read(encode.lz4_header(0x2F, size, 4, 0), Limits(frame_bytes=1000))


def test_cut_lz4_block_raises_truncated_error() -> None:
    with pytest.raises(TruncatedError, match=r"byte 21: LZ4 block: got 3 bytes, expected \d+"):
        read(BLOCK[:24])


@pytest.mark.parametrize("size", [1, 8, 20])
def test_cut_lz4_header_raises_truncated_error(size: int) -> None:
    with pytest.raises(TruncatedError, match="an LZ4 block is cut short") as caught:
        read(BLOCK + BLOCK[:size])
    assert caught.value.offset == len(BLOCK)


def test_every_flipped_bit_raises_or_changes_nothing() -> None:
    """A higher level and the method of the end mark change nothing."""
    data = BLOCK + STORED + ENDED
    expected = read(data)
    for at, bit in product(range(len(data)), range(8)):
        with suppress(DecodeError):
            assert read(flip(data, at, 1 << bit)) == expected


# --- many blocks at once, by the compiled kernel ----------------------

COMPILED = pytest.mark.skipif(
    os.environ.get(ENVIRONMENT) == "python", reason="only the Python kernel was asked for"
)


def outcome(data: bytes, *, compiled: bool, cut: int = 1 << 20) -> tuple[bytes, str, int | None]:
    """Return the raw bytes up to the end or an error, the message of the error, and its offset."""
    raw = bytearray()
    with ExitStack() as stack:
        if not compiled:
            stack.enter_context(mock.patch.object(lz4block, "_kernel_blocks", return_value=None))
        try:
            for part in inflate(pieces(data, cut), "lz4"):
                raw += part
        except DecodeError as error:
            return bytes(raw), str(error), error.offset
    return bytes(raw), "", None


_CONTENT = st.one_of(
    st.binary(max_size=3000),
    st.builds(
        lambda unit, times: unit * times, st.binary(min_size=1, max_size=40), st.integers(1, 400)
    ),
    st.lists(st.sampled_from([b"user-1", b"user-22", b"\0" * 8, b"window", b"x"])).map(b"".join),
)


@COMPILED
@given(_CONTENT, st.sampled_from([64, 1000, 32 << 10]), st.integers(1, 4000), st.data())
def test_compiled_kernel_inflates_like_the_codec(
    raw: bytes, size: int, cut: int, data: st.DataObject
) -> None:
    """A damaged stream gives the same bytes and the same error."""
    stream = encode.lz4(raw, size)
    assert outcome(stream, compiled=True, cut=cut) == (raw, "", None)
    broken = damaged(stream, data)[: data.draw(st.integers(0, len(stream)))]
    assert outcome(broken, compiled=True) == outcome(broken, compiled=False)


def forged(payload: bytes, raw: bytes) -> bytes:
    """Return a stream of one block with any payload and the checksum of ``raw``."""
    checksum = encode.lz4_block(raw, 5)[17:21]
    header = encode.lz4_header(0x25, len(payload), len(raw), int.from_bytes(checksum, "little"))
    return header + payload + ENDED


@COMPILED
@given(st.binary(min_size=1, max_size=80), st.integers(1, 200))
def test_compiled_kernel_reads_any_payload_like_the_codec(payload: bytes, size: int) -> None:
    """The kernel leaves wrong blocks and too short blocks to the codec."""
    try:
        raw = RawCodec("lz4_raw", "LZ4").block(memoryview(payload), size, 0)
    except FrameError:
        raw = None
    blocks = lz4block._kernel_blocks()
    assert blocks is not None
    data = forged(payload, bytes(size) if raw is None else raw)
    result, packed = blocks(memoryview(data), 0, 1 << 20, 1 << 20)
    assert result == (raw if packed else b"")


@COMPILED
def test_kernel_stops_at_limits_and_wrong_blocks() -> None:
    blocks = lz4block._kernel_blocks()
    assert blocks is not None
    data = BLOCK + STORED + ENDED + BLOCK
    assert blocks(memoryview(data), 0, 1 << 20, 1 << 20) == (
        RAW + b"\xff" * 4,
        len(BLOCK + STORED),
    )
    assert blocks(memoryview(data), 0, 1 << 20, 1) == (RAW, len(BLOCK)), "one at least"
    assert blocks(memoryview(data), 0, len(RAW) - 1, 1 << 20) == (b"", 0), "none above the limit"
    assert blocks(memoryview(data), len(BLOCK + STORED), 1 << 20, 1 << 20) == (b"", 0)
    broken = BLOCK + STORED[:-1] + b"\0" + ENDED
    assert blocks(memoryview(broken), 0, 1 << 20, 1 << 20) == (RAW, len(BLOCK))
    with pytest.raises(ValueError, match="start lies outside"):
        load("c").lz4_stream(b"", 1, 1, 1)  # type: ignore[attr-defined]


@COMPILED
@pytest.mark.parametrize("size", [1, 15, 16, 33, 4096])
@pytest.mark.parametrize("bad", range(10))
def test_kernel_stops_at_the_first_wrong_checksum(size: int, bad: int) -> None:
    """The kernel verifies several blocks at once and stops at the first wrong one."""
    blocks = lz4block._kernel_blocks()
    assert blocks is not None
    raw = [bytes([number]) * size for number in range(10)]
    data = b"".join(encode.lz4_block(item, 5) for item in raw)
    assert blocks(memoryview(data), 0, 1 << 20, 1 << 20) == (b"".join(raw), len(data))
    start = bad * len(data) // 10
    result = blocks(memoryview(flip(data, start + 17, 1)), 0, 1 << 20, 1 << 20)
    assert result == (b"".join(raw[:bad]), start)
