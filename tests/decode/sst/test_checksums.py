"""Checksums of blocks against what RocksDB itself is tested to write."""

from __future__ import annotations

import struct

import pytest

from inspector.decode.sst.footer import CHECKSUMS, checksum, context

SHORT = b"This is a short block!"
LONG = b"This is a long block!" * 100


PINNED = {
    1: ("D28F2549", "2F9B0A57", "00E53D63"),
    2: ("3EB065CF", "0BD9F652", "A191A338"),
    3: ("682705DB", "B6C8BBBE", "6B31BAB1"),
    4: ("C294D338", "6AFC258D", "15B7BBDE"),
}
"""What RocksDB's own test pins (``ChecksumSchemas`` in table_test.cc), as bytes of a file: of an
empty block that is not compressed, of the short one as Snappy, of the long one as Zstandard."""


@pytest.mark.parametrize("kind", PINNED)
def test_checksums_equal_those_pinned_by_rocksdb(kind: int) -> None:
    result = [checksum(kind, b"", 0), checksum(kind, SHORT, 1), checksum(kind, LONG, 7)]
    assert tuple(struct.pack("<I", item).hex().upper() for item in result) == PINNED[kind]


@pytest.mark.parametrize("kind", CHECKSUMS[1:])
def test_checksum_depends_on_every_byte_and_the_block_type(kind: int) -> None:
    result = {checksum(kind, block, last) for block in (SHORT, LONG, b"") for last in (0, 4, 7)}
    assert len(result) == 9
    assert all(0 <= item < 1 << 32 for item in result)
    assert checksum(kind, memoryview(SHORT), 4) == checksum(kind, SHORT, 4)


def test_checksum_context_depends_on_the_offset() -> None:
    assert context(0, 123) == 0
    assert context(7, 0) == 7
    assert len({context(0xABCD, location) for location in (0, 1, 99, (1 << 32) + 5, 1 << 40)}) == 5
    assert context(1, (2 << 32) + 3) == 1 ^ 5
    assert context(1, (1 << 32) - 1) == 1 ^ 0xFFFFFFFF
