"""The layout of snappy-java's stream, byte by byte."""

from __future__ import annotations

import struct

import pytest

from inspector.decode.frames import inflate
from inspector.encode.frames import compress_blocks
from inspector.exceptions import FrameError, LimitError, TruncatedError
from inspector.model import Limits
from tests import encode
from tests.decode.spans import assert_prefixes_refused

HEADER = bytes.fromhex("82534e41505059000000000100000001")
BLOCK = bytes.fromhex("00000006040cffffffff")


def read(data: bytes, limits: Limits | None = None) -> bytes:
    return b"".join(inflate([data], "snappy", limits or Limits()))


def test_reads_snappy_header_and_blocks() -> None:
    assert read(HEADER) == b""
    assert read(HEADER + BLOCK + BLOCK) == b"\xff" * 8


def test_repeated_snappy_header_is_read() -> None:
    assert read(HEADER + BLOCK + HEADER + HEADER + BLOCK) == b"\xff" * 8


@pytest.mark.parametrize(("version", "compatible"), [(1, 1), (2, 1)])
def test_snappy_stream_versions(version: int, compatible: int) -> None:
    data = HEADER[:8] + struct.pack(">ii", version, compatible) + BLOCK
    assert read(data) == b"\xff" * 4


@pytest.mark.parametrize(("version", "compatible"), [(0, 0), (2, 2)])
def test_other_snappy_stream_versions_are_refused(version: int, compatible: int) -> None:
    data = HEADER[:8] + struct.pack(">ii", version, compatible) + BLOCK
    with pytest.raises(FrameError, match=f"byte 8: Snappy stream of version {version}"):
        read(data)


@pytest.mark.parametrize("length", [0, -1, -(1 << 31)])
def test_impossible_snappy_block_lengths_are_refused(length: int) -> None:
    with pytest.raises(FrameError, match=f"byte 16: Snappy block of {length} bytes"):
        read(HEADER + struct.pack(">i", length))


def test_snappy_block_of_the_largest_size_is_read() -> None:
    stream = b"".join(compress_blocks([b"x" * 1000], "snappy"))
    assert read(stream, Limits(frame_bytes=1000)) == b"x" * 1000


def test_forged_snappy_sizes_are_refused() -> None:
    limits = Limits(frame_bytes=1000)
    with pytest.raises(LimitError, match="Snappy block of 2147483647 bytes, limit 1000"):
        read(HEADER + struct.pack(">i", (1 << 31) - 1), limits)
    holds = b"\xff\xff\xff\xff\x0f\x00"
    with pytest.raises(LimitError, match="that holds 4294967295 bytes, limit 1000"):
        read(HEADER + struct.pack(">i", len(holds)) + holds, limits)


@pytest.mark.parametrize(
    "block", [b"\xff" * 5, b"\x80", b"\x04\x0c\xff", b"\x05\x0c\xff\xff\xff\xff"]
)
def test_corrupt_snappy_blocks_are_refused(block: bytes) -> None:
    with pytest.raises(FrameError, match="byte 16: Snappy block"):
        read(HEADER + struct.pack(">i", len(block)) + block)


def test_cut_snappy_blocks_raise_truncated_error() -> None:
    assert_prefixes_refused(read, HEADER, TruncatedError, 1)
    assert_prefixes_refused(read, HEADER + BLOCK, TruncatedError, len(HEADER) + 1)


def test_missing_snappy_header_is_refused() -> None:
    with pytest.raises(FrameError, match=r"byte 0: got .* expected a Snappy stream"):
        read(BLOCK)
    with pytest.raises(FrameError, match=r"byte 30: got .* expected a Snappy stream"):
        read(HEADER + BLOCK + HEADER[:4] + b"WRONG")


def test_reads_several_snappy_blocks() -> None:
    raw = bytes(range(256)) * 1000
    assert read(encode.snappy(raw)) == raw
