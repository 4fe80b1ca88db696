"""RocksDB's MANIFEST: the log of edits that define the table files of a database.

The log has blocks of 32 KiB. A fragment is within one block (``log::Reader``), integers little
endian::

    4   CRC32C of the type, of the log number if there is one, and of the data; masked
    2   number of bytes of data
    1   type: 1 a whole record, 2 its first part, 3 a middle part, 4 its last part;
        5 to 8: the same of a log that is written again, with 4 bytes of log number behind the type

Fewer bytes than a header at the end of a block are padding. A record is a ``VersionEdit``: varint
tags, each with its fields. Tags from 8192 on have a length, and may be passed over.

RocksDB reads a MANIFEST that ends within a fragment up to the last whole record. It refuses a
MANIFEST whose checksum is wrong, or that lacks the numbers with which it continues. It refuses
edits that contradict each other: a table is added twice or deleted from a level that it is not on
(``VersionBuilder``), a column family is unknown or added twice, or keys have another order
(``VersionEditHandler``). It crashes if the default column family is dropped. This was seen with
RocksDB 8.3.2 and 9.8.4, those of Spark 3.5 and 4.3.

RocksDB opens two kinds of contradiction without some rows. It hides entries whose sequence number
is above ``last_sequence``. RocksDB 9.8.4 begins without any table if tables of one level have
overlapping keys; 8.3.2 refuses the database.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple, NoReturn

from inspector.decode.rocksdb_crc import rocksdb_crc32c
from inspector.exceptions import NewerFormError, RecordError
from inspector.light_dataclasses import dataclass, field
from inspector.plain_text import escape

BLOCK = 1 << 15  # bytes of a block of the log
_HEADER = struct.Struct("<IHB")  # checksum, length and type of a fragment
_LOG_NUMBER = 4  # bytes of the log number in a fragment of types 5 to 8
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4  # Types of fragments: a whole record, or a part of one.
_RECYCLED = 4  # difference between the types of fragments with and without a log number

# Tags of an edit.
_COMPARATOR, _LOG, _NEXT_FILE, _LAST_SEQUENCE, _CURSOR, _DELETED = 1, 2, 3, 4, 5, 6
_PREVIOUS_LOG, _LEAST_LOG = 9, 10  # More tags of an edit.
_NEW_FILES = {7: 1, 100: 2, 102: 3, 103: 4}  # form of a new table's entry by its tag
_FAMILY, _FAMILY_ADD, _FAMILY_DROP, _MOST_FAMILY = 200, 201, 202, 203  # Tags about column families.
# tags with one number
_NUMBERS = (_LOG, _NEXT_FILE, _LAST_SEQUENCE, _PREVIOUS_LOG, _LEAST_LOG, _MOST_FAMILY)
_WITH_LENGTH = 1 << 13  # bit of tags that are followed by a length
# Tags above _WITH_LENGTH that RocksDB wrote without a length before it had that rule:
# additions and garbage of blob files, additions and deletions of logs of writes.
_WITHOUT_LENGTH = range(_WITH_LENGTH + 2, _WITH_LENGTH + 6)
# Tags of a new table's fields: the end, the unique id; and a bit of those that must be known.
_LAST_FIELD, _UNIQUE_ID, _REFUSED_IF_UNKNOWN = 1, 12, 1 << 6
_PATH = 65  # field with the number of a path, which does not matter here
_COMPARATOR_OF_SPARK = "leveldb.BytewiseComparator"  # the order of bytes, RocksDB's default
_LEVELS = 7  # default of RocksDB's option ``num_levels``
_SEQUENCE_BYTES = 8  # at the end of an internal key: sequence number << 8 | type
_SHOWN = 80  # characters of a name that a message shows
_ID = struct.Struct("<QQ")  # the two numbers of a unique id
_NONE = (0, 0)  # unique id of a table without one


class LiveTable(NamedTuple):
    """A table file of the database."""

    size: int  # its bytes
    unique_id: tuple[int, int] | None  # its identity; None if the MANIFEST has none


class _Placed(NamedTuple):
    """A table on a level of the database."""

    level: int  # its level; 0 is the newest
    number: int  # number of the table file
    table: LiveTable  # size and identity
    smallest: bytes  # smallest internal key
    largest: bytes  # largest internal key
    sequence: int  # largest sequence number of its entries; 0 if the edit has none


class Overlap(NamedTuple):
    """Two tables of one level whose ranges of keys overlap."""

    level: int  # the level
    numbers: tuple[int, int]  # numbers of the two table files


@dataclass(frozen=True)
class Manifest:
    """The state of a database after all edits of its MANIFEST."""

    tables: Mapping[int, LiveTable] = field(default_factory=dict)  # live tables by their number
    last_sequence: int = 0  # the number up to which RocksDB shows entries
    # largest sequence number of the entries of all live tables; 0 if no edit has it
    largest_sequence: int = 0
    overlap: Overlap | None = None  # first overlap on a level below 0; None if there is none
    # numbers that RocksDB needs to open the database and that no edit has, by RocksDB's names
    lacks: tuple[str, ...] = ()


def log_records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (offset of its first fragment, record) for each record of a log, as RocksDB reads them.

    RecordError: RocksDB reports a corruption. NewerFormError: the type of a fragment is not known.
    """
    parts: list[bytes] = []
    start = 0
    for position, kind, fragment in _fragments(data):
        if kind in (_FULL, _FIRST):
            if parts:
                raise RecordError("partial record without end", offset=start)
            start = position
        elif not parts:
            raise RecordError("missing start of fragmented record", offset=position)
        parts.append(fragment)
        if kind in (_FULL, _LAST):
            yield start, b"".join(parts)
            parts.clear()


