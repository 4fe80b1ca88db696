"""Merge of the entries of several tables into live keys; ``sst_live.c`` does the same."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from inspector.kernel._arguments import check_spans, integers, same_length, writable
from inspector.kernel.record_layout import BAD_ORDER, FULL, MORE

_PUT, _MERGE = 1, 2  # Types of entries that make a value.


def table_live(  # noqa: PLR0913 - buffers with spans, as in C
    buffer: Any,
    offsets: Any,
    lengths: Any,
    tags: Any,
    runs: Any,
    bounds: Any,
    bound_offsets: Any,
    bound_lengths: Any,
    sequences: Any,
    state: Any,
    order: Any,
    pieces: Any,
) -> tuple[int, int, int]:
    """Merge sorted runs of entries, and find for each user key the entries that make its value.

    The newest entry of a key decides: a value is live, a deletion of either kind is not, and a
    merge operand is added to the older value. Entries below the sequence number of a deletion of a
    range that has their key count as deleted.

    The spans are user keys. ``tags`` has sequence number << 8 | type of each entry. ``runs`` has
    where each run starts in these arrays, and where the last one ends. In a run, entries ascend by
    user key and descend by tag. The bounds are spans too, two for each deleted range, which is from
    its first bound to before its second. The ranges ascend and do not overlap; ``sequences`` has a
    number for each. ``state`` has two numbers: the first range to compare, read and written; and,
    with another status than MORE, the entry that was met.

    Returns:
        A status (MORE; FULL; BAD_ORDER for two entries of a key with one sequence number), the
            number of live keys, and the number of entries in ``order``. It takes those that make a
            value, key by key, the oldest first; ``pieces`` takes the number of entries of each key.
    """
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    entries, ends = integers(tags), integers(runs).tolist()
    same_length(entries, starts)
    limits, lower_bounds, bytes_each = check_spans(bounds, bound_offsets, bound_lengths)
    ranges = integers(sequences)
    same_length(lower_bounds, np.empty(2 * len(ranges)))
    position = writable(state, np.int64)
    same_length(position, np.empty(2))
    ascending = sorted(ends) == ends and (not ends or 0 <= ends[0] <= ends[-1] <= len(entries))
    if int(position[0]) < 0 or not ascending:
        raise ValueError("a span lies outside of the buffer")

    def run(number: int) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield the entries of a run in the order of the merge."""
        for position in range(ends[number], ends[number + 1]):
            key = bytes(view[starts[position] : starts[position] + sizes[position]])
            yield key, -int(entries[position]), number, position

    def bound(number: int) -> bytes:
        """Return the bytes of a bound."""
        return bytes(limits[lower_bounds[number] : lower_bounds[number] + bytes_each[number]])

    merged = heapq.merge(*(run(number) for number in range(len(ends) - 1)))
    result = _Found(writable(order, np.int64), writable(pieces, np.int64))
    first, status = int(position[0]), MORE
    upper_bounds = [bound(number) for number in range(2 * first + 1, len(lower_bounds), 2)]
    for key, group in groupby(merged, key=lambda entry: entry[0]):
        current = first + bisect_right(upper_bounds, key)
        position[0] = current
        inside = current < len(ranges) and bound(2 * current) <= key
        status = result.take(group, int(ranges[current]) if inside else 0)
        if status != MORE:
            break
    position[1] = 0 if status == MORE else result.met
    return status, result.keys, result.used


class _Found:
    """Live keys that were found, and the entries that make their values."""

    def __init__(self, order: Any, pieces: Any) -> None:
        self._order, self._pieces = order, pieces
        self.keys = self.used = 0  # live ones, and numbers in ``order``
        self.met = 0  # the entry looked at last

    def take(self, group: Iterator[tuple[bytes, int, int, int]], deleted: int) -> int:
        """Add the entries of a key from sequence number ``deleted`` on, and return a status."""
        alive: list[int] = []
        is_open, last = True, -1
        for _, negative, _, position in group:
            tag = -negative
            self.met = position
            if tag >> 8 == last:
                return BAD_ORDER
            last = tag >> 8
            is_open = is_open and last >= deleted
            if is_open and tag & 0xFF in (_PUT, _MERGE):
                if self.used + len(alive) >= len(self._order):
                    return FULL
                alive.append(position)
            is_open = is_open and tag & 0xFF == _MERGE
        if not alive:
            return MORE
        self._order[self.used : self.used + len(alive)] = alive[::-1]
        self.used += len(alive)
        if self.keys >= len(self._pieces):
            return FULL
        self._pieces[self.keys] = len(alive)
        self.keys += 1
        return MORE
