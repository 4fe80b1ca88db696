"""Records of one store, from the entries of a changelog or a snapshot.

A value with several rows (a list, the rows of a join of format 4) becomes one record for each row.
Its key is the key's row with one more column, the position in the list. So no list is held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int32s, Int64s, distinct, longer
from inspector.decode.composed_rows import compose_rows, constant
from inspector.decode.encoded_rows import (
    FAMILY_BYTES,
    KeyDecoder,
    Spans,
    of_family,
    pieces_of,
    plain_rows,
    sizes_at,
)
from inspector.decode.records import (
    REMOVED,
    ROW_CHECKSUM_BYTES,
    RecordBlock,
    Scanned,
    checksum_matches,
)
from inspector.exceptions import RecordError, RowError
from inspector.kernel.loader import kernel
from inspector.kernel.record_layout import KIND_MERGE
from inspector.light_dataclasses import dataclass
from inspector.providers.rocksdb.avro_entries import AvroEntries

_GROWN_BY = 1024  # lengths of lists for which room is made at once


@dataclass(frozen=True)
class Encoding:
    """Encoding of the entries of one store."""

    keys: KeyDecoder  # decodes keys
    family: int | None = None  # number of its column family; None if the store has none
    # True if each value, and the key of a removal, begins with a checksum
    row_checksum: bool = False
    several_values: bool = False  # True if a value may have several rows
    delimiter_bytes: int = 1  # bytes between rows that were merged into one value
    avro: AvroEntries | None = None  # converts Avro rows; None for UnsafeRows


class _Entries(NamedTuple):
    """Entries of a block that belong to the store, without column family and checksums."""

    keys: Spans  # where each key is, as it is arranged in the file
    values: Spans  # where each value is, as it is encoded
    removed: Bools  # True for a removal
    merged: Bools  # True if the value is appended to the existing one
    wrong: tuple[int, ...]  # indexes of entries whose checksum is wrong
    places: Int64s  # where the keys are in the block as it was read


def decode_block(
    scanned: Scanned, first_record: int, encoding: Encoding, lists: ListLengths | None
) -> RecordBlock | None:
    """Return the store's records in a block; None if there are none.

    ``first_record`` is the number of the store's records before it in the file. ``lists`` has the
    lengths of lists if values have several rows. RecordError: an entry is not encoded so; it has
    the offset in the decompressed file.
    """
    try:
        entries = _entries(scanned, encoding)
        if not len(entries.removed):
            return None
        if not encoding.several_values and entries.merged.any():
            offset = int(entries.keys.offsets[np.argmax(entries.merged)])
            raise RecordError("a merge in a store of single values", offset=offset)  # noqa: TRY301
        if encoding.avro is not None:
            parts = encoding.avro.with_unsafe_rows(scanned.buffer, entries.keys, entries.values)
            scanned = scanned._replace(buffer=parts.buffer)
            entries = entries._replace(keys=parts.keys, values=parts.values)
        if encoding.several_values and lists is not None:
            return _lists(scanned, first_record, entries, encoding, lists)
        return _rows(scanned, first_record, entries, encoding)
    except (RecordError, RowError) as error:
        location = None if error.offset is None else error.offset + scanned.raw_offset
        message = error.message.replace("(offset in its block)", "").rstrip()
        raise RecordError(f"{message} (raw offset)", offset=location) from None


def _entries(scanned: Scanned, encoding: Encoding) -> _Entries:
    """Return the block's entries that belong to the store. RecordError: a short checksum."""
    buffer = scanned.buffer
    key_at, key_size, value_at, value_size = scanned.spans
    keys, values, removed = Spans(key_at, key_size), Spans(value_at, value_size), value_size < 0
    sums = np.where(removed, key_at, value_at)
    if encoding.row_checksum:
        short = np.where(removed, key_size, value_size) < ROW_CHECKSUM_BYTES
        if short.any():
            raise RecordError("no room for a row checksum", offset=int(key_at[np.argmax(short)]))
        keys = Spans(
            np.where(removed, key_at + ROW_CHECKSUM_BYTES, key_at),
            np.where(removed, key_size - ROW_CHECKSUM_BYTES, key_size),
        )
    kinds = scanned.kinds
    merged = np.zeros(len(removed), np.bool_) if kinds is None else kinds == KIND_MERGE
    if encoding.family is not None:
        own_rows = np.flatnonzero(of_family(buffer, keys, encoding.family))
        if len(own_rows) < len(removed):
            keys, values = keys.select(own_rows), values.select(own_rows)
            removed, merged, sums = removed[own_rows], merged[own_rows], sums[own_rows]
    wrong: tuple[int, ...] = ()
    if encoding.row_checksum:
        wrong, values = _check(buffer, keys, values, removed, sums, encoding)
    if encoding.family is not None:
        keys = keys.shrink(FAMILY_BYTES)
    return _Entries(keys, values, removed, merged, wrong, keys.offsets)


