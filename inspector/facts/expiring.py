"""Forecast of when the live rows expire by their own clocks, assuming no leaks.

A row's expiry time is the first reading of its clock at which the operator's rule lets it go: for
``field <= watermark`` the field itself, for a timeout, ``field < clock``, one millisecond later,
and behind a delay (the retention of a join's side) so much later. Times are counted in buckets of
the finest :class:`Width` that makes at most :data:`MOST_BUCKETS` of them, however rows are split.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Hashable

import numpy as np

from inspector.arrays import Int64s, count_and_weigh, count_by, rows_of
from inspector.facts.ages import newer_half
from inspector.facts.fact import Fact, fact
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import NO_TIMEOUT, BatchClock, TimeoutKind
from inspector.operators.rule import ExpiryField
from inspector.state.replay import NO_CLOCK, StateMap
from inspector.sums import Sums, counter_of, first_non_zero, sum_by, sum_by_key

MOST_BUCKETS = 1024  # buckets of one fact: 42 days of hours

_LATEST = int(np.iinfo(np.int64).max)
_DAY = 86_400_000


class Width(enum.IntEnum):
    """Width of a bucket in ms; each is a multiple of the previous one."""

    # Those of more than a month are for clocks that no healthy query writes: with the last one, all
    # the times of 64 bits make six buckets.

    SECOND = 1_000
    MINUTE = 60_000
    HOUR = 3_600_000
    DAY = _DAY
    MONTH = 30 * _DAY
    YEARS = 3_600 * _DAY
    AGES = 3_600_000 * _DAY
    ALL = 36_000_000_000 * _DAY

    @property
    def coarser(self) -> Width:
        """The next one; the last has none and gives itself."""
        return next((width for width in Width if width > self), self)


@fact("expiring")
@dataclass(frozen=True)
class Expiring(Sums, Fact):
    """Live rows and their bytes by when they expire. Adds; the zero is empty."""

    # the clock that the timers of a group state are taken to follow; None for rules without timers
    timeout_kind: TimeoutKind | None = sum_by(first_non_zero, None)
    width: Width = sum_by(max, Width.SECOND)
    # rows, bytes: by bucket, of rows that expire after the judged batch; bucket ``n`` begins at ``n
    # * width`` in epoch ms
    rows: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)
    lasting: int = 0  # of these rows, those that were there before the newer half of the window
    # due_rows, due_bytes: the clock of the judged batch had come so far, and they are there
    due_rows: int = 0
    due_bytes: int = 0
    # endless_rows, endless_bytes: without a time: their field is null, or no timer is set
    endless_rows: int = 0
    endless_bytes: int = 0
    endless_new: int = 0  # of these rows, those that came in the newer half of the window

    def __add__(self, expiring: Expiring) -> Expiring:
        width = max(self.width, expiring.width)
        return Sums.__add__(self._by(width), expiring._by(width)).coarsen(MOST_BUCKETS)

    def merge_key(self, _version: int) -> Hashable:
        """Return the clock: facts by the same clock add up."""
        return "" if self.timeout_kind is None else self.timeout_kind.value

    def coarsen(self, max_buckets: int) -> Expiring:
        """Return the rows in at most ``max_buckets`` buckets, which are as short as possible."""
        bounded = self
        while len(bounded.rows) > max_buckets and bounded.width.coarser is not bounded.width:
            bounded = bounded._by(bounded.width.coarser)
        return bounded

    def at_least(self, width: Width) -> Expiring:
        """Return the same rows in buckets of at least ``width``."""
        return self._by(max(width, self.width))

    def _by(self, width: Width) -> Expiring:
        if width is self.width:
            return self
        factor = width // self.width
        rows, sizes = (
            counter_of(sum_by_key((number // factor, count) for number, count in item.items()))
            for item in (self.rows, self.bytes)
        )
        return replace(self, width=width, rows=rows, bytes=sizes)

    @classmethod
    def observe(
        cls,
        state: StateMap,  # the map; it follows the field of the rule
        expiry: ExpiryField,  # the rule
        # clocks of the judged batch; None if its log entry is gone: then nothing is due
        batch: BatchClock | None,
        # of group-state timers, the clock that they are taken to follow
        kind: TimeoutKind | None = None,
    ) -> Expiring:
        """Measure the live rows at the version that was replayed last."""
        now = now_ms(expiry, batch, kind)
        total: Expiring | None = None
        newer = newer_half(state)
        for portion in state.portions():
            sizes = state.row_size(portion)
            columns = state.clock[portion], sizes, state.born_step[portion]
            clock, sizes, born = rows_of(columns, state.live[portion])
            timed = clock != NO_CLOCK
            if kind is not None:
                timed &= clock != NO_TIMEOUT
            clock, weights, born_steps = rows_of((clock, sizes, born), timed)
            times = expiry_ms(clock, expiry)
            due = times <= now if now is not None else np.zeros(len(times), np.bool_)
            part = cls._of_times(
                kind,
                *rows_of((times, weights), ~due),
                lasting=int((~due & (born_steps < newer)).sum()),
                due_rows=int(due.sum()),
                due_bytes=int(weights[due].sum()),
                endless_rows=int((~timed).sum()),
                endless_bytes=int(sizes[~timed].sum()),
                endless_new=int((~timed & (born >= newer)).sum()),
            )
            total = total + part if total else part
        return total or cls(kind)

    @classmethod
    def _of_times(
        cls, kind: TimeoutKind | None, times: Int64s, sizes: Int64s, **sums: int
    ) -> Expiring:
        """Rows by buckets as short as they can be: their times and sizes."""
        for width in Width:
            buckets, counts, weights = count_and_weigh(times // int(width), sizes)
            if len(buckets) <= MOST_BUCKETS:
                break
        rows, weighed = count_by(buckets, counts), count_by(buckets, weights)
        return cls(kind, width, rows, weighed, **sums)


def expiry_ms(clock: Int64s, expiry: ExpiryField) -> Int64s:
    """The first reading of the clock, in ms of 64 bits, at which the rule lets each row go."""
    if expiry.inclusive:
        times, later = -(-clock // expiry.per_ms), expiry.delay_ms
    else:
        times, later = clock // expiry.per_ms, expiry.delay_ms + 1
    if later < 0:
        return np.maximum(times, -_LATEST - later) + later
    return np.minimum(times, _LATEST - later) + later


def now_ms(
    expiry: ExpiryField, batch: BatchClock | None, kind: TimeoutKind | None = None
) -> int | None:
    """Return the time of the rule's clock in a batch, in epoch ms.

    Returns None if it is not known, or if the clock had not begun.
    """
    now = None if batch is None else expiry.clock.time_ms(batch, kind)
    return now if kind is not None else now or None
