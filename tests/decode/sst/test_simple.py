"""Blocks that are not of data: keys and values, and lengths that are impossible."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.sst.properties import block_entries, content
from inspector.exceptions import DecodeError, RecordError
from tests.decode.sst.tables import block_of

PAIRS = st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9)), max_size=9)


@given(PAIRS)
def test_block_entries_round_trip(pairs: list[tuple[bytes, bytes]]) -> None:
    assert list(block_entries(block_of(pairs), 0)) == pairs


@pytest.mark.parametrize("block", [b"", b"123", struct.pack("<I", 1), struct.pack("<I", 1 << 31)])
def test_block_without_room_for_its_restarts(block: bytes) -> None:
    with pytest.raises(RecordError, match=r"^byte 50: a block of"):
        content(block, 50)


def test_entry_that_shares_too_many_bytes_is_refused() -> None:
    with pytest.raises(RecordError, match=r"^byte 50: an entry shares more"):
        list(block_entries(b"\x01\x00\x00" + struct.pack("<II", 0, 1), 50))


@given(st.binary(max_size=60))
def test_any_bytes_give_block_entries_or_decode_error(data: bytes) -> None:
    for block in (data, data + struct.pack("<II", 0, 1)):
        try:
            result = list(block_entries(block, 0))
        except DecodeError:
            continue
        assert sum(len(value) for _, value in result) <= len(block)
