"""Keys held against the partition that Spark's hash sends them to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inspector.arrays import Int64s, UInt8s, chunks
from inspector.decode.records import RecordBlock
from inspector.decode.row_programs import RowHash
from inspector.facts.fact import VersionSum, fact
from inspector.light_dataclasses import dataclass
from inspector.state.replay import StateMap

KEYS_AT_ONCE = 65_536
UNKNOWN, HERE, ELSEWHERE = np.arange(3, dtype=np.uint8)  # marks of keys: where they belong


@dataclass(frozen=True)
class Placement:
    """Where the keys of a store belong: hash of their grouping columns, partitions, its own one."""

    hash: RowHash
    partitions: int
    partition_id: int

    def marks(self, block: RecordBlock, rows: Int64s) -> UInt8s:
        """Whether the keys of some records of a block belong to the partition: a mark each."""
        offsets, lengths = block.key_offset[rows], block.key_length[rows]
        where, is_known = self.hash.partitions(block.buffer, offsets, lengths, self.partitions)
        return np.where(is_known, np.where(where == self.partition_id, HERE, ELSEWHERE), UNKNOWN)


@fact("misplaced_keys")
@dataclass(frozen=True)
class MisplacedKeys(VersionSum):
    """Live keys of known partitions, and keys and bytes of those that belong elsewhere. Adds."""

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
    live = state.where(lambda portion: state.live[portion])
    for ids in chunks(live, KEYS_AT_ONCE):
        data, ends = state.joined_keys(ids)
        spans = data, ends[:-1], np.diff(ends)
        where, is_known = placement.hash.partitions(*spans, placement.partitions)
        yield int(is_known.sum()), ids[is_known & (where != placement.partition_id)]
