"""History of keys that a repartitioning moved, taken from the partitions that had them before.

``OfflineStateRepartitionRunner`` of Spark 4.3 writes each row unchanged into a snapshot of its new
partition. Only the files of the old partition show when it was put and which timer it replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int32s, Int64s, chunks
from inspector.facts.timer_runs import Runs, TimerRuns
from inspector.facts.timers import EVENT, PROCESSING, Calls
from inspector.model import BatchClock, TimeoutKind
from inspector.state.replay import BEFORE_WINDOW, StateMap

SURE = 1  # bit of ``StateMap.record`` of an inherited put: a timeout surely made it
# bits of ``StateMap.record`` of an inherited put, by clock: a timeout by that clock may have made
# it
MAYBE = {EVENT: 2, PROCESSING: 4}

_KEYS_AT_ONCE = 1 << 16  # keys that are compared at once
# columns of the map that a key inherits
_COLUMNS = ("put_step", "born_step", "puts", "record", "put_same_state")
Ints = Int64s | Int32s


class Inherited:
    """History of the live keys of a map, collected from the maps of other partitions."""

    # It takes some 70 bytes a key until it is applied.

    def __init__(self, state: StateMap) -> None:
        self._state = state
        keys = len(state)
        self._found = np.zeros(keys, np.bool_)
        self._columns: dict[str, npt.NDArray[np.int64]] = {
            name: np.zeros(keys, np.int64) for name in _COLUMNS
        }
        self._over = np.zeros(keys if state.tracking.clock_slot >= 0 else 0, np.int64)
        self._armed = np.zeros(keys, np.bool_)
        self._runs: dict[TimeoutKind, Runs] = {}
        self._versions: set[int] = set()
        self._base = 0

    def add(self, second: StateMap, runs: TimerRuns, calls: Mapping[int, Calls]) -> None:
        """Take over the history of live rows that another partition's map has unchanged.

        A row counts as unchanged if its key, value and timer are equal in both maps. Rows that an
        earlier call found are skipped. ``second`` is the other partition's map, ``runs`` has its
        runs of timeouts, and ``calls`` has by version the calls that made its records.
        """
        self._versions.update(second.versions)
        self._base = max(self._base, second.versions[second.base_step])
        versions = np.array([*second.versions, BEFORE_WINDOW], np.int64)
        makers = RecordMakers(second, [calls.get(v, Calls()) for v in second.versions])
        for ids, theirs in self._matches(second):
            self._found[ids] = True
            put, born = second.put_step[theirs], second.born_step[theirs]
            columns = self._columns
            columns["put_step"][ids] = np.where(put < 0, BEFORE_WINDOW, versions[put])
            columns["born_step"][ids] = np.where(born < 0, BEFORE_WINDOW, versions[born])
            columns["puts"][ids] = second.puts[theirs]
            columns["record"][ids] = makers.bits(put, second.record[theirs])
            columns["put_same_state"][ids] = second.put_same_state[theirs]
            if len(self._over):
                self._over[ids] = second.put_over_clock[theirs]
                self._armed[ids] = runs.ever_armed[theirs]
            for kind, run in runs.by_kind.items():
                zeros = np.zeros((2, len(self._found)), np.int64)
                fired, first = self._runs.setdefault(kind, (zeros[0], zeros[1]))
                fired[ids], first[ids] = run.fired[theirs], versions[run.first[theirs]]

    @property
    def whole(self) -> bool:
        """True if each live row of the map was found unchanged in another partition.

        A row that a tool changed is not found.
        """
        return bool(self._found[self._state.live[: len(self._found)]].all())

    def apply(self, runs: TimerRuns, batches: Mapping[int, BatchClock]) -> None:
        """Write the collected history into the map, and the runs of its timers into ``runs``."""
        state, last = self._state, max(self._versions)
        # The writes of an attempt that the repartitioning gave up are no version of the state.
        own_steps = {step: v for step, v in enumerate(state.versions) if v <= last}
        versions = [*sorted({*own_steps.values(), *self._versions}), state.versions[-1]]
        position = {version: step for step, version in enumerate(versions)}
        state.versions[:] = versions
        state.base_step, state.inherited = position[self._base], len(versions) - 1
        runs.renumber({step: position[v] for step, v in own_steps.items()}, versions, batches)
        steps = np.full(max(versions) + 2, BEFORE_WINDOW, np.int64)
        steps[list(position)] = list(position.values())
        ids = np.flatnonzero(self._found)
        for name, column in self._columns.items():
            values = column[ids]
            if name.endswith("_step"):
                values = np.where(values < 0, BEFORE_WINDOW, steps[values])
            getattr(state, name)[ids] = values
        if len(self._over):
            state.put_over_clock[ids] = self._over[ids]
            runs.ever_armed[ids] = self._armed[ids]
            fired_by = {
                kind: (fired[ids], np.maximum(steps[first[ids]], 0))
                for kind, (fired, first) in self._runs.items()
            }
            runs.inherit(state, ids, fired_by)

    def _matches(self, second: StateMap) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield ids of rows that the map ``second`` has with equal value, and their ids there.

        Rows that were found before are left out.
        """
        state, matches = self._state, len(second)
        missing = np.flatnonzero(state.live[: len(self._found)] & ~self._found)
        for ids in chunks(missing, _KEYS_AT_ONCE):
            data, ends = state.join_keys(ids)
            theirs = np.empty(len(ids), np.int64)
            second.interner.intern(data, ends[:-1], np.diff(ends), theirs)
            present = np.flatnonzero(theirs < matches)
            ids, theirs = ids[present], theirs[present]
            is_same = second.live[theirs] & (second.value_hash[theirs] == state.value_hash[ids])
            is_same &= second.clock[theirs] == state.clock[ids]
            yield ids[is_same], theirs[is_same]


class RecordMakers:
    """Judges which calls, for data or timers, made the last puts of a map's keys.

    It compares the position of a record with the calls of its version; inherited puts have their
    answer in the bits of their record.
    """

    def __init__(self, state: StateMap, calls: Sequence[Calls]) -> None:
        self._inherited = state.inherited
        self._sure_from = np.array([step_calls.sure_from for step_calls in calls], np.int64)
        self._last_data = {
            kind: np.array([step_calls.last_data.get(kind, -1) for step_calls in calls], np.int64)
            for kind in MAYBE
        }

    def is_sure(self, put: Ints, position: Ints) -> Bools:
        """Return a mask of the puts that a timeout surely made, by step and record position."""
        is_behind = position >= self._sure_from[put]
        sure: Bools = np.where(put < self._inherited, position & SURE > 0, is_behind)
        return sure

    def is_possible(self, kind: TimeoutKind, put: Ints, position: Ints) -> Bools:
        """Return a mask of the puts that a timeout by the clock ``kind`` may have made."""
        is_behind = position > self._last_data[kind][put]
        possible: Bools = np.where(put < self._inherited, position & MAYBE[kind] > 0, is_behind)
        return possible

    def bits(self, put: Ints, position: Ints) -> Int64s:
        """Return for each put its bits of SURE and MAYBE, for a map that inherits it."""
        bits: Int64s = SURE * self.is_sure(put, position).astype(np.int64)
        for kind, bit in MAYBE.items():
            bits += bit * self.is_possible(kind, put, position)
        return bits
