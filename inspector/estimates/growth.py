"""Growth over the retained window: a robust line through the versions, and when it reaches a limit.

The slope is that of Theil and Sen, the median of the slopes between all pairs of points. A batch
that evicts many rows, or a burst, does not bend it as least squares would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from inspector.arrays import distinct, median
from inspector.estimates import FEWEST, SHORTEST_MS
from inspector.light_dataclasses import dataclass

# points that are used, because the pairs are squared; more points are thinned out evenly
MOST_POINTS = 512

MS_PER_HOUR = 3_600_000  # milliseconds in an hour
LAST_MS = 253_402_300_799_999  # last millisecond of the year 9999: projections do not go further


@dataclass(frozen=True)
class Growth:
    """Growth of a number over time; an estimate."""

    per_hour: float  # units by which it grows in an hour of batch clock
    newest: int  # its last value
    newest_ms: int  # time of the last value, epoch ms
    points: int  # number of versions through which the line is drawn

    def reaches_ms(self, limit: int) -> int | None:
        """Return when a limit is reached, epoch ms; None if after the year 9999 or never.

        Returns the newest clock if the limit is reached already.
        """
        if self.newest >= limit:
            return self.newest_ms
        left = LAST_MS - self.newest_ms
        if self.per_hour * left < (limit - self.newest) * MS_PER_HOUR:
            return None
        return self.newest_ms + round((limit - self.newest) / self.per_hour * MS_PER_HOUR)


def growth(times_ms: Sequence[int], values: Sequence[int]) -> Growth | None:
    """Return the growth of a series over batch clocks, oldest first; None if it spans no time."""
    if len(times_ms) < 2 or times_ms[-1] <= times_ms[0]:
        return None
    chosen = distinct(np.linspace(0, len(times_ms) - 1, MOST_POINTS).round().astype(np.int64))
    times = np.array(times_ms, np.float64)[chosen]
    sizes = np.array(values, np.float64)[chosen]
    first, second = np.triu_indices(len(times), 1)
    apart = times[second] - times[first]
    ahead = apart > 0
    slopes = (sizes[second] - sizes[first])[ahead] / apart[ahead]
    per_hour = median(slopes) * MS_PER_HOUR
    return Growth(per_hour, values[-1], times_ms[-1], len(times_ms))


_RECORDS = 2  # records that the newest half of a growing series must set
# factor by which the newest third must exceed the older values, unless the steps are significant
_RISE = 1.1
_FALLS = 2  # falls after the record from which on a series counts as full
_FALLEN = 0.1  # share of the rise that a series may have fallen before its record to count as full
_STANDARD_ERRORS = 3  # standard errors by which the mean step must be above 0
_Floats = npt.NDArray[np.float64]  # an array of floats


@dataclass(frozen=True)
class Trend:
    """Lasting rise of a series, and its beginning."""

    line: Growth  # the robust line from ``start`` on
    start: int  # index of the first point of the line
    growing: bool  # True if the series still rises, by more than one step explains
    judged: bool  # True if there are enough points over enough time; else ``growing`` is False

    def rate(self, per_hour: float) -> float:
        """Return the slope to report for a line over the same points.

        A positive slope becomes 0 if the series was judged and does not grow, because any line
        through a sawtooth has a slope. A negative slope stays, and so does the slope of a series
        that is too short to be judged.
        """
        return min(per_hour, 0.0) if self.judged and not self.growing else per_hour


def trend(times_ms: Sequence[int], values: Sequence[int]) -> Trend | None:
    """Return the trend of a series; None if it spans no time.

    State that is healthy rises too: while its window fills, and then it rises and falls as rows
    come and expire. So a series grows only if its newest third does what none of that does. It
    reaches higher than all before it, stays above the lowest point before it and ends above the
    usual one, and the newest half sets more than one record. A series that fills up and levels off
    sets no record at its end; a sawtooth goes no higher than its teeth; one big batch is a single
    record. A series that rose with hardly a fall, and falls again and again since its last record,
    is full too.

    Chance does the same now and then, so the rise must be more than chance: no step down in the
    newest half, or a rise by a tenth, or steps whose mean is three standard errors above 0. Of
    series that only fluctuate one in twenty to one in a thousand passes (the tests draw them), of
    those that only grow nearly every one.

    The line begins where the series was at its bottom for the last time, so that the time before a
    leak does not dilute it.
    """
    judged = len(values) >= FEWEST and times_ms[-1] - times_ms[0] >= SHORTEST_MS
    growing = judged and _grows(np.asarray(values, np.float64))
    start = _last_bottom(values) if growing else 0
    line = growth(times_ms[start:], values[start:])
    if line is None:
        start, line = 0, growth(times_ms, values)
    return None if line is None else Trend(line, start, growing and line.per_hour > 0, judged)


def _grows(values: _Floats) -> bool:
    """Return True if a series grows; :func:`trend` has the conditions."""
    cut = len(values) - max(2, len(values) // 3)
    older, newest = values[:cut], values[cut:]
    middle = len(values) // 2 - 1
    records = np.diff(np.maximum.accumulate(values))[middle:] > 0
    higher = newest.max() > older.max() and newest.min() > older.min()
    if not higher or values[-1] <= median(older) or records.sum() < _RECORDS:
        return False
    if _is_full(values):
        return False
    steps = np.diff(values)[middle:]
    error = float(steps.std(ddof=1)) / len(steps) ** 0.5
    rises = newest.max() > _RISE * older.max() or steps.mean() > _STANDARD_ERRORS * error
    return bool(rises or (steps >= 0).all())


def _is_full(values: _Floats) -> bool:
    """Return True if a series rose to its record and has fallen and risen since."""
    # The rows of a window, or of a watermark's delay, do so when the first of them have gone. A
    # series that only falls is a sawtooth, about which the record says nothing.
    last = int(values.argmax())
    filling, full = np.diff(values[: last + 1]), np.diff(values[last:])
    risen, fallen = filling.clip(min=0).sum(), -filling.clip(max=0).sum()
    again = (full < 0).sum() >= _FALLS and (full > 0).any()
    return bool(again and fallen <= _FALLEN * risen)


def _last_bottom(values: Sequence[int]) -> int:
    """Return the index at which a series was at its lowest values for the last time.

    It is at most the last but one, so that a line can begin there.
    """
    steps = np.abs(np.diff(np.asarray(values)))
    usual = median(steps[steps > 0]) if steps.any() else 0.0  # what one version changes
    limit = min(values) + usual / 2
    last = max(index for index, value in enumerate(values) if value < limit or value == min(values))
    return min(last, len(values) - 2)


_BARS = "▁▂▃▄▅▆▇█"  # bars of a sparkline, lowest first


def sparkline(values: Sequence[int], width: int = 60) -> str:
    """Return values as a line of at most ``width`` bars, from 0 to the greatest value."""
    if not values:
        return ""
    positions = distinct(np.linspace(0, len(values) - 1, width).round().astype(np.int64))
    chosen = [values[position] for position in positions.tolist()]
    top = max(chosen)
    if top <= 0:
        return _BARS[0] * len(chosen)
    return "".join(_BARS[max(0, (value * len(_BARS) - 1) // top)] for value in chosen)
