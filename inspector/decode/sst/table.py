"""A table file as a whole: what it says about itself, and its entries block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.arrays import Int64s
from inspector.decode.sst.metaindex import TableProperties
from inspector.decode.sst.source import Source
from inspector.model import LIMITS, Limits


@dataclass(frozen=True, slots=True, eq=False)
class EntryBlock:
    """Some consecutive entries of a table, as spans over one buffer.

    Attributes:
        buffer: what the offsets count from.
        key_offset: where each user key starts. key_length: its bytes, without the 8 of the
            internal key.
        value_offset: where each value starts. value_length: its bytes; 0 for a deletion.
        tag: the last 8 bytes of each internal key: sequence number << 8 | type.
        plain: every entry is a value and no user key is there twice, neither in this block nor at
            the end of the one before.
    """

    buffer: bytes
    key_offset: Int64s
    key_length: Int64s
    value_offset: Int64s
    value_length: Int64s
    tag: Int64s
    plain: bool

    @property
    def count(self) -> int:
        """How many entries these are."""
        return len(self.tag)

    @property
    def sequence(self) -> Int64s:
        """The sequence number of each entry."""
        return self.tag >> 8

    @property
    def type(self) -> Int64s:
        """The type of each entry: 0 deletion, 1 value, 2 merge operand, 7 single deletion."""
        return self.tag & 0xFF


class Table:
    """An open table file.

    Attributes:
        path: of the file, for messages; None if it is not known.
        properties: what the table says about itself; no entry was decoded for it.
    """

    path: str | None
    properties: TableProperties

    def entries(self) -> Iterator[EntryBlock]:
        """All entries in the order of the file: by user key, the newest of a key first.

        Every block's checksum is verified before a byte of it is used, the order of the keys and,
        at the end, the number of entries that the properties tell.

        Raises:
            DecodeError: the file is not what its format says; carries path and offset.
            OSError: it cannot be read.
        """
        raise NotImplementedError


def open_table(source: Source, path: str | None = None, limits: Limits = LIMITS) -> Table:
    """Open a table file: its footer, properties, index and range deletions; no data block.

    Args:
        source: the bytes of the file.
        path: of the file, for the errors of this function and of the table's methods.
        limits: ``frame_bytes`` for a block after decompression, ``record_bytes`` for a key or
            value, ``block_bytes`` for the entries that are held at once, ``ratio``.

    Raises:
        DecodeError: the file is not what its format says, or has a feature that is not read.
        OSError: it cannot be read.
    """
    raise NotImplementedError
