"""What a replayed store tells of the lives of its rows: ages, timers, leftovers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inspector.measure.ages import clock_range_ms, measure_ages
from inspector.measure.join_times import OFF_TIME, removed_off_time
from inspector.measure.leftovers import (
    Clocks,
    TimerEvidence,
    TimerPuts,
    TimerRuns,
    TimerView,
    find_leftovers,
    overdue_evidence,
    timer_evidence,
)
from inspector.model import NO_TIMEOUT, BatchClock, TimeoutKind
from inspector.operators.rule import Clock
from inspector.pipeline.leftover_rows import tell_leftovers
from inspector.pipeline.reading import StoreReader
from inspector.pipeline.tasks import StoreTask, Task
from inspector.state.change import Change, Int64s
from inspector.state.replay import StateMap

Row = dict[str, Any]


class Lifetime:
    """Follows one store through its versions; tells its facts at the end."""

    def __init__(self, task: Task, store: StoreTask, reader: StoreReader, state: StateMap) -> None:
        self._task, self._store, self._reader, self._state = task, store, reader, state
        self._batches: Mapping[int, BatchClock] = {c.batch_id: c for c in task.clocks}
        self._evidence = TimerEvidence()
        self._runs = TimerRuns(store.timeout_kinds)
        self._has_timers = state.tracking.clock_slot >= 0
        self._from_snapshot = False

    def take(self, change: Change) -> Iterator[Row]:
        """Take one version's change over; tell what belongs to the version alone."""
        if change.rebased:
            self._from_snapshot = True
        batch = self._batches.get(change.version - 1)
        if self._has_timers:
            puts, found = TimerPuts.of(change, self._state), TimerEvidence()
            if not change.rebased:
                found = timer_evidence(puts, batch)
            self._evidence += found
            order = {
                kind: by_version[change.version]
                for kind, by_version in found.order.items()
                if change.version in by_version
            }
            self._runs.update(puts, self._state, batch, order)
        if self._store.event_time is not None:
            found_range = clock_range_ms(self._state, self._store.event_time.per_ms)
            if found_range is not None:
                yield self._row("retention", change.version) | {"oldest_ms": found_range[0]}
            if self._store.by_key_time:
                before = self._batches.get(change.version - 2)
                event_time = self._store.event_time
                removed = removed_off_time(change, self._state, event_time, batch, before)
                yield self._row("join", change.version) | {"slug": OFF_TIME, "bad_keys": removed}

    def tell(self) -> Iterator[Row]:
        """Everything about the version that was replayed last."""
        yield from self._ages()
        expiry = self._store.expiry
        if expiry is None or self._state.tracking.clock is None:
            return
        clocks = Clocks.of(self._state.versions, self._batches)
        kinds: tuple[TimeoutKind, ...] = ()
        if expiry.clock is Clock.TIMEOUT:
            kinds = self._kinds(clocks)
            yield from self._timers(kinds)
        view = TimerView(self._evidence, self._runs, self._store.empty_size, self._store.certainty)
        found = find_leftovers(
            self._state,
            expiry,
            clocks,
            certainty=self._store.certainty,
            timers=(view, kinds),
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

    def _kinds(self, clocks: Clocks) -> tuple[TimeoutKind, ...]:
        """The readings of the timers that are left."""
        store, evidence = self._store, self._evidence
        if store.timers_always_clear:
            evidence += overdue_evidence(self._state, clocks)
        kinds = evidence.possible(store.timeout_kinds, store.certainty)
        armed = bool(self._runs.ever_armed.any())
        if store.no_watermark and armed and not evidence.not_processing:
            # Without a watermark no event-time timer can be armed after a clock it has not seen.
            kinds = tuple(kind for kind in kinds if kind is TimeoutKind.PROCESSING_TIME) or kinds
        return kinds

    def _timers(self, kinds: tuple[TimeoutKind, ...]) -> Iterator[Row]:
        yield self._row("timers") | {"timeout_kind": ",".join(kind.value for kind in kinds)}
        state, runs = self._state, self._runs
        armed = runs.ever_armed[: len(state)]
        never = state.where(
            lambda some: state.live[some] & ~armed[some] & (state.clock[some] == NO_TIMEOUT)
        )
        for kind in kinds:
            run = runs.by_kind[kind]
            yield self._row("calls") | {
                "timeout_kind": kind.value,
                "armed_by_data": run.armed_by_data,
                "unarmed_by_data": run.unarmed_by_data,
                "armed_keys": int(np.count_nonzero(armed)),
                "rows": len(never),
                **self._sizes(never),
            }

    def _sizes(self, ids: Int64s) -> dict[str, int]:
        return {
            "key_bytes": int(self._state.key_size[ids].sum(dtype=np.int64)),
            "value_bytes": int(self._state.value_size[ids].sum(dtype=np.int64)),
        }

    def _row(self, kind: str, version: int | None = None) -> Row:
        return self._reader.row(kind, self._task.version if version is None else version)
