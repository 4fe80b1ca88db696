"""Keys compared with the partition that Spark's hash sends them to."""

from __future__ import annotations

import numpy as np

from inspector.arrays import Int64s, UInt8s
from inspector.decode.records import RecordBlock
from inspector.decode.row_programs import RowHash
from inspector.facts.fact import VersionSum, fact
from inspector.light_dataclasses import dataclass
from inspector.state.replay import StateMap

UNKNOWN, HERE, ELSEWHERE = np.arange(3, dtype=np.uint8)  # marks of keys: where they belong


def marks_of(
    hashed: RowHash, partitions: int, partition_id: int, block: RecordBlock, rows: Int64s
) -> UInt8s:
    """Return a mark for each record: whether its key belongs to the partition, by hash."""
    offsets, lengths = block.key_offset[rows], block.key_length[rows]
    where, is_known = hashed.partitions(block.buffer, offsets, lengths, partitions)
    return np.where(is_known, np.where(where == partition_id, HERE, ELSEWHERE), UNKNOWN)


@fact("misplaced_keys")
@dataclass(frozen=True)
class MisplacedKeys(VersionSum):
    """Live keys of known partitions, and keys and bytes of those that belong elsewhere. Adds."""

    by_partition = True

    checked: int = 0
    misplaced: int = 0
    misplaced_bytes: int = 0

    @classmethod
    def observe(cls, state: StateMap) -> MisplacedKeys:
        """Sum up the marks of a map's live keys."""
        checked = misplaced = size = 0
        for portion in state.portions():
            mark = np.where(state.live[portion], state.mark[portion], UNKNOWN)
            checked += int((mark != UNKNOWN).sum())
            wrong = np.flatnonzero(mark == ELSEWHERE) + portion.start
            misplaced += len(wrong)
            size += int(state.row_size(wrong).sum())
        return cls(checked, misplaced, size)
