"""Raw blocks to records: puts and removals, as spans over one buffer.

The framing is :func:`inspector.kernel._scan.scan`. This module feeds it bounded buffers and checks
a file as a whole: an end mark, nothing after it, no removal in a snapshot. Row checksums
(``StateStoreRowChecksum``, 4.2 on) are a CRC32C in each record, little endian: before a put's
value, of key and value; before a removal's key, of the key.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from inspector.arrays import Int64s, concatenate
from inspector.exceptions import DecodeError, RecordError, TailError, TruncatedError
from inspector.kernel.loader import kernel
from inspector.kernel.record_layout import BAD_KEY_LENGTH, BAD_KIND, FULL, MORE, OVER_LIMIT, SPAN
from inspector.light_dataclasses import dataclass, replace
from inspector.model import LIMITS, Limits, above_limit

REMOVED = -1  # value length of a removal

_ROOM = 1 << 16  # most records in a block, so that the table of spans stays small
_ROOM_TOGETHER = 1 << 13  # most records of small deltas that are read together
_SMALLEST = 8  # bytes of the smallest record: two lengths
_WORD = 8  # bytes of a word; a value has whole words
_DELETE_RANGE = 0x20  # kind of a record that removes a range of keys
# message for such a record
_OF_A_RANGE = "a removal of a range, which no operator of Spark writes and which is not read"


@dataclass(slots=True, eq=False)  # nobody changes one; frozen, it takes five times as long to make
class RecordBlock:
    """Consecutive records of a file, as spans of a buffer; or a selection of them."""

    buffer: bytes  # bytes that the offsets below refer to; several blocks may share it
    first_record: int  # ordinal in the file of the first of the consecutive records
    raw_offset: int  # offset of ``buffer[0]`` in the decompressed file
    key_offset: Int64s  # where each key starts, without its row checksum
    key_length: Int64s  # bytes of each key
    value_offset: Int64s  # where each value starts, without its row checksum
    value_length: Int64s  # bytes of each value, a multiple of 8; -1 for a removal
    # indexes of the records in this block whose row checksum is wrong
    checksum_mismatches: tuple[int, ...] = ()
    puts_only: bool = False  # True if none of them is a removal; False also if that was not checked
    # indexes of these records among the consecutive ones; None if all were kept
    chosen: Int64s | None = None
    # offset of each key in the decompressed file, if ``key_offset`` does not give it; else None
    places: Int64s | None = None

    @classmethod
    def empty(cls, first_record: int) -> RecordBlock:
        """Return a block without records, at a position in the file."""
        no = np.empty(0, np.int64)
        return cls(b"", first_record, 0, no, no, no, no, puts_only=True)

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[bytes, bytes]]) -> RecordBlock:
        """Return a block of puts with these keys and values, at the beginning of a file."""
        if not rows:
            return cls.empty(0)
        buffer, starts, lengths = concatenate([part for row in rows for part in row])
        keys, values = slice(0, None, 2), slice(1, None, 2)
        spans = (starts[keys], lengths[keys], starts[values], lengths[values])
        return cls(buffer, 0, 0, *spans, puts_only=True)

    @property
    def count(self) -> int:
        """Number of records."""
        return len(self.key_offset)

    @property
    def ordinals(self) -> Int64s:
        """Ordinal of each record in the file."""
        if self.chosen is not None:
            return self.chosen + self.first_record
        return np.arange(self.first_record, self.first_record + self.count, dtype=np.int64)

    def select(self, rows: Int64s | slice) -> RecordBlock:
        """Return some of the records; the ordinals of the result are not those in the file."""
        return RecordBlock(
            *(self.buffer, self.first_record, self.raw_offset),
            *(self.key_offset[rows], self.key_length[rows]),
            *(self.value_offset[rows], self.value_length[rows]),
            puts_only=self.puts_only,
            places=None if self.places is None else self.places[rows],
        )

    def part(self, rows: Int64s) -> RecordBlock:
        """Return some of the records, by ascending index, with their ordinals in the file."""
        chosen = rows if self.chosen is None else self.chosen[rows]
        return replace(self.select(rows), chosen=chosen)

    def raw_place(self, index: int) -> int:
        """Return the offset of a record's key in the decompressed file, for messages."""
        if self.places is not None:
            return int(self.places[index])
        return self.raw_offset + int(self.key_offset[index])


def read_records(
    blocks: Iterable[bytes], *, snapshot: bool, row_checksum: bool = False, limits: Limits = LIMITS
) -> Iterator[RecordBlock]:
    """Yield the records of a decompressed delta or snapshot in blocks of one or more, in order.

    Memory is bounded by ``limits.block_bytes``, the largest raw block, and twice the longest
    record, whose bytes are held only as they arrive, whatever length it claims.

    Raises TruncatedError without an end mark; TailError for bytes after it, or what cannot be
    decompressed there; RecordError for an impossible length, a removal in a snapshot, or a value
    without room for its row checksum; LimitError for more than ``limits.record_bytes``.
    """
    for spans in scan_blocks(blocks, limits):
        yield _block(spans, snapshot, row_checksum)


