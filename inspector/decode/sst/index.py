"""The handles of a table's data blocks, in order.

An entry of the index has a key that is not below any of its block, and the handle of the block.
Where the property ``rocksdb.index.value.is.delta.encoded`` says so (from format_version 4 on), no
length of the value is written, and an entry that shares a part of its key with the one before tells
only by how much its block is larger: it follows that one's. With two levels (index type 2) the
blocks of the first level are indexes themselves. With index type 3 the first key of the block
follows each handle.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.decode.sst.blocks import Blocks
from inspector.decode.sst.footer import TRAILER, Handle, read_handle
from inspector.decode.sst.metaindex import (
    DELTA_ENCODED_INDEX,
    INDEX_TYPE,
    TableProperties,
)
from inspector.decode.sst.simple import block_entries, content
from inspector.decode.sst.varints import Varints
from inspector.exceptions import DecodeError, RecordError

_TYPES = ("binary search", "hash search", "two levels", "binary search with first keys")
_TWO_LEVELS, _FIRST_KEYS = 2, 3


class Index:
    """The index of a table.

    Args:
        blocks: of the table.
        handle: of the index.
        properties: of the table.

    Raises:
        DecodeError: it is of a type that is not read.
    """

    def __init__(self, blocks: Blocks, handle: Handle, properties: TableProperties) -> None:
        self._blocks, self._handle = blocks, handle
        self._type = properties.numbers.get(INDEX_TYPE, 0)
        self._delta = bool(properties.numbers.get(DELTA_ENCODED_INDEX, 0))
        if self._type >= len(_TYPES):
            raise DecodeError(
                f"an index of type {self._type}, expected one of {', '.join(_TYPES)}",
                offset=handle.offset,
            )

    def handles(self) -> Iterator[Handle]:
        """The handles of the data blocks; partitions are read as they are needed.

        Raises:
            DecodeError: the index is corrupt, or its blocks do not lie one behind the other.
            OSError: it cannot be read.
        """
        if self._type != _TWO_LEVELS:
            return self._level(self._handle)
        return self._ascending(
            leaf for part in self._level(self._handle) for leaf in self._level(part)
        )

    def _level(self, handle: Handle) -> Iterator[Handle]:
        block = self._blocks.read(handle, "index")
        if self._delta:
            return self._ascending(self._delta_encoded(block, handle.offset))
        values = block_entries(block, handle.offset)
        return self._ascending(read_handle(Varints(value, handle.offset)) for _, value in values)

    def _ascending(self, handles: Iterator[Handle]) -> Iterator[Handle]:
        """The same, checked: so no block is read twice, whatever an index says."""
        end = 0
        for handle in handles:
            if handle.offset < end:
                raise RecordError(
                    f"the index leads to byte {handle.offset}, the block before ends at {end}",
                    offset=self._handle.offset,
                )
            end = handle.offset + handle.size + TRAILER
            yield handle

    def _delta_encoded(self, block: bytes, offset: int) -> Iterator[Handle]:
        varints = Varints(content(block, offset), offset)
        handle, length = Handle(0, 0), 0
        while varints.left:
            shared, rest = varints.next("shared key"), varints.next("rest of a key")
            if shared > length:
                raise RecordError("an entry shares more than the key before", offset=offset)
            varints.bytes(rest, "key of the index")
            length = shared + rest
            if shared:
                size = handle.size + varints.signed("size of a block")
                handle = Handle(handle.offset + handle.size + TRAILER, size)
            else:
                handle = read_handle(varints)
            if handle.size < 0:
                raise RecordError(f"a block of {handle.size} bytes", offset=offset)
            if self._type == _FIRST_KEYS:
                varints.bytes(varints.next("length of a first key"), "first key")
            yield handle
