"""What a replayed store tells of the lives of its rows: ages, timers, leftovers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.ages import clock_range_ms, measure_ages
from inspector.facts.clocks import Clocks
from inspector.facts.join_times import OFF_TIME, ON_TIME, Removed
from inspector.facts.leftovers import find_leftovers
from inspector.facts.timed_out import TimerView
from inspector.facts.timer_runs import TimerRuns
from inspector.facts.timers import EVENT, PROCESSING, Calls, Place, TimerRecords, calls_of
from inspector.model import NO_TIMEOUT, BatchClock, Certainty, TimeoutKind
from inspector.operators.rule import Clock
from inspector.passes.leftover_rows import tell_leftovers
from inspector.passes.store_reader import StoreReader
from inspector.schemas import HABITS
from inspector.state.change import Change
from inspector.state.replay import StateMap

Row = dict[str, Any]


class Lifetime:
    """Follows one store through its versions; tells its facts at the end."""

    def __init__(self, task: Task, store: StoreTask, reader: StoreReader, state: StateMap) -> None:
        self._task, self._store, self._reader, self._state = task, store, reader, state
        self._batches: Mapping[int, BatchClock] = {c.batch_id: c for c in task.clocks}
        self._place = Place(
            store.fed_by_sources,
            store.certainty is Certainty.PROVEN,
            store.timers_always_clear,
        )
        self._runs = TimerRuns(store.timeout_kinds, self._place)
        self._calls: dict[int, Calls] = {}
        self._has_timers = state.tracking.clock_slot >= 0
        self._from_snapshot = False

    def take(self, change: Change) -> Iterator[Row]:
        """Take one version's change over; tell what belongs to the version alone."""
        if change.rebased:
            self._from_snapshot = True
        batch = self._batches.get(change.version - 1)
        if self._has_timers:
            records = TimerRecords.of(change, self._state)
            calls = calls_of(records, batch, self._place)
            self._calls[change.version] = calls
            self._runs.update(records, self._state, batch, calls)
        if self._store.event_time is not None:
            found_range = clock_range_ms(self._state, self._store.event_time.per_ms)
            if found_range is not None:
                yield self._row("retention", change.version) | {"oldest_ms": found_range[0]}
            if self._store.by_key_time:
                before = self._batches.get(change.version - 2)
                event_time = self._store.event_time
                removed = Removed.of(change, self._state, event_time, batch, before)
                for slug, rows in ((ON_TIME, removed.on_time), (OFF_TIME, removed.off_time)):
                    yield self._row("join", change.version) | {"slug": slug, "bad_keys": rows}

    def tell(self) -> Iterator[Row]:
        """Everything about the version that was replayed last."""
        yield from self._ages()
        expiry = self._store.expiry
        if expiry is None or self._state.tracking.clock is None:
            return
        timers = None
        if expiry.clock is Clock.TIMEOUT:
            self._runs.stood_at_end(self._state)
            calls = self._with_standing()
            yield from self._timers(calls)
            kinds, size = self._store.timeout_kinds, self._store.empty_size
            timers = TimerView(kinds, self._place, calls, self._runs, size)
        found = find_leftovers(
            self._state,
            expiry,
            Clocks.of(self._state.versions, self._batches),
            certainty=self._store.certainty,
            timers=timers,
            reason=self._store.reason,
        )
        for leftovers in found:
            yield from tell_leftovers(self._task, self._reader, self._state, leftovers)

    # -- ages --------------------------------------------------------------------------------

    def _ages(self) -> Iterator[Row]:
        state = self._state
        base = state.versions[state.base_step]
        followed = self._store.expiry or self._store.event_time
        times = None
        if followed is not None and state.tracking.clock is not None and not self._has_timers:
            times = clock_range_ms(state, followed.per_ms)
        yield self._row("window") | {
            "window_version": base,
            "first_known": base + self._from_snapshot,
            "oldest_ms": None if times is None else times[0],
            "newest_ms": None if times is None else times[1],
        }
        for version, rows, size in measure_ages(state):
            yield self._row("age") | {
                "last_put_version": version,
                "rows": rows,
                "value_bytes": size,
            }

    # -- timers ------------------------------------------------------------------------------

    def _with_standing(self) -> dict[int, Calls]:
        """Who made the records of each version, with what the timers say that outlived it."""
        found = {}
        for step, version in enumerate(self._state.versions):
            calls = self._calls.get(version, Calls())
            stood = {
                kind
                for kind, run in self._runs.by_kind.items()
                if step < len(run.standing) and run.standing[step]
            }
            if version in self._store.processing_versions:
                stood.add(EVENT)
            found[version] = replace(calls, against=calls.against | stood)
        return found

    def _timers(self, calls: Mapping[int, Calls]) -> Iterator[Row]:
        for version, of_version in calls.items():
            for kind in (EVENT, PROCESSING):
                if kind in of_version.against:
                    yield self._row("timers", version) | {"timeout_kind": kind.value}
        state, runs = self._state, self._runs
        armed = runs.ever_armed[: len(state)]
        never = state.where(
            lambda some: state.live[some] & ~armed[some] & (state.clock[some] == NO_TIMEOUT)
        )
        for kind in self._store.timeout_kinds:
            yield self._row("calls") | self._habits(kind, int(np.count_nonzero(armed)), never)

    def _habits(self, kind: TimeoutKind, armed: int, never: Int64s) -> Row:
        calls = replace(self._runs.by_kind[kind].calls, armed_keys=armed)
        return {
            "timeout_kind": kind.value,
            **{name: getattr(calls, name) for name in HABITS},
            "rows": len(never),
            "key_bytes": int(self._state.key_size[never].sum(dtype=np.int64)),
            "value_bytes": int(self._state.value_size[never].sum(dtype=np.int64)),
        }

    def _row(self, kind: str, version: int | None = None) -> Row:
        return self._reader.row(kind, self._task.version if version is None else version)
