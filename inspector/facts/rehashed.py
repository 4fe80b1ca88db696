"""Where the keys would lie if the state had more partitions: Spark's own hash of the real keys."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from inspector.facts.fact import Fact, fact
from inspector.facts.misplaced import Placement, placed
from inspector.state.replay import StateMap

TIMES = 8
"""The most partitions that are counted, in multiples of those that there are."""


@fact("rehashed")
@dataclass(frozen=True)
class Rehashed(Fact):
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

    def __add__(self, other: Rehashed) -> Rehashed:
        return Rehashed(
            self.rows + other.rows,
            self.bytes + other.bytes,
            self.unknown_rows + other.unknown_rows,
        )

    def merge_key(self, _version: int) -> str:
        """All of a store add."""
        return ""

    def among(self, partitions: int) -> Rehashed:
        """The same for fewer partitions: a divisor of those that were counted."""
        rows: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        for found, made in ((self.rows, rows), (self.bytes, sizes)):
            for partition, amount in found.items():
                made[partition % partitions] += amount
        return Rehashed(rows, sizes, self.unknown_rows)

    @classmethod
    def observe(cls, state: StateMap, placement: Placement) -> Rehashed:
        """Hash the live keys of a map."""
        rows: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        unknown = 0
        for ids, where, known in placed(state, placement.hash, placement.partitions * TIMES):
            mine = ids[known]
            weights = np.add(state.key_size[mine], state.value_size[mine], dtype=np.int64)
            found, places = np.unique(where[known], return_inverse=True)
            listed = found.tolist()
            counts = np.bincount(places, minlength=len(listed)).tolist()
            # bincount adds in doubles, which are exact up to 2^53 bytes.
            summed = np.bincount(places, weights, len(listed)).astype(np.int64).tolist()
            rows.update(dict(zip(listed, counts, strict=True)))
            sizes.update(dict(zip(listed, summed, strict=True)))
            unknown += len(ids) - len(mine)
        return cls(rows, sizes, unknown)