class SmallDeltas(NamedTuple):
    """Small deltas that were read together."""

    block: RecordBlock  # records of all files, file after file
    ends: Int64s  # number of records up to the end of each file
    raw_ends: Int64s  # number of raw bytes up to the end of each file


def read_small_deltas(contents: Sequence[bytes], limits: Limits = LIMITS) -> SmallDeltas | None:
    """Return the records of small deltas of codec ``lz4``, up to the first that is not right.

    Returns None if the first one is not right, or without the C kernel.
    """
    # Only the compiled kernel has this, and runs without the GIL. It leaves files that are read
    # here one by one.
    read = getattr(kernel(), "small_deltas", None)
    if read is None:
        return None
    spans, ends = np.empty((SPAN, _ROOM_TOGETHER), np.int64), np.empty((2, len(contents)), np.int64)
    size_limits = (
        min(limits.block_bytes, limits.ratio_from_bytes),
        limits.frame_bytes,
        limits.record_bytes,
    )
    buffer, files = read(tuple(contents), spans, ends, *size_limits)
    if not files:
        return None
    records, raw = ends[:, :files]
    spans = spans[:, : records[-1]].copy()
    keys, key_sizes, values, value_sizes = spans
    puts_only = bool((value_sizes >= 0).all())
    block = RecordBlock(buffer, 0, 0, keys, key_sizes, values, value_sizes, puts_only=puts_only)
    return SmallDeltas(block, records, raw)


class Scanned(NamedTuple):
    """Consecutive records of a file as spans of a buffer."""

    buffer: bytes  # bytes that the spans refer to
    raw_offset: int  # position of the buffer in the decompressed file
    first_record: int  # ordinal of the first record
    # four rows: key offsets, key lengths, value offsets, value lengths (-1: no value)
    spans: Int64s
    kinds: npt.NDArray[np.uint8] | None  # kind of each record; None if records have no kind

    @property
    def nbytes(self) -> int:
        """Bytes of memory; a buffer that several share counts for each."""
        kinds = 0 if self.kinds is None else self.kinds.nbytes
        return len(self.buffer) + self.spans.nbytes + kinds


def scan_blocks(
    blocks: Iterable[bytes], limits: Limits = LIMITS, *, raw_offset: int = 0, kinds: bool = False
) -> Iterator[Scanned]:
    """Yield the records of a file whose blocks are cut anywhere. Errors as :func:`read_records`.

    The first record starts at ``raw_offset`` of the decompressed file; with ``kinds`` each begins
    with its kind. Errors of the blocks are raised if no end mark comes before them.
    """
    errors: list[DecodeError] = []
    stream = _until_error(blocks, errors)
    position = _Position(raw_offset)
    status = MORE
    while status == MORE:
        buffer = _fill(position.rest, stream, limits.block_bytes)
        if len(buffer) == len(position.rest):
            for error in errors:
                raise error
            raise TruncatedError("no end mark (raw offset)", offset=position.raw + len(buffer))
        status, stop = FULL, 0
        while status == FULL:
            status, spans, stop = _scan(buffer, stop, position, limits, kinds)
            if spans.spans.shape[1]:
                yield spans
                position.records += spans.spans.shape[1]
        position.rest, position.raw = buffer[stop:], position.raw + stop
    if position.rest or any(len(block) for block in stream):
        raise TailError("bytes after the end mark (raw offset)", offset=position.raw)
    for error in errors:
        message = f"{error.message}, behind the end mark of the records"
        raise TailError(message, offset=error.offset) from error


def _until_error(blocks: Iterable[bytes], errors: list[DecodeError]) -> Iterator[bytes]:
    """Yield blocks up to an error, which is added to ``errors``.

    Spark reads no further than the end mark, and sees no error after it.
    """
    try:
        yield from blocks
    except DecodeError as error:
        errors.append(error)


@dataclass(slots=True)
class _Position:
    """Position in a file between two scans."""

    raw: int = 0  # offset of ``rest`` in the decompressed file
    records: int = 0  # number of records before it
    rest: bytes = b""  # bytes that were read and not used yet
    each: int = 64  # about the bytes of a record, by those that were found last


def _fill(remainder: bytes, stream: Iterator[bytes], size: int) -> bytes:
    """Return the remainder followed by further blocks of the stream.

    The result has at least ``size`` bytes and at least twice the bytes of the remainder. It is
    shorter only if the stream ends; without new bytes it is the remainder.
    """
    parts = [remainder] if remainder else []
    total = len(remainder)
    enough = max(size, 2 * total)  # doubling: a long record is joined a few times, not many
    for block in stream:
        parts.append(block)
        total += len(block)
        if total >= enough:
            break
    return b"".join(parts)


