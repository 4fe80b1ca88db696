"""The layout of compress-lzf's chunks, and LZF data."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.frames import inflate
from inspector.decode.lzf import decompress
from inspector.exceptions import FrameError, TruncatedError
from tests import encode
from tests.decode.spans import assert_prefixes_refused


def read(data: bytes) -> bytes:
    return b"".join(inflate([data], "lzf"))


def test_reads_stored_and_compressed_lzf_chunks() -> None:
    stored = bytes.fromhex("5a56000004ffffffff")
    data = b"\x00a\xe0\x03\x00"  # "a", then 12 bytes from one back
    compressed = b"ZV\x01" + struct.pack(">HH", len(data), 13) + data
    assert read(stored + compressed + stored) == b"\xff" * 4 + b"a" * 13 + b"\xff" * 4


@pytest.mark.parametrize(
    ("data", "raw"),
    [
        (b"", b""),
        (b"\x02abc", b"abc"),
        (b"\x02abc\x20\x02", b"abcabc"),
        (b"\x02abc\xc0\x01", b"abc" + b"bcbcbcbc"),
        (b"\x01ab\xe0\xff\x01", b"ab" * 133),
    ],
)
def test_lzf_literals_and_back_references(data: bytes, raw: bytes) -> None:
    assert decompress(data, len(raw)) == raw


@pytest.mark.parametrize(
    ("data", "size", "message"),
    [
        (b"\x02ab", 3, "literal bytes are missing"),
        (b"\x00a\x20", 3, "an instruction is cut"),
        (b"\x00a\xe0\x00", 9, "an instruction is cut"),
        (b"\x20\x00", 3, "before the start"),
        (b"\x00a\x20\x01", 3, "before the start"),
        (b"\x02abc", 2, "holds more than 2 bytes"),
        (b"\x02abc", 4, "holds 3 bytes, expected 4"),
    ],
)
def test_corrupt_lzf_data_is_refused(data: bytes, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decompress(data, size)
    chunk = b"ZV\x01" + struct.pack(">HH", len(data), size) + data
    with pytest.raises(FrameError, match=f"byte 0: LZF chunk: .*{message}"):
        read(chunk)


def test_wrong_lzf_headers_are_refused() -> None:
    with pytest.raises(FrameError, match="byte 9: LZF chunk of unknown type 2"):
        read(bytes.fromhex("5a56000004ffffffff") + b"ZV\x02\x00\x00")
    with pytest.raises(FrameError, match="got b'ZX', expected an LZF chunk"):
        read(b"ZX\x00\x00\x00")


def test_cut_lzf_chunks_raise_truncated_error() -> None:
    data = encode.lzf(b"abc" * 100)
    assert data[2] == 1
    assert_prefixes_refused(read, data, TruncatedError, 1)


@given(st.binary(max_size=30).map(lambda part: part * 40))
def test_lzf_decompress_inverts_compress(raw: bytes) -> None:
    assert decompress(encode.lzf_data(raw), len(raw)) == raw


@given(st.binary(max_size=60), st.integers(0, 300))
def test_any_lzf_data_gives_its_size_or_value_error(data: bytes, size: int) -> None:
    with contextlib.suppress(ValueError):
        assert len(decompress(data, size)) == size
