"""How often in a row each key's timeout fired, and what data calls do with timers.

Kept per key while the versions pass, under each reading of the timers that is possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.measure.timers import NO_TIMEOUT_SEEN, RecordOrder, TimerPuts
from inspector.model import NO_TIMEOUT, BatchClock, TimeoutKind
from inspector.state.change import Bools, Int64s
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap

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
        puts: TimerPuts,
        state: StateMap,
        clock: BatchClock | None,
        order: dict[TimeoutKind, RecordOrder],
    ) -> None:
        """Take one version's puts over; ``state`` is the map after it."""
        rebased = puts.change.rebased
        if rebased:
            self._put, self.ever_armed = np.zeros(0, np.int32), np.zeros(0, np.bool_)
        step = len(state.versions) - 1
        self._reserve(len(state), rebased)
        armed = puts.timers != NO_TIMEOUT
        put_before = np.maximum(self._put[puts.ids[puts.over]], state.base_step - 1)
        for kind, run in self.by_kind.items():
            due_at = _threshold(clock, kind)
            run.reached += [max([due_at, *run.reached[-1:]])] * (step + 1 - len(run.reached))
            if not rebased:
                quiet = clock is not None and clock.has_new_data is False
                known = order.get(kind)
                due = np.flatnonzero(puts.over_timers < due_at)
                _advance(run, puts, due, (step, put_before[due]), (quiet, known or _UNKNOWN))
                if known is not None and not quiet:
                    _count_data(run, puts, due, armed, known)
        self._put[puts.ids] = BEFORE_WINDOW if rebased else step
        self.ever_armed[puts.ids if armed.all() else puts.ids[armed]] = True

    def _reserve(self, keys: int, anew: bool) -> None:
        if anew:
            for run in self.by_kind.values():
                run.fired, run.first = np.zeros(0, np.int32), np.zeros(0, np.int32)
        room = keys + (keys >> 3) if keys > len(self._put) else len(self._put)
        _lengthen(self, "_put", room, BEFORE_WINDOW)
        _lengthen(self, "ever_armed", room, False)
        for run in self.by_kind.values():
            _lengthen(run, "fired", room, 0)
            _lengthen(run, "first", room, 0)


def _threshold(clock: BatchClock | None, kind: TimeoutKind) -> int:
    if clock is None:
        return NO_CLOCK
    found = clock.watermark_ms if kind is TimeoutKind.EVENT_TIME else clock.timestamp_ms
    return NO_CLOCK if found is None else found


def _advance(
    run: Run,
    puts: TimerPuts,
    due: Int64s,
    steps: tuple[int, Int64s],
    called: tuple[bool, RecordOrder],
) -> None:
    """Lengthen the runs of timers that surely fired; end all others that were touched.

    Args:
        run: the reading.
        puts: of the version.
        due: which of the replaced timers had run out.
        steps: of the version, and those of the puts before that set the due timers.
        called: whether only timeouts can have called; what the order of the records tells.
    """
    (step, put_before), (quiet, order) = steps, called
    if not quiet:  # Only what is sure is counted: the run is at least so long.
        sure = puts.records[puts.over[due]] >= order.first_timeout
        due, put_before = due[sure], put_before[sure]
    ids = puts.ids[puts.over[due]]
    # The timer may have stood, and fired, since an earlier batch: only applyInPandasWithState.
    reached = np.array(run.reached, np.int64)
    started = np.searchsorted(reached, puts.over_timers[due], side="right")
    started = np.minimum(np.maximum(started, put_before + 1), step)
    fired = run.fired[ids]
    run.fired[puts.touched] = 0
    run.first[ids] = np.where(fired > 0, run.first[ids], started)
    run.fired[ids] = fired + (step - started + 1)


def _count_data(run: Run, puts: TimerPuts, due: Int64s, armed: Bools, order: RecordOrder) -> None:
    """Count the puts that a call for data surely made: all but those that a timeout may have."""
    unsure = puts.over[due]
    unsure = unsure[puts.records[unsure] > order.last_data]
    with_timer = int(np.count_nonzero(armed)) - int(np.count_nonzero(armed[unsure]))
    run.armed_by_data += with_timer
    run.unarmed_by_data += len(armed) - len(unsure) - with_timer


def _lengthen(owner: object, name: str, room: int, fill: int) -> None:
    """Lengthen a column, without a copy if nobody else looks at it."""
    had = len(getattr(owner, name))
    try:
        getattr(owner, name).resize(room)
    except ValueError:
        longer = np.empty(room, getattr(owner, name).dtype)
        longer[:had] = getattr(owner, name)
        setattr(owner, name, longer)
    getattr(owner, name)[had:] = fill
