"""Share of a partition's keys: those whose hash falls into one of several ranges.

A pass over a range reads every record and keeps those of its own keys, so that it takes a fraction
of the memory. Its facts add up over the ranges as over partitions. Reports do not depend on the
number of ranges, nor on the hash. Its seed is drawn again for every run, because keys made for one
range on purpose would make that pass large.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.records import RecordBlock
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass, field
from inspector.model import KeyRange


@dataclass(frozen=True)
class RangeFilter:
    """Finds the records whose keys are in a range."""

    range: KeyRange  # the range
    # masks of the first words of a key that count for its hash; empty if the whole key counts. For
    # stores whose keys share a part with keys that must be in the same range
    masks: Int64s = field(default_factory=lambda: np.empty(0, np.int64))

    def of(self, block: RecordBlock) -> RecordBlock:
        """Return the records of a block whose keys are in the range, with their ordinals."""
        return block.part(self.rows(block))

    def rows(self, block: RecordBlock) -> Int64s:
        """Return the indexes of the records in a block whose keys are in the range."""
        rows = np.empty(block.count, np.int64)
        spans, key_range = (block.buffer, block.key_offset, block.key_length), self.range
        count = kernel().rows_of_range(
            *spans, self.masks, key_range.seed, key_range.count, key_range.number, rows
        )
        return rows[:count]


def select_range(
    selected: Iterator[tuple[RecordBlock, Int64s]], keys: RangeFilter | None
) -> Iterator[tuple[RecordBlock, Int64s]]:
    """Yield blocks with only the records whose keys are in a range, and their ordinals.

    ``keys`` is None for all keys. Blocks without such a record are left out.
    """
    for block, ordinals in selected:
        if keys is None:
            yield block, ordinals
            continue
        rows = keys.rows(block)
        if len(rows):
            yield block.select(rows), ordinals[rows]


def passes_of(count: int) -> list[RangeFilter | None]:
    """Return the filters of ``count`` passes that together have all keys; [None] for one."""
    return [None] if count < 2 else [*map(RangeFilter, KeyRange.divide(count))]


def common_part(shared_fields: list[bool], fields: int) -> Int64s:
    """Return masks that put keys into one range if their first fields and variable parts are equal.

    Null bits do not count, nor the offsets of variable parts, because a row of fewer fields has
    other offsets (``keyWithIndexToValue`` of a join has the join key's fields and one more).
    ``shared_fields`` has True for each shared field whose word is its value. ``fields`` is the
    number of all fields; the ones after the shared fields do not count.
    """
    bits = (fields + 63) // 64
    words = [0] * bits + [-1 if fixed else 0 for fixed in shared_fields]  # all bits
    return np.array(words + [0] * (fields - len(shared_fields)), np.int64)
