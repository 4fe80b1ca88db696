"""Ages, timers and leftovers of the rows of a replayed store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.discovery.tasks import StoreTask, Task
from inspector.facts import timers
from inspector.facts.ages import Ages, OldestEventTime, RowsBehind
from inspector.facts.expired import UNLESS, WAITS, Clocks, past_clock
from inspector.facts.expiring import Expiring
from inspector.facts.fact import FactT, Observed
from inspector.facts.inherited import Inherited
from inspector.facts.join_rows import RemovedRows
from inspector.facts.leftover_facts import observe_leftovers
from inspector.facts.timed_out import BY_BOTH, DISPUTED, TimerView, timeout_leftovers
from inspector.facts.timer_runs import TimerRuns
from inspector.light_dataclasses import replace
from inspector.model import BatchClock, Certainty, StoreId
from inspector.operators.rule import Clock
from inspector.operators.transform_with_state import Family
from inspector.state.change import Change
from inspector.state.replay import NO_CLOCK, StateMap


class Lifetime:
    """Follows one store through its versions, and emits facts about ages, timers and leftovers.

    Attributes:
        disputed: True if the map began with a snapshot that differs from its deltas. It is not
            known which of the two the query resumed from (premise ``own-snapshot``), so nothing is
            proven of it.
        runs: how many batches in a row the timers fired, by kind of timer.
    """

    def __init__(self, task: Task, store: StoreTask, store_id: StoreId, state: StateMap) -> None:
        self._store_id, self._state = store_id, state
        self.resume(task, store)
        self._premises = timers.TimerPremises(
            store.only_sources_feed,
            store.certainty is Certainty.PROVEN,
            store.timers_always_clear,
            # The inference is that the watermark lags.
            store.certainty is not Certainty.INFERRED,
        )
        self.runs = TimerRuns(store.timeout_kinds, self._premises)
        self._calls: dict[int, timers.Calls] = {}
        self._has_timers = state.tracking.clock_slot >= 0
        self._from_snapshot = self.disputed = False

    def resume(self, task: Task, store: StoreTask) -> None:
        """Continue with a later task of the same store, whose log has more batches."""
        self._task, self._store = task, store
        self._batches: Mapping[int, BatchClock] = {
            c.batch_id: BatchClock(c.batch_id, appended=True) if c.has_foreign_rows else c
            for c in task.clocks
        }

    @property
    def looks_at_versions(self) -> bool:
        """True if each version has facts of its own: about timers, or about the times of rows."""
        has_times = self._store.event_time is not None or self._store.family is Family.TIMERS
        return self._has_timers or has_times or bool(self._store.raised)

    def update(self, change: Change) -> Iterator[Observed[Any]]:
        """Follow one version's change, and yield the facts that are about this version alone."""
        if change.rebased:
            self._from_snapshot = True
        batch = self._batches.get(change.version - 1)
        if self._has_timers:
            records = timers.TimerRecords.of(change, self._state)
            given = self._store.call_bounds.get(change.version)
            bounds = None if given is None else timers.CallBounds(*given)
            calls = timers.calls_of(records, batch, self._premises, bounds)
            if self.disputed:
                # The deltas may have left another timer where the snapshot has one, or none.
                calls = timers.Calls()
                records = replace(records, change=replace(change, rebased=True))
            self._calls[change.version] = calls
            self.runs.update(records, self._state, batch, calls)
            if batch is not None and batch.appended:
                # Whatever timer a tool wrote over, no call answered it.
                self._state.put_over_clock[records.ids] = NO_CLOCK
        event_time, expiry = self._store.event_time, self._store.expiry
        clock = self._task.clock(change.version - 1)
        if self._store.family is Family.TIMERS and expiry is not None and not self.disputed:
            removed = RemovedRows.observe(change, self._state, expiry, batch, clock)
            yield self._observe(removed, change.version)
        raised, followed = self._store.raised.get(change.version), expiry or event_time
        if raised is not None and followed is not None and not change.rebased:
            rows_behind = RowsBehind.observe(self._state, followed.per_ms, raised)
            yield self._observe(rows_behind, change.version)
        if event_time is None:
            return
        oldest = OldestEventTime.observe(self._state, event_time.per_ms)
        if oldest.oldest_ms is not None:
            yield self._observe(oldest, change.version)
        if not self.disputed:
            removed = RemovedRows.observe(change, self._state, event_time, batch, clock)
            yield self._observe(removed, change.version)

    def bounds(self, change: Change) -> Observed[timers.CallBounds]:
        """Return how many records of one version were made by data and by timers, as bounds."""
        batch = self._batches.get(change.version - 1)
        bounds = timers.CallBounds.of(timers.TimerRecords.of(change, self._state), batch)
        return self._observe(bounds, change.version)

    def emit(self) -> Iterator[Observed[Any]]:
        """Yield facts about the last replayed version: ages, expiry times, timers, leftovers."""
        yield self._observe(self._ages())
        if self._task.request.expiring and self._state.tracking.clock is not None:
            yield from self._expiring()
        expiry = self._store.expiry
        if expiry is None or self._state.tracking.clock is None:
            return
        clocks = Clocks.of(self._state.versions, self._batches)
        if expiry.clock is Clock.TIMEOUT:
            calls = self.calls()
            yield from self._timers(calls)
            kinds, size = self._store.timeout_kinds, self._store.empty_size
            view = TimerView(kinds, self._premises, calls, self.runs, size, self.disputed)
            result = timeout_leftovers(self._state, clocks, view)
        else:
            certainty, reason = self._store.certainty, self._store.reason
            result = past_clock(self._state, expiry, clocks, certainty, reason)
        for leftovers in result:
            if self.disputed and leftovers.reason == BY_BOTH:
                continue  # they are said by each of the two
            if self.disputed and leftovers.reason != WAITS:
                # No habit of the function says more: it may have had other rows before it.
                needs = leftovers.needs if leftovers.needs in UNLESS else None
                unsure: dict[str, Any] = {"certainty": Certainty.UNDECIDED, "reason": DISPUTED}
                leftovers = replace(leftovers, **unsure, needs=needs)
            limit = self._task.request.leftover_limit
            yield from map(self._observe, observe_leftovers(self._state, leftovers, limit))

    def _expiring(self) -> Iterator[Observed[Any]]:
        """Yield the times at which the rows expire.

        Rows of a join expire by their event time, if the key may contain it. Whether the join
        follows that time is decided by all partitions together.
        """
        key_time = self._store.event_time if self._store.by_key_time else None
        expiry = self._store.expiry or key_time
        if expiry is None:
            return
        batch = self._task.clock(self._task.version)
        kinds = self._store.timeout_kinds if expiry.clock is Clock.TIMEOUT else ()
        for kind in kinds or (None,):
            yield self._observe(Expiring.observe(self._state, expiry, batch, kind))

    def evidence(self) -> Iterator[Observed[Any]]:
        """Yield the facts about timers of a partition that the judged version does not have."""
        if self._has_timers:
            yield from self._timers(self.calls())

    def inherit(self, origins: Sequence[Lifetime], history: Inherited) -> None:
        """Take over the history that keys had in other partitions up to the repartitioning.

        ``origins`` are the lifetimes of those partitions, ``history`` what they know of the keys.
        """
        self._from_snapshot = any(origin._from_snapshot for origin in origins)
        history.apply(self.runs, self._batches)
        for origin in origins:
            for version, calls in origin.calls().items():
                own_calls = self._calls.get(version, timers.Calls())
                self._calls[version] = timers.Calls(against=own_calls.against | calls.against)

    def calls(self) -> dict[int, timers.Calls]:
        """Return by version the calls that made its records, and the evidence against clocks.

        A timer that stayed although a clock had passed it is evidence against that clock.
        """
        if self._has_timers and not self.disputed:
            self.runs.mark_standing_at_end(self._state)
        result = {}
        for step, version in enumerate(self._state.versions):
            calls = self._calls.get(version, timers.Calls())
            stood = {
                kind
                for kind, run in self.runs.by_kind.items()
                if step < len(run.standing) and run.standing[step]
            }
            if version in self._store.processing_versions:
                stood.add(timers.EVENT)
            result[version] = replace(calls, against=calls.against | stood)
        return result

    def _ages(self) -> Ages:
        """Return the ages of the live rows, with event times if the store has a time column."""
        followed = self._store.expiry or self._store.event_time or self._store.unmarked
        timed = self._state.tracking.clock is not None and not self._has_timers
        per_ms = followed.per_ms if followed is not None and timed else None
        return Ages.observe(self._state, from_snapshot=self._from_snapshot, per_ms=per_ms)

    def _timers(self, calls: Mapping[int, timers.Calls]) -> Iterator[Observed[Any]]:
        """Yield the evidence against clocks by version, then the facts about runs of timers."""
        for version, version_calls in calls.items():
            if version_calls.against:
                yield self._observe(timers.ClockEvidence(version_calls.against), version)
        yield from map(self._observe, self.runs.observe(self._state))

    def _observe(self, fact: FactT, version: int | None = None) -> Observed[FactT]:
        """Return a fact with the store and the version.

        The version is the task's if None is given.
        """
        observed_version = self._task.version if version is None else version
        return Observed(self._store_id, observed_version, fact)
