"""How often in a row each key's timeout fired, and what data calls do with timers.

Kept per key while the versions pass, under each reading of the timers that is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.measure.clocks import TimeoutKind
from inspector.measure.timers import NO_TIMEOUT_SEEN, RecordOrder
from inspector.model import NO_TIMEOUT, BatchClock
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, Bools, Change, Int64s, StateMap

Int32s = npt.NDArray[np.int32]
_UNKNOWN = RecordOrder(-1, NO_TIMEOUT_SEEN)


@dataclass(frozen=True)
class TimerCalls:
    """What a store's history tells of its timers under one reading. Adds; the zero is empty.

    Attributes:
        armed_by_data, unarmed_by_data: puts that a call for data surely made, by whether they left
            a timer.
        armed_keys: keys that had a timer at some version of the window.
        never_armed_rows, never_armed_bytes: live rows that had none, and their key and value bytes.
    """

    armed_by_data: int = 0
    unarmed_by_data: int = 0
    armed_keys: int = 0
    never_armed_rows: int = 0
    never_armed_bytes: int = 0

    def __add__(self, other: TimerCalls) -> TimerCalls:
        return TimerCalls(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def data_always_arms(self) -> bool:
        """Every call for data that the history shows left a timer, and it shows some."""
        return self.armed_by_data > 0 and not self.unarmed_by_data

    @classmethod
    def from_columns(cls, row: Mapping[str, Any]) -> TimerCalls:
        """From a row of kind ``calls`` of :data:`inspector.schemas.FACTS`."""
        return cls(
            row["armed_by_data"],
            row["unarmed_by_data"],
            row["armed_keys"],
            row["rows"],
            row["key_bytes"] + row["value_bytes"],
        )


class Run:
    """One reading: the uninterrupted timed-out calls with which each key's history ends.

    Attributes:
        fired: at least how many; 0 after what may be a call for data. first: step of the first.
        armed_by_data, unarmed_by_data: puts that a call for data surely made, by whether they left
            a timer.
    """

    def __init__(self) -> None:
        self.fired: Int32s = np.zeros(0, np.int32)
        self.first: Int32s = np.zeros(0, np.int32)
        self.armed_by_data = 0
        self.unarmed_by_data = 0
        self.reached: list[int] = []


class TimerRuns:
    """The runs of all keys of a store, version after version.

    Attributes:
        by_kind: the run of each key under each reading.
        ever_armed: keys that had a timer at some version of the window.
    """

    def __init__(self, kinds: Iterable[TimeoutKind] = ()) -> None:
        self.by_kind = {kind: Run() for kind in kinds}
        self.ever_armed: Bools = np.zeros(0, np.bool_)
        self._put: Int32s = np.zeros(0, np.int32)

    def update(
        self,
        change: Change,
        state: StateMap,
        clock: BatchClock | None,
        order: dict[TimeoutKind, RecordOrder],
    ) -> None:
        """Take one version's change over; ``state`` is the map after it."""
        if change.rebased:
            self._put, self.ever_armed = np.zeros(0, np.int32), np.zeros(0, np.bool_)
        step = len(state.versions) - 1
        self._reserve(len(state), change.rebased)
        put_before = np.maximum(self._put[change.ids], state.base_step - 1)
        for kind, run in self.by_kind.items():
            due_at = _threshold(clock, kind)
            run.reached += [max([due_at, *run.reached[-1:]])] * (step + 1 - len(run.reached))
            if not change.rebased:
                _advance(run, change, state, due_at, (step, put_before), clock, order.get(kind))
        self._put[change.ids] = state.put_step[change.ids]
        timers = state.clock[change.ids]
        self.ever_armed[change.ids] |= change.now_live & (timers != NO_TIMEOUT)

    def _reserve(self, keys: int, anew: bool) -> None:
        room = keys + (keys >> 3) if keys > len(self._put) else len(self._put)
        self._put = _grown(self._put, room, BEFORE_WINDOW)
        self.ever_armed = _grown(self.ever_armed, room, False)
        for run in self.by_kind.values():
            for name in ("fired", "first"):
                have = np.zeros(0, np.int32) if anew else getattr(run, name)
                setattr(run, name, _grown(have, room, 0))


def _threshold(clock: BatchClock | None, kind: TimeoutKind) -> int:
    if clock is None:
        return NO_CLOCK
    found = clock.watermark_ms if kind is TimeoutKind.EVENT_TIME else clock.timestamp_ms
    return NO_CLOCK if found is None else found


def _advance(  # noqa: PLR0913 - one version of one reading
    run: Run,
    change: Change,
    state: StateMap,
    due_at: int,
    steps: tuple[int, Int64s],
    clock: BatchClock | None,
    order: RecordOrder | None,
) -> None:
    ids, over, written = change.ids, change.was_clock, change.written
    step, put_before = steps
    last_data, first_timeout = order or _UNKNOWN
    records, timers = state.put_record[ids], state.clock[ids]
    quiet = clock is not None and clock.has_new_data is False
    due = written & (over != NO_TIMEOUT) & (over != NO_CLOCK) & (over < due_at)
    # Only what is sure is counted: the run is at least so long.
    timed_out = due & (quiet | (records >= first_timeout))
    # The timer may have stood, and fired, since an earlier batch: only applyInPandasWithState.
    reached = np.array(run.reached, np.int64)
    started = np.maximum(np.searchsorted(reached, over, side="right"), put_before + 1)
    started = np.minimum(started, step)
    run.first[ids] = np.where(run.fired[ids] > 0, run.first[ids], started)
    run.fired[ids] = np.where(timed_out, run.fired[ids] + (step - started + 1), 0)
    if order is not None and not quiet:
        by_data = written & (~due | (records <= last_data))
        run.armed_by_data += int((by_data & (timers != NO_TIMEOUT)).sum())
        run.unarmed_by_data += int((by_data & (timers == NO_TIMEOUT)).sum())


def _grown(have: Any, room: int, fill: int) -> Any:
    if room <= len(have):
        return have
    grown = np.full(room, fill, have.dtype)
    grown[: len(have)] = have
    return grown