def _check(
    buffer: bytes, keys: Spans, values: Spans, removed: Bools, sums: Int64s, encoding: Encoding
) -> tuple[tuple[int, ...], Spans]:
    """Return the indexes of the rows with wrong checksums, and the spans of the values.

    In a store of single values the spans no longer include checksum and size. If a value may have
    several rows, the spans are unchanged and still include the checksum of each row. RecordError:
    an impossible size, or several rows in a store of single values.
    """
    # A put has checksum, size and value, and so has each value that is merged to it; the checksum
    # covers key and value (KeyValueChecksumEncoder, 4.2 on).
    wrong = set()
    removed_rows = np.flatnonzero(removed)
    for row, sum_at, start, size in zip(
        *(
            part.tolist()
            for part in (
                removed_rows,
                sums[removed_rows],
                keys.offsets[removed_rows],
                keys.lengths[removed_rows],
            )
        ),
        strict=True,
    ):
        if not checksum_matches(buffer, sum_at, start, size, 0, REMOVED):
            wrong.add(row)
    puts = np.flatnonzero(~removed)
    parts = pieces_of(buffer, values.select(puts), encoding.delimiter_bytes, ROW_CHECKSUM_BYTES)
    rows, pieces = puts[parts.owners], parts.pieces
    for row, start, size in zip(
        rows.tolist(), pieces.offsets.tolist(), pieces.lengths.tolist(), strict=True
    ):
        key = int(keys.offsets[row]), int(keys.lengths[row])
        if not checksum_matches(buffer, start - 2 * ROW_CHECKSUM_BYTES, *key, start, size):
            wrong.add(row)
    if not encoding.several_values:
        if len(rows) > len(puts):
            twice = int(rows[:-1][np.diff(rows) == 0][0])
            raise RecordError("several values in one", offset=int(keys.offsets[twice]))
        values = Spans(values.offsets.copy(), values.lengths.copy())
        values.offsets[rows], values.lengths[rows] = pieces
    return tuple(sorted(wrong)), values


def _rows(
    scanned: Scanned, first_record: int, entries: _Entries, encoding: Encoding
) -> RecordBlock:
    """Return the records of entries whose values have one row."""
    value_at, value_size = _plain_values(scanned.buffer, entries)
    if encoding.keys.in_place:
        keys = plain_rows(scanned.buffer, entries.keys)
        buffer, key_at, key_size = scanned.buffer, *keys
        locations = None if encoding.avro is None else entries.places + scanned.raw_offset
    else:
        rows = encoding.keys.rows(scanned.buffer, entries.keys)
        buffer, key_at, key_size = rows.data + scanned.buffer, rows.offsets, rows.lengths
        value_at = value_at + len(rows.data)
        locations = entries.places + scanned.raw_offset
    return RecordBlock(
        *(buffer, first_record, scanned.raw_offset, key_at, key_size, value_at, value_size),
        checksum_mismatches=entries.wrong,
        puts_only=not entries.removed.any(),
        places=locations,
    )


def _plain_values(buffer: bytes, entries: _Entries) -> tuple[Int64s, Int64s]:
    """Return offsets and lengths of values' UnsafeRows; a removal's length is negative."""
    if not entries.removed.any():
        return plain_rows(buffer, entries.values)
    put = np.flatnonzero(~entries.removed)
    offsets, lengths = entries.values.offsets.copy(), entries.values.lengths.copy()
    rows = plain_rows(buffer, entries.values.select(put))
    offsets[put], lengths[put] = rows
    return offsets, lengths


def _lists(
    scanned: Scanned, first_record: int, entries: _Entries, encoding: Encoding, lists: ListLengths
) -> RecordBlock:
    """Return a record for each row of each value, and for each row that the entry removes."""
    buffer = scanned.buffer
    owners, values = _elements(buffer, entries, encoding)
    counts = np.bincount(owners, minlength=len(entries.removed))
    list_places: Places = lists.apply(buffer, entries.keys, entries.merged, counts)
    columns = [c.select(list_places.entries) for c in encoding.keys.columns(buffer, entries.keys)]
    columns.append(constant(list_places.indices))
    rows = compose_rows(buffer, columns, len(list_places.entries))
    put = list_places.elements >= 0
    value_at = np.full(len(put), 0, np.int64)
    value_size = np.full(len(put), REMOVED, np.int64)
    value_at[put] = values.offsets[list_places.elements[put]] + len(rows.data)
    value_size[put] = values.lengths[list_places.elements[put]]
    wrong = np.isin(list_places.entries, np.array(entries.wrong, np.int64))
    return RecordBlock(
        *(rows.data + buffer, first_record, scanned.raw_offset),
        *(rows.offsets, rows.lengths, value_at, value_size),
        checksum_mismatches=tuple(np.flatnonzero(wrong).tolist()),
        puts_only=bool(put.all()),
        places=entries.places[list_places.entries] + scanned.raw_offset,
    )


