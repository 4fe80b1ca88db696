"""Properties of a table file, which are in its last blocks.

They are read without numpy and PyArrow, so that a command that reads no row starts without both:
RocksDB does not compress these blocks (``BlockBasedTableBuilder::WritePropertiesBlock``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from inspector.decode.sst.footer import (
    TRAILER,
    Footer,
    Handle,
    Source,
    Varints,
    check_block,
    read_exactly,
    read_footer,
    read_handle,
)
from inspector.exceptions import DecodeError, FrameError, LimitError, RecordError
from inspector.light_dataclasses import dataclass, field
from inspector.model import LIMITS, Limits, above_limit

# most bytes of a block that is read entry by entry; RocksDB's own have a few thousand
_META_BYTES = 1 << 20

# field of TableProperties by the name of a property that is a number
_NUMBERS: Mapping[str, str] = {
    "rocksdb.num.entries": "entries",
    "rocksdb.deleted.keys": "deletions",
    "rocksdb.merge.operands": "merge_operands",
    "rocksdb.num.range-deletions": "range_deletions",
    "rocksdb.raw.key.size": "raw_key_bytes",
    "rocksdb.raw.value.size": "raw_value_bytes",
    "rocksdb.index.value.is.delta.encoded": "delta_encoded_index",
}
# field of TableProperties by the name of a property that is a text
_TEXTS = {"rocksdb.comparator": "comparator", "rocksdb.merge.operator": "merge_operator"}


@dataclass(frozen=True)
class TableProperties:
    """Properties of a table (``TableProperties`` of RocksDB); 0 or empty if not recorded."""

    # all entries: values, deletions of every kind, merge operands, range deletions
    entries: int = 0
    deletions: int = 0  # tombstones: deletions, single deletions and range deletions
    merge_operands: int = 0  # entries that are appended to an older value
    range_deletions: int = 0  # entries that delete a range of keys
    raw_key_bytes: int = 0  # bytes of all keys, uncompressed, with the 8 bytes of each internal key
    raw_value_bytes: int = 0  # bytes of all values, uncompressed
    delta_encoded_index: int = 0  # 1 if values of the index are delta-encoded
    comparator: str = ""  # name of the order of keys
    merge_operator: str = ""  # name of the merge operator; empty or ``nullptr`` if there is none
    # every property as stored, those of user collectors included, by its full name
    stored: Mapping[str, bytes] = field(default_factory=dict)


def read_properties(
    source: Source, path: str | None = None, limits: Limits = LIMITS
) -> TableProperties:
    """Return the properties of a table file. DecodeError, with ``path``; OSError."""
    try:
        return MetaBlocks(source, limits).properties()
    except DecodeError as error:
        raise error.at(path) from None


class MetaBlocks:
    """Footer of a table file, and the positions of its meta blocks by name (``handles``)."""

    def __init__(self, source: Source, limits: Limits = LIMITS) -> None:
        """Read footer and metaindex. DecodeError, without a path; OSError."""
        self._source, self._limits = source, limits
        self.footer: Footer = read_footer(source)
        metaindex = self.footer.metaindex
        self.handles: dict[str, Handle] = {}
        with opening("metaindex"):
            block = self._read(metaindex, "metaindex")
        for key, value in block_entries(block, metaindex.offset):
            name = key.decode("utf-8", "replace")
            if name in self.handles:
                message = f"the metaindex has {name[:80]!r} twice"
                raise RecordError(message, offset=metaindex.offset)
            self.handles[name] = read_handle(Varints(value, metaindex.offset))

    def properties(self) -> TableProperties:
        """Read and return the properties. DecodeError, without a path; OSError."""
        # Its name was ``rocksdb.stats`` before.
        handle = self.handles.get("rocksdb.properties") or self.handles.get("rocksdb.stats")
        if handle is None:
            offset = self.footer.metaindex.offset
            raise RecordError("a table without properties", offset=offset)
        entries = block_entries(self._read(handle, "properties"), handle.offset)
        stored = {key.decode("utf-8", "replace"): value for key, value in entries}
        fields: dict[str, Any] = {"stored": stored}
        for name, value in stored.items():
            if name in _NUMBERS:
                fields[_NUMBERS[name]] = Varints(value, handle.offset).next(name)
            elif name in _TEXTS:
                fields[_TEXTS[name]] = value.decode("utf-8", "replace")
        return TableProperties(**fields)

    def _read(self, handle: Handle, noun: str) -> bytes:
        """Return one block; ``noun`` names it in messages. DecodeError, OSError."""
        handle.check()
        if handle.size > self._limits.frame_bytes:
            text = f"a block of {handle.size:,} bytes"
            raise above_limit("frame_bytes", text, self._limits, handle.offset)
        data = read_exactly(self._source, handle.offset, handle.size + TRAILER, noun)
        if data[handle.size]:
            # It imports what decodes rows, which no table that RocksDB wrote needs here.
            from inspector.decode.sst.blocks import Blocks  # noqa: PLC0415

            block = Blocks(self._source, self.footer, self._limits).read(handle, noun)
        else:
            block = data[: handle.size]
            expected = int.from_bytes(data[handle.size + 1 :], "little")
            check_block(self.footer, memoryview(block), 0, expected, handle.offset)
        if len(block) > _META_BYTES:
            message = f"{noun} of {len(block):,} bytes, at most {_META_BYTES:,} are read"
            raise LimitError(message, offset=handle.offset)
        return block


@contextmanager
def opening(noun: str) -> Iterator[None]:
    """Raise RecordError for a FrameError in the block: RocksDB does not open such a table.

    A corrupt block of rows stays a FrameError (``BlockBasedTable::Open``). ``noun`` names the
    block.
    """
    try:
        yield
    except FrameError as error:
        raise RecordError(f"{noun}: {error.message}", offset=error.offset) from None


_UINT32 = struct.Struct("<I")  # a number of 32 bits


def block_entries(block: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block in order. RecordError: impossible lengths.

    ``offset`` is the block's position in the file, for errors.
    """
    varints = Varints(content(block, offset), offset)
    key = b""
    while varints.remaining:
        start = varints.place
        shared, remainder = varints.next("shared key"), varints.next("rest of a key")
        length = varints.next("length of a value")
        if shared > len(key):
            raise RecordError("an entry shares more than the key before", offset=offset + start)
        key = key[:shared] + varints.bytes(remainder, "key")
        yield key, varints.bytes(length, "value")


def content(block: bytes, offset: int) -> bytes:
    """Return a block's entries without the restarts. RecordError: the restarts do not fit."""
    left = len(block) - _UINT32.size
    restarts = _UINT32.unpack_from(block, left)[0] if left >= 0 else 0
    if left < restarts * _UINT32.size:
        raise RecordError(f"a block of {len(block)} bytes, {restarts} restarts", offset=offset)
    return block[: left - restarts * _UINT32.size]
