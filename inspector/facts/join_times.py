"""A time in a join's key: whether it may be what both sides are removed by.

Join keys lose their metadata in the state schema, so that only the rows show which field of them
carries the watermark (:mod:`inspector.operators.join`): by what they hold, and by when they went.
They prove no leftover: a row that is there, though the watermark covers its time, shows that
the key does not carry the watermark. A copy of the event time looks the same until then.
"""

from __future__ import annotations

import numpy as np

from inspector.arrays import chunks, concatenate
from inspector.decode.row_columns import Int64Path
from inspector.facts.fact import Fact, StoreSum, fact
from inspector.facts.join_counters import ROWS_AT_ONCE
from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock
from inspector.operators.rule import ExpiryField
from inspector.sparktypes import StructType
from inspector.state.change import Change
from inspector.state.replay import NO_CLOCK, StateMap
from inspector.sums import Sums, either, sum_by


@fact("key_time_votes")
@dataclass(frozen=True)
class KeyTimeVotes(Sums, Fact):
    """What the live rows of a join's side say of one time in the join key. Adds."""

    # ordinals from the key row inwards: which field of the key it is
    path: tuple[int, ...] = sum_by(either, ())
    same: int = 0  # rows whose event time it is
    # rows whose event time it is not; one with neither (null, as of late outer rows that no
    # watermark ever covers) counts as none of the two
    other: int = 0
    covered: int = 0  # rows that would be gone by that rule

    def merge_key(self, _version: int) -> tuple[int, ...]:
        """Those on one time of the key add."""
        return self.path

    @classmethod
    def observe(
        cls, rows: StateMap, schema: StructType, field: ExpiryField, watermark_ms: int
    ) -> KeyTimeVotes:
        """Read the field of every live row of ``keyWithIndexToValue``; its clock: event time."""
        # watermark_ms: of the batch that made this version; 0 if there is none, or it is gone.
        path = Int64Path(schema, field.path)
        all_ids = np.flatnonzero(rows.live[: len(rows)])
        equal_rows = other_rows = covered = 0
        for chunk in chunks(all_ids, ROWS_AT_ONCE):
            result, valid = path.read(*concatenate(rows.keys(chunk)))
            values = np.where(valid, result, NO_CLOCK)
            if watermark_ms:
                covered += int((valid & (result <= watermark_ms * field.per_ms)).sum())
            if rows.tracking.clock is not None:
                equal = values == rows.clock[chunk]
                equal_rows += int((equal & valid).sum())
                other_rows += int((~equal).sum())
        return cls(field.path, equal_rows, other_rows, covered)


@fact("rows_timed_by_key")
@dataclass(frozen=True)
class RowsTimedByKey(StoreSum):
    """Live rows of a join's side, by partition, whose event time is that of the join key. Adds."""

    rows: int = 0


@fact("rows_timed_in_range")
@dataclass(frozen=True)
class RowsTimedInRange(Fact):
    """The same of a range of keys, by each time in the join key; all ranges say which has most."""

    rows: tuple[int, ...] = ()


@fact("removed_rows")
@dataclass(frozen=True)
class RemovedRows(StoreSum):
    """Rows of a join's side, or timers, that went, by whether it was their time. Adds."""

    on_time: int = 0  # the version's batch was the first that covered their event time
    # it was not. With the watermark on the join key there are none: every batch removes what its
    # own covers.
    off_time: int = 0
    early: int = 0  # of these, those whose time was yet to come

    @classmethod
    def observe(
        cls,
        change: Change,  # of the version; of one that a snapshot gave nothing is known
        state: StateMap,  # the map after it
        event_time: ExpiryField,  # the clock that the map follows
        batch: BatchClock | None,  # of the version; without its clock nothing is counted
        # the batch before it; without one no row is known to have been covered sooner
        before: BatchClock | None,
    ) -> RemovedRows:
        """Count those of one version."""
        now_ms, before_ms = (
            None if clock is None else event_time.clock.time_ms(clock) for clock in (batch, before)
        )
        if change.rebased or now_ms is None:
            return cls()
        touched = state.touched_keys()
        times = touched.was_clock[touched.was_live & ~touched.now_live]
        good = (times != NO_CLOCK) & (times <= now_ms * event_time.per_ms)
        early = times > now_ms * event_time.per_ms
        if before_ms:
            good &= times > before_ms * event_time.per_ms
        return cls(int(good.sum()), int((~good).sum()), int(early.sum()))
