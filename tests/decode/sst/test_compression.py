"""Blocks decompressed to exactly their stored size. test_table.py has blocks of RocksDB."""

from __future__ import annotations

import bz2
import zlib
from contextlib import suppress
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.sst.blocks import decompress, raw_sizes
from inspector.exceptions import DecodeError, FrameError, RecordError
from tests.decode.spans import damaged, spans_of
from tests.decode.sst.tables import varint

RAW = b"a block of a table " * 50


def deflate(raw: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-14)
    return packer.compress(raw) + packer.flush()


def without_size(raw: bytes) -> bytes:
    """Return a Zstandard frame without its decompressed size."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(raw)
    return sink.getvalue().to_pybytes()


def packed(codec: Literal["snappy", "zstd"], raw: bytes) -> bytes:
    return pa.Codec(codec).compress(raw, asbytes=True)


FORMS = {
    "snappy": (1, packed("snappy", RAW)),
    "zlib": (2, deflate(RAW)),
    "bzip2": (3, bz2.compress(RAW)),
    "zstd": (7, packed("zstd", RAW)),
    "zstd without size": (7, without_size(RAW)),
}


@pytest.mark.parametrize("name", FORMS)
def test_decompress_inverts_each_codec(name: str) -> None:
    kind, block = FORMS[name]
    assert decompress(kind, block, len(RAW), 0) == RAW


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("size", [0, len(RAW) - 1, len(RAW) + 1, len(RAW) * 2])
def test_wrong_decompressed_size_is_refused(name: str, size: int) -> None:
    kind, block = FORMS[name]
    with pytest.raises(FrameError, match=r"^byte 99: "):
        decompress(kind, block, size, 99)


@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
def test_damaged_block_raises_or_has_the_stored_size(name: str, data: st.DataObject) -> None:
    kind, block = FORMS[name]
    changed = damaged(block, data)[: data.draw(st.integers(0, len(block)))]
    with suppress(FrameError):
        assert len(decompress(kind, changed, len(RAW), 0)) == len(RAW)


@pytest.mark.parametrize("kind", [6, 8, 128, 255])
def test_unknown_compression_type_is_refused(kind: int) -> None:
    with pytest.raises(DecodeError, match=f"^byte 9: a block of compression type {kind},"):
        decompress(kind, b"", 0, 9)


def sizes(blocks: list[tuple[int, bytes]]) -> tuple[list[int], list[int]]:
    kinds, contents = zip(*blocks, strict=True)
    buffer, offsets, lengths = spans_of(contents)
    octets, types = np.frombuffer(buffer, np.uint8), np.array(kinds, np.int64)
    size, skipped = raw_sizes(octets, offsets, offsets + lengths, types, 1000)
    return size.tolist(), skipped.tolist()


def test_raw_sizes_of_compressed_blocks() -> None:
    blocks = [(0, b"as it is"), (4, varint(5) + b"x"), (1, varint(300) + b"x"), (7, varint(70000))]
    assert sizes(blocks) == ([8, 5, 300, 70000], [0, 1, 0, 3])
    assert sizes([(0, b""), (0, b"abc")]) == ([0, 3], [0, 0])


@pytest.mark.parametrize("block", [b"", b"\x80", b"\x80\x80\x80\x80\x80\x00"])
def test_compressed_block_without_its_size_is_refused(block: bytes) -> None:
    with pytest.raises(RecordError, match=r"^byte 1004: a compressed block without its size"):
        sizes([(0, b"abc"), (4, b"\0"), (4, block), (4, b"\0")])
