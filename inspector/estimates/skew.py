"""How unevenly partitions share a store's rows and bytes, exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inspector.arrays import median
from inspector.light_dataclasses import dataclass


@dataclass(frozen=True)
class Skew:
    """The spread of an amount over partitions.

    Attributes:
        partitions: how many. empty: those that have nothing.
        median: of all partitions. max: the greatest.
        largest: index of the partition with the greatest.
    """

    partitions: int
    empty: int
    median: float
    max: int
    largest: int

    @property
    def ratio(self) -> float | None:
        """Greatest to median; None if half of the partitions have nothing."""
        return self.max / self.median if self.median else None


def skew(amounts: Sequence[int]) -> Skew | None:
    """The spread of one amount per partition; None without partitions."""
    if not amounts:
        return None
    top = max(amounts)
    return Skew(
        len(amounts), amounts.count(0), median(np.array(amounts)), top, list(amounts).index(top)
    )
