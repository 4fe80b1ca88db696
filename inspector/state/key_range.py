"""A share of the keys of a partition: those whose hash falls into one of so many ranges.

A pass over a range reads every record and keeps those of its own keys, so that it takes a fraction
of the memory; what it finds adds over the ranges as it does over partitions. Nothing of a report
depends on how many ranges there were, nor on the hash, whose seed is drawn again for every run:
keys that someone made for one range would make its pass large.
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
    """Finds the records of a range."""

    range: KeyRange
    # the bits that count of each of a key's first words, for stores whose keys have a part in
    # common with others that must be in the same range
    masks: Int64s = field(default_factory=lambda: np.empty(0, np.int64))

    def of(self, block: RecordBlock) -> RecordBlock:
        """The records of a block whose keys are in the range, with the ordinals that they had."""
        return block.part(self.rows(block))

    def rows(self, block: RecordBlock) -> Int64s:
        """Their indexes in the block."""
        rows = np.empty(block.count, np.int64)
        spans, key_range = (block.buffer, block.key_offset, block.key_length), self.range
        count = kernel().rows_of_range(
            *spans, self.masks, key_range.seed, key_range.count, key_range.number, rows
        )
        return rows[:count]


def select_range(
    selected: Iterator[tuple[RecordBlock, Int64s]], keys: RangeFilter | None
) -> Iterator[tuple[RecordBlock, Int64s]]:
    """Yield the records, each with its ordinal, whose keys are in a range; None for all keys."""
    for block, ordinals in selected:
        if keys is None:
            yield block, ordinals
            continue
        rows = keys.rows(block)
        if len(rows):
            yield block.select(rows), ordinals[rows]


def passes_of(count: int) -> list[RangeFilter | None]:
    """Ranges that so many passes have, one after the other, which make the whole."""
    return [None] if count < 2 else [*map(RangeFilter, KeyRange.divide(count))]


def common_part(shared_fields: list[bool], fields: int) -> Int64s:
    """Masks by which keys are in one range whose first fields and variable parts are equal.

    Null bits do not count, nor where variable parts lie: a row of fewer fields has them elsewhere
    (``keyWithIndexToValue`` of a join has the join key's fields and one more). ``shared_fields``
    says of each field that is shared whether its word is its value; of ``fields`` those behind them
    do not count.
    """
    bits = (fields + 63) // 64
    words = [0] * bits + [-1 if fixed else 0 for fixed in shared_fields]  # all bits
    return np.array(words + [0] * (fields - len(shared_fields)), np.int64)
