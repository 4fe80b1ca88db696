"""Footers: those of RocksDB, others, and every byte of one changed."""

from __future__ import annotations

import struct

import pytest

from inspector.decode.sst.footer import SIZE, Handle, read_footer
from inspector.decode.sst.handles import Handles
from inspector.exceptions import DecodeError, RecordError, TruncatedError
from tests.decode.spans import flip
from tests.decode.sst.tables import MAGIC, BytesSource, case, varint


def file_of(name: str) -> bytes:
    return next(iter(case(name).tables.values()))


def footer(version: int = 5, *, magic: int = MAGIC, kind: int = 4, handles: bytes = b"") -> bytes:
    return bytes((kind,)) + handles.ljust(40, b"\0") + struct.pack("<IQ", version, magic)


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6])
@pytest.mark.parametrize(
    ("kind", "name"), list(enumerate(("kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3")))
)
def test_footers_of_rocksdb(version: int, kind: int, name: str) -> None:
    data = file_of(f"format_{version}_{name}")
    result = read_footer(BytesSource(data))
    assert (result.format_version, result.checksum_type) == (version, kind)
    assert result.metaindex.offset + result.metaindex.size + 5 == len(data) - SIZE
    assert (result.index is None) == (result.base != 0) == (version == 6)


def test_changed_byte_of_an_extended_footer_is_refused() -> None:
    data = file_of("format_6_kXXH3")
    for at in range(len(data) - SIZE, len(data)):
        with pytest.raises(DecodeError):
            read_footer(BytesSource(flip(data, at, 1)))


def test_block_handles_of_a_plain_footer() -> None:
    handles = varint(7000) + varint(100) + varint(6000) + varint(995)
    result = read_footer(BytesSource(bytes(8000) + footer(handles=handles)))
    assert result.metaindex == Handle(7000, 100)
    assert result.index == Handle(6000, 995)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (footer(magic=0xDB4775248B80FB57), "byte 45: a table of LevelDB"),
        (footer(magic=0x8242229663BF9564), "byte 45: a plain table"),
        (footer(magic=1), "byte 45: the file ends in 0x0+1, a table in 0x88e241b785f4cff7"),
        (footer(1), "byte 41: a table of format_version 1, expected 2 to 7"),
        (footer(8), "format_version 8"),
        (footer(kind=5), "byte 0: checksums of unknown type 5"),
        (footer(6), "byte 1: no footer of format_version 6"),
        (footer(handles=b"\xff" * 40), "byte 1: offset of a block: no integer"),
    ],
)
def test_malformed_footers_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        read_footer(BytesSource(data))


def test_metaindex_before_the_file_is_refused() -> None:
    extended = struct.pack("<4sIII16sQ", b"\x3e\0\x7a\0", 0, 1, 1, b"", 0)
    data = footer(6, kind=0, handles=extended)
    with pytest.raises(TruncatedError, match="a metaindex of 1 bytes lies before byte 0"):
        read_footer(BytesSource(data))
    assert read_footer(BytesSource(bytes(6) + data)).metaindex == Handle(0, 1)


@pytest.mark.parametrize("size", [0, 1, SIZE - 1])
def test_file_shorter_than_a_footer_is_refused(size: int) -> None:
    with pytest.raises(TruncatedError, match=f"got {size} bytes, a footer has 53"):
        read_footer(BytesSource(bytes(size)))


def test_handle_beyond_64_bit_offsets_is_refused() -> None:
    assert Handles.of(Handle(5, 6)).offset.tolist() == [5]
    with pytest.raises(RecordError, match="a block of 6 bytes at byte"):
        Handles.of(Handle(1 << 63, 6))
