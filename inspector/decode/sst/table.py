"""A table file as a whole: its properties, and its entries block by block.

An entry of the index has a key that is not below any of its block, and the handle of the block.
With two levels (index type 2) the blocks that the first level leads to are indexes themselves.
Values are delta-encoded if ``rocksdb.index.value.is.delta.encoded`` is set (from format_version 4
on). With index type 3 the first key of a block follows its handle. It does not matter if the keys
have sequence numbers (format_version 2): they are not needed to read everything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain

import numpy as np

from inspector.decode.sst.blocks import Blocks
from inspector.decode.sst.entries import RANGE_DELETION, EntryBlock, EntryReader
from inspector.decode.sst.footer import TRAILER, Handle, Source
from inspector.decode.sst.handles import Handles
from inspector.decode.sst.properties import MetaBlocks, TableProperties, content, opening
from inspector.exceptions import DecodeError, LimitError, RecordError
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS, Limits, above_limit

# property with the index type: 4 bytes, little endian
_INDEX_TYPE = "rocksdb.block.based.table.index.type"
_INGESTED = "rocksdb.external_sst_file.version"  # property of a table that was made to be ingested
# index types in words, by number
_TYPES = ("binary search", "hash search", "two levels", "binary search with first keys")
_TWO_LEVELS, _FIRST_KEYS = 2, 3  # Two of these types.
_SMALLEST = 3  # bytes of the smallest entry: two lengths and the difference of a size


class Index:
    """Index of a table. DecodeError: it is of a type that is not read."""

    def __init__(self, blocks: Blocks, handle: Handle, properties: TableProperties) -> None:
        self._blocks, self._handle = blocks, handle
        self._type = int.from_bytes(properties.stored.get(_INDEX_TYPE, b""), "little")
        self._delta = bool(properties.delta_encoded_index)
        if self._type >= len(_TYPES):
            message = f"an index of type {self._type}, expected one of {', '.join(_TYPES)}"
            raise DecodeError(message, offset=handle.offset)

    def handles(self) -> Iterator[Handles]:
        """Yield the handles of the data blocks, ascending. DecodeError: they are corrupt."""
        # Partitions are read as they are needed.
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
        """Return the handles in one index block. RecordError: corrupt, or not ascending."""
        with opening("index"):
            block = self._blocks.read(handle, "index")
        entries = content(block, handle.offset)
        room = min(len(entries) // _SMALLEST, self._blocks.max_count) + 1
        offset, size = np.empty((2, room), np.int64)
        form = self._delta, self._type == _FIRST_KEYS, TRAILER
        count, complete = kernel().index_handles(entries, *form, offset, size)
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
        """Raise RecordError if a block begins before the end of the previous one."""
        if offset < end:
            message = f"the index leads to byte {offset}, the block before ends at {end}"
            raise RecordError(message, offset=self._handle.offset)


COMPARATORS = ("", "leveldb.BytewiseComparator")
"""Names of the only order of keys that is read: unsigned bytes."""

_FIRST = 1 << 14  # bytes that are read for the first key
_MOST_RANGES = 1 << 18  # most deleted ranges of a table, because they are held all the time
_PIECES = 4  # bytes read at once for each byte that is held decompressed


@dataclass(frozen=True)
class RangeDeletion:
    """Deletion of a range of keys."""

    start: bytes  # first key of the range
    end: bytes  # first key after it
    sequence: int  # sequence number below which entries are deleted


class Table:
    """An open table file.

    Attributes:
        path: path for errors.
        properties: its properties.
    """

    def __init__(self, source: Source, path: str | None = None, limits: Limits = LIMITS) -> None:
        """Read footer, metaindex and properties, but no data block and not the index.

        ``limits``: ``frame_bytes`` for a decompressed block, ``record_bytes`` for a key or value,
        ``block_bytes`` for entries held at once, ``ratio``. DecodeError: the file breaks its
        format, or has a feature that is not read. Raises OSError.
        """
        self.path = path
        self._limits, self._size = limits, source.size
        with _locate(path):
            meta = MetaBlocks(source, limits)
            self._meta, self._metaindex_offset = meta.handles, meta.footer.metaindex.offset
            self.properties: TableProperties = meta.properties()
            self._blocks = Blocks(source, meta.footer, limits)
            index = meta.footer.index or meta.handles.get("rocksdb.index")
            if index is None:
                raise RecordError("a table without an index", offset=self._metaindex_offset)
            self._index = Index(self._blocks, index, self.properties)

    def entries(
        self, held_bytes: int | None = None, start: bytes = b"", end: bytes | None = None
    ) -> Iterator[EntryBlock]:
        """Yield the entries in the order of the file: by user key, the newest of a key first.

        Every block's checksum is verified before it is used, and the order of the keys; at the end
        also the number of entries in the properties. At most ``held_bytes``, by default
        ``limits.block_bytes``, are held at once, except for a larger entry.

        Entries are needed from the user key ``start`` up to ``end``; some before and after may come
        too. ``start`` is searched for, so the order before it must be known to be right.
        DecodeError, with path and offset; OSError.
        """
        limits, raw = self._limits, 0
        block_bytes = held_bytes or limits.block_bytes
        with _locate(self.path):
            self._check_readable()
            reader = EntryReader(limits, held_bytes=block_bytes)
            for blocks in self._blocks.stretch(
                self._from(start), _PIECES * block_bytes, block_bytes
            ):
                for block in reader.read(blocks):
                    if end is not None and block.key(0) >= end:
                        return
                    raw += len(block.buffer)
                    if raw > max(limits.ratio_from_bytes, limits.ratio * self._size):
                        raise above_limit("ratio", f"{raw:,} raw bytes from {self._size:,}", limits)
                    yield block
            expected = self.properties.entries - self.properties.range_deletions
            if not start and reader.count != expected:
                message = f"{reader.count} entries, the table's properties tell {expected}"
                raise RecordError(message, offset=self._metaindex_offset)

    def first_key(self) -> bytes | None:
        """Return the smallest user key, from the first block alone; None if there is no entry."""
        with _locate(self.path):
            self._check_readable()
            return self._first_key(self._index.handles())

    def range_deletions(self) -> tuple[RangeDeletion, ...]:
        """Return the ranges of keys that the table deletes from older data."""
        with _locate(self.path):
            handle = self._meta.get("rocksdb.range_del")
            if handle is None:
                return ()
            self._check_readable()
            return tuple(self._ranges(handle))

    def _ranges(self, handle: Handle) -> Iterator[RangeDeletion]:
        """Yield the range deletions in a block. LimitError: too many."""
        # In its block an entry is a start key, whose value is the end; several may start at a key.
        reader = EntryReader(self._limits, (RANGE_DELETION,))
        for blocks in self._blocks.stretch(iter((Handles.of(handle),)), 1, 1):
            for block in reader.read(blocks):
                sequences = block.sequence.tolist()
                if reader.count > _MOST_RANGES:
                    text = f"more than {_MOST_RANGES:,} deletions of ranges"
                    raise LimitError(text, offset=handle.offset)
                for i in range(block.count):
                    yield RangeDeletion(block.key(i), block.value(i), sequences[i])

    def _first_key(self, handles: Iterator[Handles]) -> bytes | None:
        """Return the smallest user key in the blocks of these handles, or None; reads one block."""
        reader = EntryReader(self._limits)
        for blocks in self._blocks.stretch(handles, _FIRST, _FIRST):
            for block in reader.read(blocks):
                return block.key(0)
        return None

    def _from(self, start: bytes) -> Iterator[Handles]:
        """Yield the handles of the index from the last block on that begins below a key."""
        groups = self._index.handles()
        part = Handles(*np.empty((2, 0), np.int64))
        for following in groups if start else ():
            if not len(following.offset) or self._first_key_at(following, 0) >= start:
                groups = chain((following,), groups)
                break
            part = following
        blocks = range(len(part.offset))
        first = bisect_left(blocks, start, key=partial(self._first_key_at, part))
        yield part.part(max(first - 1, 0))
        yield from groups

    def _first_key_at(self, handles: Handles, index: int) -> bytes:
        """Return the first key of one block; empty if it has none."""
        return self._first_key(iter((handles.part(index, index + 1),))) or b""

    def _check_readable(self) -> None:
        """Raise DecodeError for a table with features that this reader does not support."""
        properties, position = self.properties, self._metaindex_offset
        if properties.comparator not in COMPARATORS:
            message = f"keys ordered by {properties.comparator[:80]!r}, expected {COMPARATORS[1]}"
            raise DecodeError(message, offset=position)
        if "rocksdb.compression_dict" in self._meta:
            raise DecodeError("blocks compressed with a dictionary are not read", offset=position)
        if _INGESTED in properties.stored:
            message = "a table that was made to be ingested: its sequence number is not in it"
            raise DecodeError(message, offset=position)


@contextmanager
def _locate(path: str | None) -> Iterator[None]:
    """Add the path to a DecodeError that the block raises."""
    try:
        yield
    except DecodeError as error:
        raise error.at(path) from None
