"""Keys compared with the partition that Spark's hash assigns to them."""

from __future__ import annotations

import numpy as np

from inspector.arrays import Int64s, UInt8s
from inspector.decode.records import RecordBlock
from inspector.decode.row_programs import RowHash
from inspector.facts.fact import VersionSum, fact
from inspector.light_dataclasses import dataclass
from inspector.state.replay import StateMap

# Marks of keys: their partition is not known, is the store's own, or is another one.
UNKNOWN, HERE, ELSEWHERE = np.arange(3, dtype=np.uint8)


def marks_of(
    hashed: RowHash, partitions: int, partition_id: int, block: RecordBlock, rows: Int64s
) -> UInt8s:
    """Return for each record HERE or ELSEWHERE, by its key's hash, or UNKNOWN.

    ``partition_id`` is the partition of the store, one of ``partitions``.
    """
    offsets, lengths = block.key_offset[rows], block.key_length[rows]
    where, is_known = hashed.partitions(block.buffer, offsets, lengths, partitions)
    return np.where(is_known, np.where(where == partition_id, HERE, ELSEWHERE), UNKNOWN)


@fact("misplaced_keys")
@dataclass(frozen=True)
class MisplacedKeys(VersionSum):
    """Live keys compared with the partition of their hash. Adds up."""

    by_partition = True

    checked: int = 0  # keys whose partition is known
    misplaced: int = 0  # of these, keys that belong to another partition
    misplaced_bytes: int = 0  # key and value bytes of the misplaced rows

    @classmethod
    def observe(cls, state: StateMap) -> MisplacedKeys:
        """Count the marks of a map's live keys."""
        checked = misplaced = size = 0
        for portion in state.portions():
            mark = np.where(state.live[portion], state.mark[portion], UNKNOWN)
            checked += int((mark != UNKNOWN).sum())
            wrong = np.flatnonzero(mark == ELSEWHERE) + portion.start
            misplaced += len(wrong)
            size += int(state.row_size(wrong).sum())
        return cls(checked, misplaced, size)
