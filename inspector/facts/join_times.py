"""A time in a join's key: whether it may be what both sides are removed by.

Join keys lose their metadata in the state schema, so that only the rows tell which field of them
carries the watermark (:mod:`inspector.operators.join`): by what they hold, and by when they went.
They never tell of leftovers: a row that is there, though the watermark covers its time, shows that
the key does not carry the watermark. A copy of the event time looks the same until then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inspector.decode.clocks import Int64Path
from inspector.model import BatchClock
from inspector.operators.rule import ExpiryField
from inspector.sparktypes import StructType
from inspector.state.change import Change
from inspector.state.replay import NO_CLOCK, StateMap

ON_TIME, OFF_TIME = "removed_on_time", "removed_off_time"
"""Names of what :class:`Removed` counts."""

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class KeyTimes:
    """One field of the join key in the live rows of one side; adds up by itself.

    Attributes:
        field: where it lies, and the rule by which rows would go if it carried the watermark.
        same: rows whose event time it is.
        other: rows whose event time it is not; one with neither (null, as of late outer rows that
            no watermark ever covers) counts as none of the two.
        covered: rows that would be gone by that rule.
    """

    field: ExpiryField
    same: int
    other: int
    covered: int

    @classmethod
    def read(
        cls, rows: StateMap, schema: StructType, field: ExpiryField, watermark_ms: int
    ) -> KeyTimes:
        """Read the field of every live row of ``keyWithIndexToValue``.

        Args:
            rows: the map; its clock, if it follows one, is the event time.
            schema: of its keys.
            field: which.
            watermark_ms: of the batch that made this version; 0 if there is none, or it is gone.
        """
        path = Int64Path(schema, field.path)
        every = np.flatnonzero(rows.live[: len(rows)])
        same = other = covered = 0
        for start in range(0, len(every), _ROWS_AT_ONCE):
            some = every[start : start + _ROWS_AT_ONCE]
            lengths = rows.key_size[some].astype(np.int64)
            data = b"".join(rows.keys(some))
            found, valid = path.read(data, np.cumsum(lengths) - lengths, lengths)
            values = np.where(valid, found, NO_CLOCK)
            if watermark_ms:
                covered += int((valid & (found <= watermark_ms * field.per_ms)).sum())
            if rows.tracking.clock is not None:
                equal = values == rows.clock[some]
                same += int((equal & valid).sum())
                other += int((~equal).sum())
        return cls(field, same, other, covered)


@dataclass(frozen=True)
class Removed:
    """Rows of a side that went in one version.

    Attributes:
        on_time: the version's batch was the first that covered their event time.
        off_time: it was not. With the watermark on the join key there are none: every batch removes
            what its own covers.
    """

    on_time: int = 0
    off_time: int = 0

    @classmethod
    def of(
        cls,
        change: Change,
        state: StateMap,
        event_time: ExpiryField,
        batch: BatchClock | None,
        before: BatchClock | None,
    ) -> Removed:
        """Count them.

        Args:
            change: of the version; of one that a snapshot gave nothing is known.
            state: the map after it.
            event_time: the clock that the map follows.
            batch: of the version; nothing is told without its watermark.
            before: the batch before it; without one no row is known to have been covered sooner.
        """
        now_ms = None if batch is None else batch.watermark_ms
        if change.rebased or now_ms is None:
            return cls()
        touched = state.touched_keys()
        times = touched.was_clock[touched.was_live & ~touched.now_live]
        good = (times != NO_CLOCK) & (times <= now_ms * event_time.per_ms)
        if before is not None and before.watermark_ms:
            good &= times > before.watermark_ms * event_time.per_ms
        return cls(int(good.sum()), int((~good).sum()))
