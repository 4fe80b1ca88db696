"""Live keys that several tables have together, each with its newest value.

It is a k-way merge that moves whole blocks of entries. For each open table a block and the next one
are loaded. Keys below the first key of every next block, and below every table that is not open
yet, are complete: no more of their entries can come. If these are the entries of one table alone,
all of them values, they are passed on unchanged.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from inspector.arrays import Int64s, concatenate
from inspector.decode.sst.entries import MERGE, EntryBlock, LiveBlock
from inspector.decode.sst.table import RangeDeletion, Table
from inspector.exceptions import RecordError
from inspector.kernel.loader import kernel
from inspector.kernel.record_layout import MORE
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS, Limits, above_limit

DELIMITER = b","
"""Byte between merged operands (RocksDB's ``StringAppendOperator``, version 1 of Spark's merge
operator). Version 2, the default of 4.3, has nothing between them.
"""

_OPERATOR = "StringAppendOperator"  # merge operator that is read
_HELD_BYTES = 32 << 20  # bytes of all tables that are held at once
_LEAST_HELD = 64 << 10  # least bytes of one table that are held at once


def live_entries(
    tables: Sequence[Table],  # all tables of one column family, in any order
    # ``block_bytes``: most bytes of a table in memory at once; ``record_bytes``: most bytes of a
    # value with all its merge operands
    limits: Limits = LIMITS,
    *,
    delimiter: bytes = DELIMITER,  # between an operand and what is before it
    start: bytes = b"",  # key from which on entries are wanted
    # key before which they are; None for none. What comes of other keys is not what a reader of the
    # database sees.
    end: bytes | None = None,
) -> Iterator[LiveBlock]:
    """Yield the live keys of a database of these tables, in order, in blocks.

    The entry of a key with the highest sequence number decides. Memory is bounded by ``limits``,
    the number of tables whose keys overlap, and the longest value. DecodeError, with path and
    offset: a table breaks its format.
    """
    deletions = [range_deletion for table in tables for range_deletion in table.range_deletions()]
    merge = _Merge(Tombstones.of(deletions), limits, delimiter)
    block_bytes = min(limits.block_bytes, max(_LEAST_HELD, _HELD_BYTES // max(2 * len(tables), 1)))
    keyed = ((table.first_key(), table) for table in tables)
    first_keys = [(key, table) for key, table in keyed if key is not None]
    waiting = deque(sorted(first_keys, key=lambda pair: pair[0]))
    runs: list[_Run] = []
    while runs or waiting:
        bound = min((run.until for run in runs if run.until is not None), default=None)
        if waiting and (not runs or bound is None or waiting[0][0] <= bound):
            bound = waiting[0][0]
        cuts = [(run, run.cut(bound)) for run in runs]
        parts = [(run, position) for run, position in cuts if position > run.at]
        if parts:
            yield from merge.live(parts)
            for run, position in parts:
                run.go_on(position)
        elif waiting and bound == waiting[0][0]:
            _, table = waiting.popleft()
            runs.append(_Run(table, table.entries(block_bytes, start, end)))
        else:
            for run in runs:
                if run.until == bound:
                    run.join()
        runs = [run for run in runs if run.block is not None]


class _Run:
    """Entries of one table, from the next one on.

    Attributes:
        block: loaded entries; None at the end of the table.
        at: index of the first entry in the block that was not taken.
        until: first key of the next block; keys below it are complete. None if there is no next
            block.
    """

    def __init__(self, table: Table, blocks: Iterator[EntryBlock]) -> None:
        self.table = table
        self._blocks = blocks
        self._next = next(self._blocks, None)
        self._shift()

    def _shift(self) -> None:
        """Go to the next block."""
        # the entries at hand, None at the end; and the first of them that was not taken
        self.block, self.at = self._next, 0
        self._next = None if self.block is None else next(self._blocks, None)
        # first key of the next block: the live keys below it are complete; None at the end
        self.until = None if self._next is None else self._next.key(0)

    def cut(self, bound: bytes | None) -> int:
        """Return the index of the first loaded entry whose key is not below a bound.

        Without such an entry, or for the bound None, it is the number of loaded entries.
        """
        assert self.block is not None
        high = self.block.count
        if bound is None or (high and self.block.key(high - 1) < bound):
            return high
        return bisect_left(range(high), bound, self.at, key=self.block.key)

    def go_on(self, position: int) -> None:
        """Continue at an index of the block, or at the next block if it was the last."""
        self.at = position
        if self.block is not None and position == self.block.count:
            self._shift()

    def join(self) -> None:
        """Load the next blocks into this one, because a key continues there."""
        # Load enough to double the bytes at hand, so that a long value is joined only a few times.
        assert self.block is not None
        parts = [_part(self.block, self.at, self.block.count)]
        enough, total = 2 * len(parts[0].buffer), 0
        while self._next is not None and total < enough:
            parts.append(self._next)
            total += len(self._next.buffer)
            self._next = next(self._blocks, None)
        self.block, self.at = _join(parts), 0
        self.until = None if self._next is None else self._next.key(0)


def _part(block: EntryBlock, start: int, end: int) -> EntryBlock:
    """Return the entries from ``start`` to ``end`` of a block, without the bytes of others."""
    if start == 0 and end == block.count:
        return block
    spans = block.spans[:, start:end].copy()
    first, last = int(spans[0, 0]), int(spans[2, -1] + spans[3, -1])
    spans[::2] -= first
    return EntryBlock(block.buffer[first:last], spans, block.tag[start:end], block.plain)


def _join(parts: list[EntryBlock]) -> EntryBlock:
    """Return the entries of several blocks as one block."""
    buffers = [part.buffer for part in parts]
    spans = np.concatenate([part.spans for part in parts], axis=1)
    starts = np.cumsum([0, *map(len, buffers[:-1])])
    spans[::2] += np.repeat(starts, [part.count for part in parts])
    tags = np.concatenate([part.tag for part in parts])
    return EntryBlock(b"".join(buffers), spans, tags, plain=False)


class _Merge:
    """Decides which entries are live; ``delimiter`` is put between merged operands."""

    def __init__(self, tombstones: Tombstones, limits: Limits, delimiter: bytes) -> None:
        self._tombstones, self._limits, self._delimiter = tombstones, limits, delimiter
        self._state = np.zeros(2, np.int64)

    def live(self, parts: list[tuple[_Run, int]]) -> Iterator[LiveBlock]:
        """Yield the live keys among entries of runs up to an index; they must be complete."""
        if len(parts) == 1 and not len(self._tombstones):
            (run, end) = parts[0]
            block = run.block
            if block is not None and block.plain:
                yield LiveBlock(block.buffer, block.spans[:, run.at : end])
                return
        blocks = [_part(run.block, run.at, end) for run, end in parts if run.block is not None]
        result = self._resolve(blocks, [run.table for run, _ in parts])
        if result.count:
            yield result

    def _resolve(self, blocks: list[EntryBlock], tables: list[Table]) -> LiveBlock:
        """Return the live keys of several tables' entries. RecordError: a sequence number twice."""
        all_of_them = _join(blocks)
        runs = np.cumsum([0, *(block.count for block in blocks)])
        order, pieces = np.empty((2, all_of_them.count), np.int64)
        stones = self._tombstones
        status, keys, used = kernel().table_live(
            *(all_of_them.buffer, all_of_them.spans[0], all_of_them.spans[1], all_of_them.tag),
            *(runs, stones.buffer, stones.offset, stones.length, stones.sequence, self._state),
            *(order, pieces),
        )
        if status != MORE:
            number = int(np.searchsorted(runs, self._state[1], "right")) - 1
            error = RecordError("a key that is there twice with one sequence number")
            raise error.at(tables[number].path)
        for block, table in zip(blocks, tables, strict=True):
            operator = table.properties.merge_operator
            if operator != _OPERATOR and not block.plain and bool((block.type == MERGE).any()):
                text = f"operands of the merge operator {operator[:80]!r}, expected {_OPERATOR}"
                raise RecordError(text).at(table.path)
        return self._values(all_of_them, order[:used], pieces[:keys], tables[0])

    def _values(self, block: EntryBlock, order: Int64s, pieces: Int64s, table: Table) -> LiveBlock:
        """Return keys with their values, joined if a value has several pieces.

        ``order`` has the entries of all pieces, ``pieces`` their number for each key. LimitError: a
        merged value is too long.
        """
        first = np.cumsum(pieces) - pieces
        spans, buffer = block.spans.take(order[first], axis=1), block.buffer
        merged_keys = np.flatnonzero(pieces > 1)
        if len(merged_keys):
            lengths = np.add.reduceat(block.spans[3, order], first)[merged_keys]
            lengths += (pieces[merged_keys] - 1) * len(self._delimiter)
            if int(lengths.max()) > self._limits.record_bytes:
                text = f"a merged value of {int(lengths.max()):,} bytes"
                raise above_limit("record_bytes", text, self._limits).at(table.path)
            spans[2, merged_keys] = len(buffer) + np.cumsum(lengths) - lengths
            spans[3, merged_keys] = lengths
            # The values one behind the other, and a delimiter between the pieces of each.
            ordered_pieces = order[np.repeat(pieces > 1, pieces)]
            starts, sizes = np.empty((2, 2 * len(ordered_pieces)), np.int64)
            starts[0::2], sizes[0::2] = block.spans[2:, ordered_pieces]
            starts[1::2], sizes[1::2] = len(buffer), len(self._delimiter)
            sizes[2 * np.cumsum(pieces[merged_keys]) - 1] = 0  # none behind the last piece of a key
            buffer += kernel().gather(buffer + self._delimiter, starts, sizes)
        return LiveBlock(buffer, spans)


