"""Entries of blocks; what both kernels find in any bytes is in tests/kernel/test__sst.py."""

from __future__ import annotations

import pytest

from inspector.decode.sst.blocks import RawBlocks
from inspector.decode.sst.entries import EntryBlock, EntryReader
from inspector.exceptions import DecodeError, LimitError, RecordError
from inspector.model import Limits
from tests.attributes import attributes
from tests.decode.spans import spans_of
from tests.decode.sst.tables import DELETION, VALUE, block_of, internal_key

SMALL = Limits(block_bytes=30, record_bytes=100)


def raw(*blocks: bytes) -> RawBlocks:
    buffer, offsets, lengths = spans_of(blocks)
    return RawBlocks(buffer, offsets, lengths, offsets + 1000)


def values(*keys: bytes, value: bytes = b"value") -> bytes:
    return block_of([(internal_key(key, 5, VALUE), value) for key in keys])


def keys_of(blocks: list[EntryBlock]) -> list[bytes]:
    return [block.key(index) for block in blocks for index in range(block.count)]


def test_entry_blocks_have_the_requested_size() -> None:
    reader = EntryReader(SMALL)
    result = list(reader.read(raw(values(b"a", b"b", b"c"), values(b"d"))))
    assert keys_of(result) == [b"a", b"b", b"c", b"d"]
    assert attributes(result, "count") == [2, 2]
    assert result[0].value(1) == b"value"
    assert attributes(result, "plain") == [True, True]
    assert keys_of(list(reader.read(raw(values(b"e"))))) == [b"e"]
    assert reader.count == 5


def test_entry_longer_than_a_block_is_kept_whole() -> None:
    result = list(EntryReader(SMALL).read(raw(values(b"a"), values(b"b", value=b"v" * 90))))
    assert list(map(len, attributes(result, "buffer"))) == [14, 99]
    with pytest.raises(LimitError, match=r"^byte 1000: a key or value is too long"):
        list(EntryReader(SMALL).read(raw(values(b"b", value=b"v" * 101))))


def test_entries_must_ascend_across_blocks() -> None:
    reader = EntryReader(SMALL)
    list(reader.read(raw(values(b"b"))))
    with pytest.raises(RecordError, match=r"^byte 1000: .*not above the one before"):
        list(reader.read(raw(values(b"a"))))


def test_entries_before_an_error_are_returned() -> None:
    blocks = EntryReader(SMALL).read(raw(values(b"a"), b"\xff" * 9))
    assert keys_of([next(blocks)]) == [b"a"]
    with pytest.raises(RecordError, match=r"^byte 1025: a block without room"):
        next(blocks)


def test_entry_types() -> None:
    block = block_of([(internal_key(b"a", 5, DELETION), b"")])
    (result,) = EntryReader(SMALL).read(raw(block))
    assert (result.type.tolist(), result.sequence.tolist(), result.plain) == (
        [DELETION],
        [5],
        False,
    )
    with pytest.raises(DecodeError, match="a value in a blob file"):
        list(EntryReader(SMALL).read(raw(block_of([(internal_key(b"a", 5, 17), b"")]))))
    with pytest.raises(DecodeError, match="type 1 "):
        list(EntryReader(SMALL, (DELETION,)).read(raw(block, values(b"b"))))