def _elements(
    buffer: bytes, entries: _Entries, encoding: Encoding
) -> tuple[npt.NDArray[np.int64], Spans]:
    """Return the rows of all values: the entry that each belongs to, and where it is."""
    put = np.flatnonzero(~entries.removed)
    prefix_size = ROW_CHECKSUM_BYTES if encoding.row_checksum else 0
    values = entries.values.select(put)
    owners, encoded = pieces_of(buffer, values, encoding.delimiter_bytes, prefix_size)
    if encoding.row_checksum:
        encoded = Spans(encoded.offsets + ROW_CHECKSUM_BYTES, sizes_at(buffer, encoded))
    return put[owners], plain_rows(buffer, encoded)


# --- how many rows each value has, so that what is merged gets its place in the list -------------


class Places(NamedTuple):
    """Records that the entries of a block make, in order."""

    entries: Int64s  # index of the entry that each record comes from
    indices: Int64s  # its position in the list
    elements: Int64s  # index of the row that it puts, among the rows of the block; -1 for a removal


class ListLengths:
    """Number of rows of each value of one store, by key; takes 4 bytes for each key.

    Attributes:
        version: version of the lengths; None after a file that could not be read to its end.
    """

    # Files are read in the order of versions, some of them twice: first for their lengths.

    def __init__(self) -> None:
        self.version: int | None = 0  # that the lengths are of; None after a file that broke off
        self._clear()
        self._known: dict[str, list[Int32s]] = {}
        self._replayed: list[Int32s] | None = None
        self._recorded: list[Int32s] = []

    def _clear(self) -> None:
        """Forget all lengths."""
        self._keys = kernel().Interner()
        self._lengths: Int32s = np.zeros(0, np.int32)

    def begin(self, path: str, version: int, *, snapshot: bool) -> None:
        """Start a file: a snapshot with empty lists, a changelog with the previous version's.

        A file that was read before uses the lengths of its first read.
        """
        self._replayed = list(self._known[path]) if path in self._known else None
        self._recorded = []
        if self._replayed is None and (snapshot or self.version != version - 1):
            self._clear()
        if self._replayed is None:
            self.version = None

    def end(self, path: str, version: int) -> None:
        """Finish a file that was read to its end, and keep its lengths for a second read."""
        if self._replayed is None:
            self._known[path] = self._recorded
            self.version = version

    def apply(self, buffer: bytes, keys: Spans, merged: Bools, counts: Int64s) -> Places:
        """Return the records that the next entries of the file make; ``merged`` ones are appended.

        ``counts`` has the number of rows in the value of each entry, 0 for a removal.
        """
        if self._replayed:
            old_counts = self._replayed.pop(0)
        else:
            old_counts = self._before(buffer, keys, merged, counts)
            self._recorded.append(old_counts)
        return _places(old_counts.astype(np.int64), merged, counts)

    def _before(self, buffer: bytes, keys: Spans, merged: Bools, counts: Int64s) -> Int32s:
        """Return the length of each entry's list before it, and update the lengths."""
        ids = np.empty(len(counts), np.int64)
        self._keys.intern(buffer, keys.offsets, keys.lengths, ids)
        if len(self._keys) > len(self._lengths):
            room = len(self._keys) + _GROWN_BY
            self._lengths = longer(self._lengths, room).astype(np.int32, copy=False)
        lengths = self._lengths
        result: Int32s = np.empty(len(ids), np.int32)
        if len(distinct(ids)) == len(ids):
            result[:] = lengths[ids]
            lengths[ids] = np.where(merged, result + counts, counts)
            return result
        for index, (key, adds, added) in enumerate(
            zip(ids.tolist(), merged.tolist(), counts.tolist(), strict=True)
        ):
            result[index] = lengths[key]
            lengths[key] = lengths[key] + added if adds else added
        return result


def _places(old_counts: Int64s, merged: Bools, counts: Int64s) -> Places:
    """Return the records of entries: for each the rows that it puts, then those it removes."""
    gone = np.where(merged, 0, np.maximum(old_counts - counts, 0))
    total = counts + gone
    entries = np.repeat(np.arange(len(total), dtype=np.int64), total)
    start = np.repeat(np.cumsum(total) - total, total)
    entry_index = np.arange(int(total.sum()), dtype=np.int64) - start
    indices = entry_index + np.repeat(np.where(merged, old_counts, 0), total)
    put = entry_index < counts[entries]
    first = np.cumsum(counts) - counts
    elements = np.where(put, first[entries] + entry_index, -1)
    return Places(entries, indices, elements)
