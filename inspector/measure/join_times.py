"""A time in a join's key: whether it is the rows' event time, and which rows are past it.

Join keys lose their metadata in the state schema, so that only the rows tell which field of them
carries the watermark (:mod:`inspector.operators.join`): by what they hold, and by when they went.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inspector.decode.clocks import Int64Path
from inspector.measure.clocks import Clocks
from inspector.measure.expired import Leftovers, past_clock
from inspector.model import BatchClock, Certainty
from inspector.operators.rule import ExpiryField
from inspector.sparktypes import StructType
from inspector.state.change import Change, Int64s
from inspector.state.replay import NO_CLOCK, StateMap

REASON = "the join key carries the watermark, as each row's event time being in its key suggests"
OFF_TIME = "removed_off_time"
"""Name of what :func:`removed_off_time` counts."""

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class KeyTimes:
    """One field of the join key in the live rows of one side.

    Attributes:
        field: where it lies, and the rule by which rows would go if it carried the watermark.
        values: the field by key id; NO_CLOCK where it is null, and of keys that are gone.
        same: rows whose event time it is.
        other: rows whose event time it is not; one with neither (null, as of late outer rows that
            no watermark ever covers) counts as none of the two.
    """

    field: ExpiryField
    values: Int64s
    same: int
    other: int

    @classmethod
    def read(cls, rows: StateMap, schema: StructType, field: ExpiryField) -> KeyTimes:
        """Read the field of every live row of ``keyWithIndexToValue``.

        Args:
            rows: the map; its clock, if it follows one, is the event time.
            schema: of its keys.
            field: which.
        """
        path = Int64Path(schema, field.path)
        values = np.full(len(rows), NO_CLOCK)
        every = np.flatnonzero(rows.live[: len(rows)])
        same = other = 0
        for start in range(0, len(every), _ROWS_AT_ONCE):
            some = every[start : start + _ROWS_AT_ONCE]
            lengths = rows.key_size[some].astype(np.int64)
            data = b"".join(rows.keys(some))
            found, valid = path.read(data, np.cumsum(lengths) - lengths, lengths)
            values[some] = np.where(valid, found, NO_CLOCK)
            if rows.tracking.clock is not None:
                equal = values[some] == rows.clock[some]
                same += int((equal & valid).sum())
                other += int((~equal).sum())
        return cls(field, values, same, other)

    def leftovers(self, rows: StateMap, clocks: Clocks) -> Iterator[Leftovers]:
        """Rows that a processed batch's watermark covered, if the field is the one that carries it.

        Args:
            rows: the map that was read.
            clocks: by step of it.
        """
        yield from past_clock(
            rows, self.field, clocks, Certainty.INFERRED, REASON, fields=self.values
        )


def removed_off_time(
    change: Change,
    state: StateMap,
    event_time: ExpiryField,
    batch: BatchClock | None,
    before: BatchClock | None,
) -> int:
    """Rows that went in a version whose batch is not the first that covered their event time.

    With the watermark on the join key there are none: every batch removes what its own covers.

    Args:
        change: of the version; of one that a snapshot gave nothing is known.
        state: the map after it.
        event_time: the clock that the map follows.
        batch: of the version; nothing is told without its watermark.
        before: the batch before it; without one no row is known to have been covered sooner.
    """
    now_ms = None if batch is None else batch.watermark_ms
    if change.rebased or now_ms is None:
        return 0
    touched = state.touched_keys()
    times = touched.was_clock[touched.was_live & ~touched.now_live]
    good = (times != NO_CLOCK) & (times <= now_ms * event_time.per_ms)
    if before is not None and before.watermark_ms:
        good &= times > before.watermark_ms * event_time.per_ms
    return int((~good).sum())
