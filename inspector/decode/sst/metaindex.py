"""The metaindex of a table and the properties that it leads to."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.decode.sst.blocks import Blocks
from inspector.decode.sst.footer import Footer, Handle, Varints, read_handle
from inspector.exceptions import RecordError
from inspector.light_dataclasses import dataclass, field

INDEX = "rocksdb.index"
RANGE_DELETIONS = "rocksdb.range_del"
DICTIONARY = "rocksdb.compression_dict"

INDEX_TYPE = "rocksdb.block.based.table.index.type"  # 4 bytes, little endian
INGESTED = "rocksdb.external_sst_file.version"

_META_BYTES = 1 << 20  # of a block that is read entry by entry; RocksDB's own have a few thousand

_NUMBERS: Mapping[str, str] = {
    "rocksdb.num.entries": "entries",
    "rocksdb.deleted.keys": "deletions",
    "rocksdb.merge.operands": "merge_operands",
    "rocksdb.num.range-deletions": "range_deletions",
    "rocksdb.raw.key.size": "raw_key_bytes",
    "rocksdb.raw.value.size": "raw_value_bytes",
    "rocksdb.index.value.is.delta.encoded": "delta_encoded_index",
}
_TEXTS: Mapping[str, str] = {
    "rocksdb.comparator": "comparator",
    "rocksdb.merge.operator": "merge_operator",
}


@dataclass(frozen=True)
class TableProperties:
    """What a table says of itself (``TableProperties`` of RocksDB); 0 or "" where it is silent."""

    # all entries: values, deletions of every kind, merge operands, range deletions
    entries: int = 0
    deletions: int = 0  # tombstones: deletions, single deletions and range deletions
    merge_operands: int = 0  # entries that are appended to an older value
    range_deletions: int = 0
    raw_key_bytes: int = 0  # of all keys, uncompressed, with the 8 bytes of each internal key
    raw_value_bytes: int = 0  # of all values, uncompressed
    delta_encoded_index: int = 0  # 1 if values of the index are delta-encoded
    comparator: str = ""  # name of the order of keys
    merge_operator: str = ""  # its name; "" or ``nullptr`` if none
    # every property as it is stored, those of user collectors included, by its full name
    stored: Mapping[str, bytes] = field(default_factory=dict)


class Metaindex:
    """Where the meta blocks of a table lie (DecodeError: it cannot be read)."""

    def __init__(self, blocks: Blocks, footer: Footer) -> None:
        self._blocks, self._footer = blocks, footer
        self._handles: dict[str, Handle] = {}
        position = footer.metaindex.offset
        block = blocks.read_opening(footer.metaindex, "metaindex", _META_BYTES)
        for key, value in block_entries(block, position):
            name = key.decode("utf-8", "replace")
            if name in self._handles:
                raise RecordError(f"the metaindex has {name[:80]!r} twice", offset=position)
            self._handles[name] = read_handle(Varints(value, position))

    def __getitem__(self, name: str) -> Handle | None:
        """Where a meta block lies, None if there is none."""
        return self._handles.get(name)

    def properties(self) -> TableProperties:
        """What the table says about itself (DecodeError: it says nothing, or it cannot be read)."""
        handle = self["rocksdb.properties"] or self["rocksdb.stats"]  # their name before
        if handle is None:
            raise RecordError("a table without properties", offset=self._footer.metaindex.offset)
        block = self._blocks.read(handle, "properties", _META_BYTES)
        entries = block_entries(block, handle.offset)
        stored = {key.decode("utf-8", "replace"): value for key, value in entries}
        fields: dict[str, Any] = {"stored": stored}
        for name, value in stored.items():
            if name in _NUMBERS:
                fields[_NUMBERS[name]] = Varints(value, handle.offset).next(name)
            elif name in _TEXTS:
                fields[_TEXTS[name]] = value.decode("utf-8", "replace")
        return TableProperties(**fields)


_UINT32 = struct.Struct("<I")


def block_entries(block: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a block at an offset, in order; RecordError for impossible lengths."""
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
    """The entries of a block, without the restarts behind them; RecordError if those do not fit."""
    left = len(block) - _UINT32.size
    restarts = _UINT32.unpack_from(block, left)[0] if left >= 0 else 0
    if left < restarts * _UINT32.size:
        raise RecordError(f"a block of {len(block)} bytes, {restarts} restarts", offset=offset)
    return block[: left - restarts * _UINT32.size]
