"""Tables of RocksDB, and small tables written by the tests."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import xxhash

from inspector.decode.sst.entries import LiveBlock
from inspector.decode.sst.live import live_entries
from inspector.decode.sst.table import Table
from inspector.model import LIMITS, Limits
from tests.attributes import attributes

FIXTURE = Path(__file__).parents[3] / "fixtures" / "rocksdb_tables.zip"
MAGIC = 0x88E241B785F4CFF7
DELETION, VALUE, MERGE, SINGLE_DELETION, RANGE_DELETION = 0, 1, 2, 7, 15

Entry = tuple[bytes, int, int, bytes]
"""A user key, a sequence number, a type and a value."""


# --- tables of RocksDB -----------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Tables of one case, and the output of RocksDB for them.

    Attributes:
        tables: Content by file name.
        live: Keys and values by RocksDB's iterator.
        properties: Properties of each file by RocksDB's reader.
    """

    tables: dict[str, bytes]
    live: list[tuple[bytes, bytes]]
    properties: dict[str, dict[str, str]]


class BytesSource:
    """A file that is in memory.

    Args:
        data: its bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, length: int, /) -> bytes:
        """The bytes at an offset."""
        return self._data[offset : offset + length]


@cache
def case_names() -> tuple[str, ...]:
    """Return the names of all cases."""
    with zipfile.ZipFile(FIXTURE) as archive:
        return tuple(sorted(attributes(zipfile.Path(archive).iterdir(), "name")))


@cache
def case(name: str) -> Case:
    """Return one case."""
    with zipfile.ZipFile(FIXTURE) as archive:
        files = {
            item.name: item.read_bytes() for item in zipfile.Path(archive, f"{name}/").iterdir()
        }
    live = [line.split(" ") for line in files.pop("live.txt").decode().splitlines()]
    result = [line.split(" ") for line in files.pop("properties.txt").decode().splitlines()]
    return Case(
        files,
        [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in live],
        {file: dict(pair.split("=", 1) for pair in pairs) for file, *pairs in result},
    )


def opened(name: str, limits: Limits = LIMITS) -> list[Table]:
    """Return the tables of a case."""
    tables = case(name).tables
    return [Table(BytesSource(data), path, limits) for path, data in tables.items()]


def rows_of(blocks: Iterable[LiveBlock]) -> list[tuple[bytes, bytes]]:
    """Return the keys and values of blocks."""
    return list(_rows(blocks))


def _rows(blocks: Iterable[LiveBlock]) -> Iterator[tuple[bytes, bytes]]:
    for block in blocks:
        for key, key_size, value, size in np.transpose(block.spans).tolist():
            yield block.buffer[key : key + key_size], block.buffer[value : value + size]


def entries_of(table: Table) -> list[Entry]:
    """Return all entries of a table."""
    return [
        (block.key(i), int(block.sequence[i]), int(block.type[i]), block.value(i))
        for block in table.entries()
        for i in range(block.count)
    ]


def live(
    data: Iterable[bytes], limits: Limits = LIMITS, start: bytes = b"", end: bytes | None = None
) -> list[tuple[bytes, bytes]]:
    """Return the live rows of several files, of all keys or of a range of keys."""
    tables = [Table(BytesSource(item), None, limits) for item in data]
    return within(rows_of(live_entries(tables, limits, start=start, end=end)), start, end)


def within(
    rows: Iterable[tuple[bytes, bytes]], start: bytes, end: bytes | None
) -> list[tuple[bytes, bytes]]:
    """Return the rows whose keys are in a range."""
    return [row for row in rows if start <= row[0] and (end is None or row[0] < end)]


# --- tables written here ---------------------------------------------------------------------


def varint(value: int) -> bytes:
    """Return an integer as RocksDB writes it."""
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*result, value))


def internal_key(key: bytes, sequence: int, kind: int) -> bytes:
    """Return a user key with its sequence number and type."""
    return key + struct.pack("<Q", sequence << 8 | kind)


def block_of(pairs: Iterable[tuple[bytes, bytes]], *, shared: bool = True) -> bytes:
    """Return a block of keys and values with one restart."""
    result, before = bytearray(), b""
    for key, value in pairs:
        same = 0
        while shared and same < min(len(key), len(before)) and key[same] == before[same]:
            same += 1
        result += varint(same) + varint(len(key) - same) + varint(len(value)) + key[same:] + value
        before = key
    return bytes(result) + struct.pack("<II", 0, 1)


class Writer:
    """Writes a table of format_version 5 with XXH3 sums and no compression."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, block: bytes, kind: int = 0) -> bytes:
        """Write a block; its handle."""
        handle = varint(len(self.data)) + varint(len(block))
        result = xxhash.xxh3_64_intdigest(block) ^ kind * 0x6B9083D9
        self.data += block + struct.pack("<BI", kind, result & 0xFFFFFFFF)
        return handle

    def finish(
        self,
        index: bytes,
        properties: dict[bytes, bytes],
        meta: dict[bytes, bytes] | None = None,
        *,
        version: int = 5,
    ) -> bytes:
        """Write what follows the data; the whole file."""
        handles = dict(meta or {})
        handles[b"rocksdb.properties"] = self.add(block_of(sorted(properties.items())))
        metaindex = self.add(block_of(sorted(handles.items())))
        pair = (metaindex + index).ljust(40, b"\0")
        return bytes(self.data) + b"\x04" + pair + struct.pack("<IQ", version, MAGIC)


def table_of(
    entries: Sequence[Entry],
    ranges: Sequence[tuple[bytes, bytes, int]] = (),
    *,
    per_block: int = 3,
    extra: dict[bytes, bytes] | None = None,
) -> bytes:
    """A table of entries, in the order in which they are given.

    Args:
        entries: of it.
        ranges: what is deleted, from a key to another, below a sequence number.
        per_block: entries of a data block.
        extra: properties, in place of those that it should have.
    """
    writer = Writer()
    leaves = []
    for start in range(0, len(entries), per_block):
        sample = entries[start : start + per_block]
        pairs = [(internal_key(key, seq, kind), value) for key, seq, kind, value in sample]
        leaves.append((pairs[-1][0], writer.add(block_of(pairs))))
    index = writer.add(block_of(leaves, shared=False))
    meta = {}
    if ranges:
        pairs = [(internal_key(a, seq, RANGE_DELETION), b) for a, b, seq in ranges]
        meta[b"rocksdb.range_del"] = writer.add(block_of(pairs))
    properties = {
        b"rocksdb.num.entries": varint(len(entries) + len(ranges)),
        b"rocksdb.num.range-deletions": varint(len(ranges)),
        b"rocksdb.merge.operator": b"StringAppendOperator",
        b"rocksdb.comparator": b"leveldb.BytewiseComparator",
    }
    return writer.finish(index, properties | (extra or {}), meta)


def sorted_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in the order of a table: by user key, the newest first."""
    return sorted(entries, key=lambda entry: (entry[0], -entry[1]))
