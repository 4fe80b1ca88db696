"""Range deletions of several tables as disjoint ranges, each with the newest of its deletions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.sst.table import RangeDeletion


@dataclass(frozen=True, slots=True, eq=False)
class Tombstones:
    """Disjoint ranges of deleted keys, ascending.

    Attributes:
        buffer: what the offsets count from.
        offset: of each bound, two for a range: its first key, and the first one behind it.
        length: bytes of each bound.
        sequence: of each range: entries below it are deleted.
    """

    buffer: bytes
    offset: Int64s
    length: Int64s
    sequence: Int64s

    @classmethod
    def of(cls, deletions: Iterable[RangeDeletion]) -> Tombstones:
        """What these delete together."""
        ranges = list(_disjoint(deletions))
        bounds = [bound for each in ranges for bound in (each.start, each.end)]
        length = np.array([len(bound) for bound in bounds], np.int64)
        sequence = np.array([each.sequence for each in ranges], np.int64)
        return cls(b"".join(bounds), np.cumsum(length) - length, length, sequence)

    def __len__(self) -> int:
        return len(self.sequence)


def _disjoint(deletions: Iterable[RangeDeletion]) -> Iterator[RangeDeletion]:
    """The ranges between neighbouring bounds, with the newest deletion that covers each."""
    pending = sorted((each for each in deletions if each.start < each.end), key=lambda e: e.start)
    bounds = sorted({bound for each in pending for bound in (each.start, each.end)})
    covering: list[tuple[int, bytes]] = []  # the newest first: minus its sequence number, its end
    place = 0
    for start, end in pairwise(bounds):
        while place < len(pending) and pending[place].start <= start:
            heapq.heappush(covering, (-pending[place].sequence, pending[place].end))
            place += 1
        while covering and covering[0][1] <= start:
            heapq.heappop(covering)
        if covering:
            yield RangeDeletion(start, end, -covering[0][0])