@dataclass(frozen=True, slots=True, eq=False)
class Tombstones:
    """Disjoint ranges of deleted keys, ascending."""

    buffer: bytes  # bytes that the offsets refer to
    # where each bound is, two for a range: its first key, and the first key after it
    offset: Int64s
    length: Int64s  # bytes of each bound
    sequence: Int64s  # for each range, the sequence number below which entries are deleted

    @classmethod
    def of(cls, deletions: Iterable[RangeDeletion]) -> Tombstones:
        """Return the union of range deletions as disjoint ranges."""
        ranges = list(_disjoint(deletions))
        bounds = [bound for item in ranges for bound in (item.start, item.end)]
        sequence = np.array([item.sequence for item in ranges], np.int64)
        return cls(*concatenate(bounds), sequence)

    def __len__(self) -> int:
        return len(self.sequence)


def _disjoint(deletions: Iterable[RangeDeletion]) -> Iterator[RangeDeletion]:
    """Yield the ranges between neighbouring bounds, with the newest deletion of each."""
    pending = sorted((d for d in deletions if d.start < d.end), key=lambda d: d.start)
    bounds = sorted({bound for deletion in pending for bound in (deletion.start, deletion.end)})
    covering: list[tuple[int, bytes]] = []  # the newest first: minus its sequence number, its end
    position = 0
    for start, end in pairwise(bounds):
        while position < len(pending) and pending[position].start <= start:
            heapq.heappush(covering, (-pending[position].sequence, pending[position].end))
            position += 1
        while covering and covering[0][1] <= start:
            heapq.heappop(covering)
        if covering:
            yield RangeDeletion(start, end, -covering[0][0])
