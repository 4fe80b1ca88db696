"""Growth over the retained window: a robust line through the versions, and where it meets a limit.

The slope is that of Theil and Sen: the median of the slopes between all pairs of points. One batch
that evicts a lot, or a burst, does not bend it as least squares would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_POINTS = 512
"""Points that are used: the pairs are squared. More are thinned out evenly."""

MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class Growth:
    """How something grows over time; an estimate.

    Attributes:
        per_hour: units per hour of batch clock.
        newest: its last value. newest_ms: when that was, epoch ms.
        points: versions that the line is drawn through.
    """

    per_hour: float
    newest: int
    newest_ms: int
    points: int

    def reaches_ms(self, limit: int) -> int | None:
        """When it meets a limit: epoch ms; None if it does not grow; its last clock if past it."""
        if self.newest >= limit:
            return self.newest_ms
        if self.per_hour <= 0:
            return None
        return self.newest_ms + round((limit - self.newest) / self.per_hour * MS_PER_HOUR)


def growth(times_ms: Sequence[int], values: Sequence[int]) -> Growth | None:
    """The growth of a series; None if it does not span any time.

    Args:
        times_ms: batch clocks, oldest first.
        values: one for each.
    """
    if len(times_ms) < 2 or times_ms[-1] <= times_ms[0]:
        return None
    chosen = np.unique(np.linspace(0, len(times_ms) - 1, MOST_POINTS).round().astype(np.int64))
    times = np.array(times_ms, np.float64)[chosen]
    sizes = np.array(values, np.float64)[chosen]
    first, second = np.triu_indices(len(times), 1)
    apart = times[second] - times[first]
    ahead = apart > 0
    slopes = (sizes[second] - sizes[first])[ahead] / apart[ahead]
    per_hour = float(np.median(slopes)) * MS_PER_HOUR
    return Growth(per_hour, values[-1], times_ms[-1], len(times_ms))


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[int], width: int = 60) -> str:
    """The values as a line of bars from 0 to their greatest; at most ``width`` of them."""
    if not values:
        return ""
    places = np.unique(np.linspace(0, len(values) - 1, width).round().astype(np.int64))
    chosen = [values[place] for place in places.tolist()]
    top = max(chosen)
    if top <= 0:
        return _BARS[0] * len(chosen)
    return "".join(_BARS[max(0, (value * len(_BARS) - 1) // top)] for value in chosen)