def _scan(
    buffer: bytes, start: int, position: _Position, limits: Limits, has_kinds: bool
) -> tuple[int, Scanned, int]:
    """Return the status (MORE, FULL or END), the records from ``start`` on, and where they stop.

    RecordError: an impossible record, if no good one is before it. LimitError: one is too long.
    """
    # How many records the rest may have: about, and one at least.
    room = min(_ROOM, (len(buffer) - start) // max(position.each, _SMALLEST) * 9 // 8 + 16)
    spans, raw = np.empty((SPAN, room), np.int64), position.raw
    kinds = np.empty(room, np.uint8) if has_kinds else None
    status, count, stop = kernel().scan(buffer, start, spans, limits.record_bytes, kinds)
    if status in (BAD_KEY_LENGTH, OVER_LIMIT, BAD_KIND) and count:
        last = spans[:, count - 1]  # first return the good ones before it
        status, stop = FULL, int(last[2] + max(last[3], 0))
    if status == BAD_KIND:
        fault = _OF_A_RANGE if buffer[stop] == _DELETE_RANGE else "impossible kind of a record"
        raise RecordError(f"{fault} (raw offset)", offset=raw + stop)
    if status == BAD_KEY_LENGTH:
        raise RecordError("impossible key length (raw offset)", offset=raw + stop)
    if status == OVER_LIMIT:
        raise above_limit("record_bytes", "key or value too long (raw offset)", limits, raw + stop)
    read_kinds = None if kinds is None else kinds[:count]
    if count:
        position.each = (stop - start) // count
    return status, Scanned(buffer, raw, position.records, spans[:, :count], read_kinds), stop


def _block(scanned: Scanned, snapshot: bool, row_checksum: bool) -> RecordBlock:
    """Return scanned records as a block, checked for removals in a snapshot and row checksums."""
    buffer, raw, first_record, spans, _ = scanned
    if snapshot and (removals := np.flatnonzero(spans[3] == REMOVED)).size:
        if row_checksum:
            # An error in an earlier record comes first, however the file is cut into blocks.
            strip_and_verify(buffer, spans[:, : removals[0]], raw)
        offset = raw + int(spans[0, removals[0]])
        raise RecordError("a snapshot with a removal (raw offset of its key)", offset=offset)
    mismatches = strip_and_verify(buffer, spans, raw) if row_checksum else ()
    bits = int(np.bitwise_or.reduce(spans[3]))  # REMOVED has all of them
    if bits % _WORD:
        # Writers before 2.3 could append 4 bytes to a value, and every later reader drops them
        # (``HDFSBackedStateStoreProvider.updateFromDeltaFile``).
        np.bitwise_and(spans[3], -_WORD, out=spans[3], where=spans[3] != REMOVED)
    keys, key_sizes, values, value_sizes = spans
    return RecordBlock(
        *(buffer, first_record, raw, keys, key_sizes, values, value_sizes, mismatches, bits >= 0)
    )


ROW_CHECKSUM_BYTES = 4  # bytes of a row checksum

_ROW_CHECKSUM = struct.Struct("<I")  # form of a row checksum


def strip_and_verify(buffer: bytes, spans: npt.NDArray[np.int64], raw: int) -> tuple[int, ...]:
    """Remove the row checksum from every record; return the indexes of those with a wrong one.

    ``spans`` (key offset, key length, value offset, value length or -1) are changed in place.
    ``raw`` is the offset of the buffer in the decompressed file, for messages. RecordError: a
    value, or a removal's key, is shorter than a checksum.
    """
    removed = spans[3] < 0
    lengths_used = np.where(removed, spans[1], spans[3])
    if (short := np.flatnonzero(lengths_used < ROW_CHECKSUM_BYTES)).size:
        offset = raw + int(spans[0, short[0]])
        raise RecordError("no room for a row checksum, (raw offset of its key)", offset=offset)
    sums_at = np.where(removed, spans[0], spans[2])
    for moved, offsets, lengths in ((removed, 0, 1), (~removed, 2, 3)):
        spans[offsets][moved] += ROW_CHECKSUM_BYTES
        spans[lengths][moved] -= ROW_CHECKSUM_BYTES
    rows = zip(sums_at.tolist(), *spans.tolist(), strict=True)
    return tuple(i for i, row in enumerate(rows) if not checksum_matches(buffer, *row))


def checksum_matches(
    buffer: bytes, sum_at: int, key_at: int, key_size: int, value_at: int, value_size: int
) -> bool:
    """Return True if the row checksum at an offset is that of key and value.

    A ``value_size`` below 0 means that there is no value.
    """
    (expected,) = _ROW_CHECKSUM.unpack_from(buffer, sum_at)
    spans = google_crc32c.value(buffer[key_at : key_at + key_size])
    if value_size >= 0:
        spans = google_crc32c.extend(spans, buffer[value_at : value_at + value_size])
    return bool(spans == expected)
