"""Forecast of when the live rows expire by their own clocks, assuming no leaks.

The expiry time of a row is the lowest reading of its clock at which the operator's rule removes it.
For ``field <= watermark`` that is the field itself; for a timeout, ``field < clock``, it is one
millisecond later. A delay (the retention of a join's side) is added. Times are counted in buckets
of the finest :class:`Width` that needs at most :data:`MOST_BUCKETS`, whatever the tasks.
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

MOST_BUCKETS = 1024  # most buckets of one fact: 42 days of hours

_LATEST = int(np.iinfo(np.int64).max)  # largest number of 64 bits, the latest time
_DAY = 86_400_000  # milliseconds in a day


class Width(enum.IntEnum):
    """Width of a bucket in ms; each is a multiple of the previous one."""

    # Widths above a month are for clocks that no healthy query writes: with the last one, all the
    # times of 64 bits make six buckets.

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
        """The next wider width; the widest one is its own."""
        return next((width for width in Width if width > self), self)


@fact("expiring")
@dataclass(frozen=True)
class Expiring(Sums, Fact):
    """Live rows and their bytes by the time at which they expire. Adds up; the zero is empty."""

    # clock that the timers of a group state are assumed to follow; None for rules without timers
    timeout_kind: TimeoutKind | None = sum_by(first_non_zero, None)
    width: Width = sum_by(max, Width.SECOND)  # width of the buckets in ms
    # rows that expire after the judged batch, by bucket; bucket ``n`` begins at ``n * width`` in
    # epoch ms
    rows: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)  # their key and value bytes, by bucket
    lasting: int = 0  # of these rows, those that existed before the newer half of the window
    due_rows: int = 0  # rows whose expiry time the clock of the judged batch had reached
    due_bytes: int = 0  # their key and value bytes
    endless_rows: int = 0  # rows that never expire: their field is null, or no timer is set
    endless_bytes: int = 0  # their key and value bytes
    endless_new: int = 0  # of ``endless_rows``, those that appeared in the newer half of the window

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
        """Return the same rows in buckets of ``width``, a multiple of the present width."""
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
        # for group-state timers, the clock that they are taken to follow
        kind: TimeoutKind | None = None,
    ) -> Expiring:
        """Return the expiry times of the live rows at the version that was replayed last."""
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
        """Return rows with these expiry times and sizes, in buckets as narrow as possible.

        ``sums`` are the other fields of the fact.
        """
        for width in Width:
            buckets, counts, weights = count_and_weigh(times // int(width), sizes)
            if len(buckets) <= MOST_BUCKETS:
                break
        rows, weighed = count_by(buckets, counts), count_by(buckets, weights)
        return cls(kind, width, rows, weighed, **sums)


def expiry_ms(clock: Int64s, expiry: ExpiryField) -> Int64s:
    """Return for each clock the time in ms at which the rule removes the row, within 64 bits."""
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
    """Return the time of the rule's clock in a batch, in epoch ms; None if it is not known.

    ``kind`` is the clock of group-state timers, None for other rules. Without ``kind``, a watermark
    of 0, which has not begun, gives None too; with ``kind`` it gives 0.
    """
    now = None if batch is None else expiry.clock.time_ms(batch, kind)
    return now if kind is not None else now or None
