"""Keys held against the partition that Spark's hash sends them to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from inspector.arrays import Bools, Int64s, UInt8s, chunks, count_by, regroup, weigh
from inspector.decode.records import RecordBlock
from inspector.decode.row_programs import RowHash
from inspector.facts.fact import StoreSum, VersionSum, fact
from inspector.light_dataclasses import dataclass, field
from inspector.state.replay import StateMap

KEYS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Placement:
    """Where the keys of a store belong.

    Attributes:
        hash: of their grouping columns. partitions: of the state. partition_id: the store's own.
    """

    hash: RowHash
    partitions: int
    partition_id: int

    def marks(self, block: RecordBlock, rows: Int64s) -> UInt8s:
        """Whether the keys of some records of a block belong to the partition: a mark each."""
        offsets, lengths = block.key_offset[rows], block.key_length[rows]
        where, is_known = self.hash.partitions(block.buffer, offsets, lengths, self.partitions)
        return np.where(is_known, np.where(where == self.partition_id, HERE, ELSEWHERE), UNKNOWN)


UNKNOWN, HERE, ELSEWHERE = np.arange(3, dtype=np.uint8)
"""Marks of keys: where they belong."""


@fact("misplaced_keys")
@dataclass(frozen=True)
class MisplacedKeys(VersionSum):
    """Live keys of a store by whether they belong to its partition. Adds; the zero is empty.

    Attributes:
        checked: keys whose partition is known. misplaced: those that belong to another.
        misplaced_bytes: key and value bytes of these.
    """

    by_partition = True

    checked: int = 0
    misplaced: int = 0
    misplaced_bytes: int = 0

    @classmethod
    def observe(cls, state: StateMap, placement: Placement) -> MisplacedKeys:
        """Hold the live keys of a map against their partition, by their marks if they have any."""
        checked = misplaced = size = 0
        by_marks = state.tracking.mark is not None
        for count, wrong in _marks_of(state) if by_marks else _hashes_of(state, placement):
            checked += count
            misplaced += len(wrong)
            size += int(state.key_size[wrong].sum(dtype=np.int64))
            size += int(state.value_size[wrong].sum(dtype=np.int64))
        return cls(checked, misplaced, size)


def _marks_of(state: StateMap) -> Iterator[tuple[int, Int64s]]:
    """By the marks of a map: how many keys' partitions are known, and the misplaced keys."""
    for portion in state.portions():
        mark = np.where(state.live[portion], state.mark[portion], UNKNOWN)
        yield int((mark != UNKNOWN).sum()), np.flatnonzero(mark == ELSEWHERE) + portion.start


def _hashes_of(state: StateMap, placement: Placement) -> Iterator[tuple[int, Int64s]]:
    """The same by their hashes."""
    for ids, where, is_known in partitions_of(state, placement.hash, placement.partitions):
        yield int(is_known.sum()), ids[is_known & (where != placement.partition_id)]


def partitions_of(
    state: StateMap, row_hash: RowHash, partitions: int
) -> Iterator[tuple[Int64s, Int64s, Bools]]:
    """The live keys of a map, the partition of each among so many, and whether that is known."""
    live = state.where(lambda portion: state.live[portion])
    for ids in chunks(live, KEYS_AT_ONCE):
        data, ends = state.joined_keys(ids)
        where, is_known = row_hash.partitions(data, ends[:-1], np.diff(ends), partitions)
        yield ids, where, is_known


TIMES = 8
"""The most partitions that are counted, in multiples of those that there are."""


@fact("rehashed")
@dataclass(frozen=True)
class Rehashed(StoreSum):
    """Live rows and their bytes by partition, had the state ``TIMES`` as many. Adds.

    A divisor of the number has the sums: ``pmod(hash, n)`` follows from ``pmod(hash, 8 * n)``. The
    keys of one partition go to ``TIMES`` others, so that no fact of one has more numbers.

    Attributes:
        rows, bytes: by partition.
        unknown_rows: rows whose hash is not known.
    """

    rows: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)
    unknown_rows: int = 0

    def among(self, partitions: int) -> Rehashed:
        """The same for fewer partitions: a divisor of those that were counted."""
        rows, sizes = (regroup(item, lambda n: n % partitions) for item in (self.rows, self.bytes))
        return Rehashed(rows, sizes, self.unknown_rows)

    @classmethod
    def observe(cls, state: StateMap, placement: Placement) -> Rehashed:
        """Hash the live keys of a map."""
        rows: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        unknown = 0
        for ids, where, is_known in partitions_of(
            state, placement.hash, placement.partitions * TIMES
        ):
            own_ids = ids[is_known]
            weights = np.add(state.key_size[own_ids], state.value_size[own_ids], dtype=np.int64)
            numbers, positions, counts = np.unique(
                where[is_known], return_inverse=True, return_counts=True
            )
            rows.update(count_by(numbers, counts))
            sizes.update(count_by(numbers, weigh(positions, weights, len(numbers))))
            unknown += len(ids) - len(own_ids)
        return cls(rows, sizes, unknown)
