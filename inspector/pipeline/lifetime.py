"""What a replayed store tells of the lives of its rows: ages, timers, leftovers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inspector.measure.ages import clock_range_ms, measure_ages
from inspector.measure.leftovers import (
    Clocks,
    Leftovers,
    StateChange,
    TimeoutKind,
    TimerEvidence,
    TimerRuns,
    TimerView,
    find_leftovers,
    overdue_evidence,
    timer_evidence,
)
from inspector.model import NO_TIMEOUT, BatchClock
from inspector.operators.rule import Clock
from inspector.pipeline.reading import StoreReader
from inspector.pipeline.tasks import StoreTask, Task
from inspector.state.replay import NO_CLOCK, Change, Int64s, StateMap

Row = dict[str, Any]

KEYS_AT_ONCE = 4096


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
            found = TimerEvidence()
            if not change.rebased:
                found = timer_evidence(change, self._state, batch)
            self._evidence += found
            order = {
                kind: by_version[change.version]
                for kind, by_version in found.order.items()
                if change.version in by_version
            }
            self._runs.update(change, self._state, batch, order)
        if self._store.event_time is not None:
            found_range = clock_range_ms(self._state, self._store.event_time.per_ms)
            if found_range is not None:
                yield self._row("retention", change.version) | {"oldest_ms": found_range[0]}

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
            yield from self._leftovers(leftovers)

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
        count = len(state)
        armed = runs.ever_armed[:count]
        never = np.flatnonzero(state.live[:count] & ~armed & (state.clock[:count] == NO_TIMEOUT))
        for kind in kinds:
            run = runs.by_kind[kind]
            yield self._row("calls") | {
                "timeout_kind": kind.value,
                "armed_by_data": run.armed_by_data,
                "unarmed_by_data": run.unarmed_by_data,
                "armed_keys": int(armed.sum()),
                "rows": len(never),
                **self._sizes(never),
            }

    # -- leftovers ---------------------------------------------------------------------------

    def _leftovers(self, leftovers: Leftovers) -> Iterator[Row]:
        ids = leftovers.ids
        if not len(ids):
            return
        kind = leftovers.timeout_kind
        common: Row = {
            "leftover_class": leftovers.kind.value,
            "certainty": leftovers.certainty.value,
            "timeout_kind": None if kind is None else kind.value,
            "reason": leftovers.reason or None,
            "before_window": leftovers.before_window,
        }
        versions = np.array(self._state.versions, np.int64)
        yield (
            self._row("leftovers")
            | common
            | {"rows": len(ids), **self._sizes(ids), "fired": int(leftovers.fired.max())}
            | {"expired_version": int(versions[leftovers.expired_step].min())}
            | _by_change(leftovers)
        )
        yield from self._by_version(leftovers, common, versions)
        listed = self._listed(leftovers)
        for start in range(0, len(listed), KEYS_AT_ONCE):
            some = listed[start : start + KEYS_AT_ONCE]
            keys = self._state.keys(ids[some])
            for i, key in zip(some.tolist(), keys, strict=True):
                told = self._evidence_of(leftovers, i, versions)
                yield self._row("leftover") | common | {"key": key} | told

    def _by_version(self, leftovers: Leftovers, common: Row, versions: Int64s) -> Iterator[Row]:
        ids = leftovers.ids
        size = self._state.key_size[ids].astype(np.int64) + self._state.value_size[ids]
        rows = np.bincount(leftovers.expired_step)
        weights = np.bincount(leftovers.expired_step, size)
        for step in np.flatnonzero(rows).tolist():
            yield (
                self._row("leftover_age")
                | common
                | {
                    "expired_version": int(versions[step]),
                    "rows": int(rows[step]),
                    "value_bytes": int(weights[step]),
                }
            )

    def _evidence_of(self, leftovers: Leftovers, i: int, versions: Int64s) -> Row:
        state, key_id = self._state, int(leftovers.ids[i])
        put = int(state.put_step[key_id])
        expired = int(leftovers.expired_step[i])
        first = expired if leftovers.first_step is None else int(leftovers.first_step[i])
        return {
            "key_bytes": int(state.key_size[key_id]),
            "value_bytes": int(state.value_size[key_id]),
            "expired_version": int(versions[expired]),
            "first_expired_version": None if leftovers.before_window else int(versions[first]),
            "clock_ms": _known(leftovers.clock_ms[i]),
            "threshold_ms": _known(leftovers.threshold_ms[i]),
            "last_put_version": None if put < 0 else int(versions[put]),
            "puts": int(state.puts[key_id]),
            "fired": int(leftovers.fired[i]) or None,
            "state_change": None
            if leftovers.change is None
            else StateChange(int(leftovers.change[i])).word,
        }

    def _listed(self, leftovers: Leftovers) -> Int64s:
        """Positions of the leftovers to list: the oldest, and the largest, up to the limit each."""
        ids = leftovers.ids
        size = self._state.key_size[ids].astype(np.int64) + self._state.value_size[ids]
        oldest = np.lexsort((ids, -size, leftovers.expired_step))
        limit = self._task.leftover_limit
        if not limit or limit >= len(ids):
            return oldest
        largest = np.lexsort((ids, leftovers.expired_step, -size))[:limit]
        return np.concatenate([oldest[:limit], largest[~np.isin(largest, oldest[:limit])]])

    def _sizes(self, ids: Int64s) -> dict[str, int]:
        return {
            "key_bytes": int(self._state.key_size[ids].sum(dtype=np.int64)),
            "value_bytes": int(self._state.value_size[ids].sum(dtype=np.int64)),
        }

    def _row(self, kind: str, version: int | None = None) -> Row:
        return self._reader.row(kind, self._task.version if version is None else version)


def _by_change(leftovers: Leftovers) -> dict[str, int]:
    if leftovers.change is None:
        return {}
    return {
        f"{change.word}_keys": int((leftovers.change == change).sum()) for change in StateChange
    }


def _known(value: np.int64) -> int | None:
    return None if value == NO_CLOCK else int(value)