def _fragments(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the offset, the type, 1 to 4, and the data of each fragment of a log."""
    position, size = 0, len(data)
    while position < size:
        end = min(position - position % BLOCK + BLOCK, size)
        if end - position < _HEADER.size:
            position = end  # padding, or a log that ends within a header
            continue
        checksum, length, kind = _HEADER.unpack_from(data, position)
        if not kind and not length:
            position = end  # space that was allocated and never written
            continue
        header = _HEADER.size + (_LOG_NUMBER if kind > _LAST else 0)
        if position + header + length > end:
            if end == size:
                return  # the log ends within a fragment
            raise RecordError("bad record length", offset=position)
        content = data[position + _HEADER.size - 1 : position + header + length]
        _check_fragment(content, checksum, kind, position)
        yield position, (kind - 1) % _RECYCLED + 1, content[1 + header - _HEADER.size :]
        position += header + length


def _check_fragment(content: bytes, checksum: int, kind: int, position: int) -> None:
    """Raise RecordError for a wrong checksum, and NewerFormError for a type that is not known.

    ``content`` begins with the type of the fragment.
    """
    if rocksdb_crc32c(content) != checksum:
        raise RecordError("checksum mismatch", offset=position)
    if not _FULL <= kind <= _LAST + _RECYCLED:
        raise NewerFormError(f"a fragment of type {kind}, expected 1 to 8", offset=position)
    if kind > _LAST and any(content[1 : 1 + _LOG_NUMBER]):
        # Its log number is not this log's: it is a remainder of an earlier log.
        raise NewerFormError("a fragment of another log", offset=position)


def read_manifest(data: bytes) -> Manifest:
    """Return the state of the database after all edits of a MANIFEST.

    RecordError, with the offset: RocksDB does not open the database. NewerFormError, which is a
    DecodeError too: it may, but the MANIFEST has parts that are not known.
    """
    tree, numbers = _Tree(), dict[int, int]()
    for offset, record in log_records(data):
        edit = _Edit(record, offset)
        numbers |= edit.numbers
        tree.apply(edit)
    lacks = tuple(noun for tag, noun in _REQUIRED.items() if tag not in numbers)
    if lacks:
        return Manifest(lacks=lacks)
    live = tree.live()
    return Manifest(
        {placed.number: placed.table for placed in live},
        numbers[_LAST_SEQUENCE],
        max((placed.sequence for placed in live), default=0),
        _first_overlap(live),
    )


def _first_overlap(live: Iterable[_Placed]) -> Overlap | None:
    """Return the first two tables of a level below 0 whose ranges overlap, as RocksDB compares."""
    ordered = [placed for placed in live if placed.level]
    ordered.sort(key=lambda placed: (placed.level, _order(placed.smallest)))
    for first, second in pairwise(ordered):
        if first.level == second.level and _order(first.largest) >= _order(second.smallest):
            return Overlap(first.level, (first.number, second.number))
    return None


def _order(internal_key: bytes) -> tuple[bytes, int]:
    """Return a sort key of an internal key: by user key, then the newest entry first."""
    cut = max(0, len(internal_key) - _SEQUENCE_BYTES)
    return internal_key[:cut], -int.from_bytes(internal_key[cut:], "little")


class _Tree:
    """Tables of each column family by their levels, as ``VersionBuilder`` keeps them."""

    def __init__(self) -> None:
        self._names = {0: "default"}  # name of each column family by its number
        # tables by their number, by column family
        self._levels: dict[int, dict[int, _Placed]] = {0: {}}

    def apply(self, edit: _Edit) -> None:
        """Apply an edit. RecordError: RocksDB refuses it."""
        family = edit.family
        if edit.family_name is not None:
            name = escape(edit.family_name)[:_SHOWN]
            if family in self._names:
                edit.refuse(f"MANIFEST adding the same column family twice: {name}")
            self._names[family], self._levels[family] = name, {}
        elif family not in self._names:
            edit.refuse("MANIFEST record referencing unknown column family")
        comparator = edit.comparator
        if comparator not in ("", _COMPARATOR_OF_SPARK):
            name = escape(comparator)[:_SHOWN]
            edit.refuse(f"{_COMPARATOR_OF_SPARK}: does not match existing comparator {name}")
        tables = self._levels[family]
        for level, number in edit.deleted:
            placed = tables.pop(number, None)
            actual = -1 if placed is None else placed.level
            if actual != level:
                where = "not in the LSM tree" if actual < 0 else f"on level {actual}"
                edit.refuse(
                    f"Cannot delete table file #{number} from level {level} since it is {where}"
                )
        for placed in edit.added:
            number = placed.number
            if number in tables:
                edit.refuse(
                    f"Cannot add table file #{number} to level {placed.level} since it is already "
                    f"in the LSM tree on level {tables[number].level}"
                )
            tables[number] = placed
        if edit.drops_family:
            del self._names[family], self._levels[family]

    def live(self) -> tuple[_Placed, ...]:
        """Return the live tables. RecordError: RocksDB refuses the result."""
        unopened = [name for number, name in self._names.items() if number]
        if unopened:
            raise RecordError(f"Column families not opened: {', '.join(unopened)[:_SHOWN]}")
        if 0 not in self._levels:
            raise RecordError("the default column family is dropped, and the process crashes")
        live = tuple(self._levels[0].values())
        if any(placed.level >= _LEVELS for placed in live):
            raise RecordError("db has more levels than options.num_levels")
        return live


# numbers without which RocksDB does not open a database (VersionEditHandler), in its order
_REQUIRED = {
    _LOG: "log_file_number",
    _NEXT_FILE: "next_file_number",
    _LAST_SEQUENCE: "last_sequence",
}


def _has_length(tag: int) -> bool:
    """Return True if RocksDB passes over an unknown tag by the length that follows it."""
    return bool(tag & _WITH_LENGTH) and tag not in _WITHOUT_LENGTH


class _Edit:
    """One VersionEdit: the tables that it adds and deletes, and the numbers that it sets.

    Attributes:
        family: number of the column family of its tables.
        drops_family: True if it drops that family.
        numbers: numbers that it sets, by tag.
        family_name: name of the column family that it adds; None if it adds none.
        comparator: name of the order of keys; empty if it names none.
        deleted: level and number of each deleted table.
        added: added tables.
    """

    def __init__(self, data: bytes, offset: int) -> None:
        self._data, self._offset, self._position = data, offset, 0
        self.family = 0  # number of the column family of its tables
        self.drops_family = False
        self.numbers: dict[int, int] = {}  # numbers that it sets, by their tags
        self.family_name: str | None = None  # name of the column family that it adds
        self.comparator = ""  # name of the order of keys; no text if it does not say one
        self.deleted: dict[tuple[int, int], None] = {}  # levels and numbers of tables
        self.added: list[_Placed] = []
        while self._position < len(data):
            self._read(self._varint())

    def _read(self, tag: int) -> None:
        """Read the fields of a tag. NewerFormError: the tag is not known."""
        if tag in _NEW_FILES:
            self._new_file(_NEW_FILES[tag])
        elif tag == _DELETED:
            self.deleted[self._varint(), self._varint()] = None
        elif tag in _NUMBERS:
            self.numbers[tag] = self._varint()
        elif tag == _FAMILY:
            self.family = self._varint()
        elif tag == _FAMILY_DROP:
            self.drops_family = True
        elif tag == _CURSOR:
            self._varint()
            self._bytes()
        elif tag == _COMPARATOR:
            self.comparator = self._bytes().decode("utf-8", "replace")
        elif tag == _FAMILY_ADD:
            self.family_name = self._bytes().decode("utf-8", "replace")
        elif _has_length(tag):
            self._bytes()
        else:
            # Groups of edits and blob files, which Spark does not use, or a tag of a later release.
            raise NewerFormError(f"an edit with tag {tag}", offset=self._offset)

    def refuse(self, message: str) -> NoReturn:
        """Raise RecordError with RocksDB's message about the edit."""
        raise RecordError(message, offset=self._offset)

    def _new_file(self, form: int) -> None:
        """Read an added table in one of the four forms of its entry."""
        level, number = self._varint(), self._varint()
        if form == _NEW_FILES[102]:
            self._varint()
        size = self._varint()
        smallest, largest = self._bytes(), self._bytes()
        sequence = 0
        if form > _NEW_FILES[7]:
            self._varint()
            sequence = self._varint()
        unique_id = None
        while form == _NEW_FILES[103]:
            tag = self._varint()
            if tag == _LAST_FIELD:
                break
            value = self._bytes()
            if tag == _UNIQUE_ID:
                if len(value) < _ID.size:
                    message = f"a unique id of {len(value)} bytes"
                    raise NewerFormError(message, offset=self._offset)
                first, second = _ID.unpack_from(value)
                unique_id = None if (first, second) == _NONE else (first, second)
            elif tag & _REFUSED_IF_UNKNOWN and tag != _PATH:
                raise NewerFormError(f"a table with field {tag}", offset=self._offset)
        table = LiveTable(size, unique_id)
        self.added.append(_Placed(level, number, table, smallest, largest, sequence))

    def _varint(self) -> int:
        """Return the next number. RecordError: the edit ends within it."""
        data, value, bits = self._data, 0, 0
        first = data[self._position] if self._position < len(data) else 0x80
        if first < 0x80:  # most numbers have one byte, whose highest bit is not set
            self._position += 1
            return first
        for position in range(self._position, min(len(data), self._position + 10)):
            byte = data[position]
            value |= (byte & 0x7F) << bits
            if byte < 0x80:
                self._position = position + 1
                return value
            bits += 7
        raise RecordError("an edit ends within a number", offset=self._offset)

    def _bytes(self) -> bytes:
        """Return the next bytes with a length before them. RecordError: fewer are left."""
        length = self._varint()
        start = self._position
        if length > len(self._data) - start:
            message = f"{length} bytes where {len(self._data) - start} are left in an edit"
            raise RecordError(message, offset=self._offset)
        self._position = start + length
        return self._data[start : self._position]
