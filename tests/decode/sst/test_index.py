"""Indexes that do not lead through the file; those of RocksDB are in test_table."""

from __future__ import annotations

import struct

import pytest

from inspector.decode.sst.table import Table
from inspector.exceptions import RecordError
from tests.decode.sst.tables import (
    VALUE,
    BytesSource,
    Writer,
    block_of,
    entries_of,
    internal_key,
    varint,
)

DATA = [
    block_of([(internal_key(b"a", 1, VALUE), b"1")]),
    block_of([(internal_key(b"b", 1, VALUE), b"2")]),
]
TWO_LEVELS = {b"rocksdb.block.based.table.index.type": struct.pack("<I", 2)}


def table(*order: int, levels: list[list[int]] | None = None, tail: bytes = b"") -> Table:
    """A table of the two blocks, whose index has them in this order.

    Args:
        order: of the blocks.
        levels: for two levels: in which order the partitions come, and which blocks each has.
        tail: bytes behind the last entry of the index.
    """
    writer = Writer()
    handles = [writer.add(block) for block in DATA]
    if levels is None:
        leaves = block_of([(b"key%d" % at, handles[at]) for at in order])
        index = writer.add(leaves[:-8] + tail + leaves[-8:])
        index_type = {}
    else:
        parts = [writer.add(block_of([(b"k", handles[at]) for at in level])) for level in levels]
        index = writer.add(block_of([(b"p", parts[at]) for at in order]))
        index_type = TWO_LEVELS
    properties = {b"rocksdb.num.entries": varint(2)} | index_type
    return Table(BytesSource(writer.finish(index, properties)))


def test_index_of_one_and_two_levels() -> None:
    expected = [(b"a", 1, VALUE, b"1"), (b"b", 1, VALUE, b"2")]
    assert entries_of(table(0, 1)) == expected
    assert entries_of(table(0, 1, levels=[[0], [1]])) == expected
    assert entries_of(table(0, 1, 2, levels=[[], [0, 1], []])) == expected


@pytest.mark.parametrize("order", [(1, 0), (0, 0), (0, 1, 0)])
def test_index_that_goes_back_is_refused(order: tuple[int, ...]) -> None:
    with pytest.raises(RecordError, match="the index leads to byte 0, the block before ends at"):
        entries_of(table(*order))


def test_index_partitions_that_go_back_are_refused() -> None:
    with pytest.raises(RecordError, match="the index leads to"):
        entries_of(table(0, 0, levels=[[]]))  # the same, again and again
    with pytest.raises(RecordError, match="the index leads to byte 0"):
        entries_of(table(0, 1, levels=[[1], [0]]))


def test_index_with_impossible_lengths_is_refused() -> None:
    with pytest.raises(RecordError, match="an index with impossible lengths"):
        entries_of(table(0, 1, tail=b"\x80"))
