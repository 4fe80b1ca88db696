"""How many rows each value of a store has, so that what is merged gets its place in the list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from inspector.arrays import Bools, Int32s, Int64s, distinct, longer
from inspector.decode.encoded_rows import Spans
from inspector.kernel.loader import kernel

_GROWN_BY = 1024


class Places(NamedTuple):
    """The records that the entries of a block make, in order."""

    entries: Int64s  # index of the entry that each comes from
    indices: Int64s  # its place in the list
    elements: Int64s  # index of the row that it puts, among those of the block; -1 for a removal


class ListLengths:
    """The rows of each value of one store, by key; 4 bytes an entry."""

    # Files are read in the order of versions, and some of them a second time: then each entry finds
    # the length that its list had when it was read first.

    def __init__(self) -> None:
        # that the lengths are of; None after a file that could not be read whole
        self.version: int | None = 0
        self._clear()
        self._known: dict[str, list[Int32s]] = {}
        self._replayed: list[Int32s] | None = None
        self._recorded: list[Int32s] = []

    def _clear(self) -> None:
        self._keys = kernel().Interner()
        self._lengths: Int32s = np.zeros(0, np.int32)

    def begin(self, path: str, version: int, *, snapshot: bool) -> None:
        """Start a file: a snapshot from nothing, a changelog from the version before."""
        self._replayed = list(self._known[path]) if path in self._known else None
        self._recorded = []
        if self._replayed is None and (snapshot or self.version != version - 1):
            self._clear()
        if self._replayed is None:
            self.version = None

    def end(self, path: str, version: int) -> None:
        """End a file that could be read whole."""
        if self._replayed is None:
            self._known[path] = self._recorded
            self.version = version

    def apply(self, buffer: bytes, keys: Spans, merged: Bools, counts: Int64s) -> Places:
        """The records that the next entries of the file make; what is ``merged`` is appended."""
        # The counts are the rows of each entry's value; none of a removal's.
        if self._replayed:
            before = self._replayed.pop(0)
        else:
            before = self._before(buffer, keys, merged, counts)
            self._recorded.append(before)
        return _places(before.astype(np.int64), merged, counts)

    def _before(self, buffer: bytes, keys: Spans, merged: Bools, counts: Int64s) -> Int32s:
        """The length of each entry's list before it, and the new lengths kept."""
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
        for at, (key, adds, more) in enumerate(
            zip(ids.tolist(), merged.tolist(), counts.tolist(), strict=True)
        ):
            result[at] = lengths[key]
            lengths[key] = lengths[key] + more if adds else more
        return result


def _places(before: Int64s, merged: Bools, counts: Int64s) -> Places:
    """Of each entry: the rows that it puts, then the places beyond them that it empties."""
    gone = np.where(merged, 0, np.maximum(before - counts, 0))
    total = counts + gone
    entries = np.repeat(np.arange(len(total), dtype=np.int64), total)
    within = np.arange(int(total.sum()), dtype=np.int64) - np.repeat(
        np.cumsum(total) - total, total
    )
    indices = within + np.repeat(np.where(merged, before, 0), total)
    put = within < counts[entries]
    first = np.cumsum(counts) - counts
    elements = np.where(put, first[entries] + within, -1)
    return Places(entries, indices, elements)
