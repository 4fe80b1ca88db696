"""The handles of a table's data blocks, in order.

An entry of the index has a key that is not below any of its block, and the handle of the block.
With two levels (index type 2) the blocks that the first level leads to are indexes themselves.
Values are delta-encoded where ``rocksdb.index.value.is.delta.encoded`` says so (from format_version
4 on), and the first key of a block follows its handle with index type 3. Whether the keys have
sequence numbers (format_version 2) makes no difference: they are not needed to read everything.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inspector.decode.sst.blocks import Blocks
from inspector.decode.sst.footer import TRAILER, Handle, Handles
from inspector.decode.sst.metaindex import DELTA_ENCODED_INDEX, INDEX_TYPE, TableProperties, content
from inspector.exceptions import DecodeError, RecordError
from inspector.kernel.loader import kernel

_TYPES = ("binary search", "hash search", "two levels", "binary search with first keys")
_TWO_LEVELS, _FIRST_KEYS = 2, 3
_SMALLEST = 3  # bytes of an entry: two lengths and by how much a size is larger


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

    def handles(self) -> Iterator[Handles]:
        """The handles of the data blocks, ascending; partitions are read as they are needed.

        Raises:
            DecodeError: the index is corrupt, or its blocks do not lie one behind the other.
            OSError: it cannot be read.
        """
        first = self._level(self._handle)
        if self._type != _TWO_LEVELS:
            yield first
            return
        end = 0
        for offset, size in zip(first.offset.tolist(), first.size.tolist(), strict=True):
            part = self._level(Handle(offset, size))
            if len(part.offset):
                self._check_ascending(end, int(part.offset[0]))
                end = int(part.offset[-1] + part.size[-1]) + TRAILER
                yield part

    def _level(self, handle: Handle) -> Handles:
        entries = content(self._blocks.read(handle, "index"), handle.offset)
        room = min(len(entries) // _SMALLEST, self._blocks.most) + 1
        offset, size = np.empty((2, room), np.int64)
        first_keys = self._type == _FIRST_KEYS
        count, complete = kernel().index_handles(
            entries, self._delta, first_keys, TRAILER, offset, size
        )
        if not complete:
            raise RecordError("an index with impossible lengths", offset=handle.offset)
        handles = Handles(offset[:count].copy(), size[:count].copy())
        # Ascending, so that no block is read twice, whatever an index says.
        ends = handles.offset + handles.size + TRAILER
        wrong = np.flatnonzero(handles.offset[1:] < ends[:-1])
        if len(wrong):
            self._check_ascending(int(ends[wrong[0]]), int(handles.offset[wrong[0] + 1]))
        return handles

    def _check_ascending(self, end: int, offset: int) -> None:
        if offset < end:
            raise RecordError(
                f"the index leads to byte {offset}, the block before ends at {end}",
                offset=self._handle.offset,
            )
