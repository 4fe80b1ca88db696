"""Facts about the leftovers of one store: their number, their ages, and the listed keys."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from inspector.arrays import Int64s, chunks, distinct
from inspector.facts.expired import LeftoverClass, Leftovers, Needs, StateChange
from inspector.facts.fact import Fact, fact
from inspector.light_dataclasses import dataclass, fields, replace
from inspector.model import Certainty, TimeoutKind
from inspector.state.replay import NO_CLOCK, StateMap

KEYS_AT_ONCE = 4096  # listed keys that are read from the map at once

LeftoverT = TypeVar("LeftoverT", bound="JudgedLeftover")
TimedT = TypeVar("TimedT", bound="TimedLeftover")


@dataclass(frozen=True)
class JudgedLeftover(Fact):
    """Base of facts about leftovers: their class, certainty and reason."""

    leftover_class: LeftoverClass  # why the keys are still in the state
    certainty: Certainty  # certainty of that judgement
    # version whose batch proves that the keys had expired; the oldest of several
    expired_version: int
    # clock by which their timers were judged; None for rules without timers, and for a timer that
    # both clocks have passed
    timeout_kind: TimeoutKind | None = None
    reason: str | None = None  # what the judgement rests on; None for a plain proof
    # evidence that an undecided leftover needs (:mod:`inspector.merge.resolution`)
    needs: Needs | None = None
    # version whose batch must have followed that clock; None without timers
    clock_version: int | None = None
    by_either_clock: bool = False  # True if the keys are leftovers by the other clock too

    @property
    def before_window(self) -> bool:
        """True if the keys expired before the window of proof."""
        return self.needs is Needs.BEFORE_WINDOW

    @property
    def is_ignored(self) -> bool:
        """True if the timer is still set."""
        return self.leftover_class is LeftoverClass.IGNORED_TIMEOUT

    @property
    def run_start(self) -> int:
        """Version of the first of the consecutive timeouts that end the known history."""
        return self.expired_version

    @property
    def run_length(self) -> int | None:
        """Number of these consecutive timeouts; None if the fact has no such number."""
        return None

    def with_run(self: LeftoverT, start: int, _length: int) -> LeftoverT:
        """Return the fact with a run of timeouts that begins at version ``start``.

        It is a copy whose expired version is ``start`` if the timer is still set, otherwise the
        fact itself. Facts with a run store its length, too.
        """
        return replace(self, expired_version=start) if self.is_ignored else self

    def with_last_timeout(self: LeftoverT) -> LeftoverT:
        """Return the fact for the case that only the last timeout of its run is known.

        This is the fact itself, which has no run. Facts with a run return a copy with one timeout.
        """
        return self

    def with_mixed_clocks(self: LeftoverT) -> LeftoverT:
        """Return the fact for a window in which some batches followed the other clock.

        This is the fact itself. Counts of leftovers drop their first expired version.
        """
        return self


@dataclass(frozen=True, kw_only=True)
class TimedLeftover(JudgedLeftover):
    """Base of facts about leftover keys that have sizes and a run of consecutive timeouts."""

    key_bytes: int  # bytes of the keys
    value_bytes: int  # bytes of the values
    # version of the first timeout of the run, the oldest of several keys; None before the window,
    # and if not known
    first_expired_version: int | None = None
    # least number of timeouts in the run, the most of several keys; None or 0 if not known
    fired: int | None = None
    group: int = 0  # distinguishes facts of a partition whose judgement is equal

    @property
    def row_bytes(self) -> int:
        """Key and value bytes."""
        return self.key_bytes + self.value_bytes

    @property
    def run_length(self) -> int | None:
        """Least number of timeouts in the longest run; None or 0 if it is not known."""
        return self.fired

    def with_run(self: TimedT, start: int, length: int) -> TimedT:
        """Return a copy with a run of ``length`` timeouts that begins at version ``start``."""
        return replace(super().with_run(start, length), fired=self.fired and length)

    def with_last_timeout(self: TimedT) -> TimedT:
        """Return a copy with a run of one timeout."""
        first = self.first_expired_version and self.expired_version
        return replace(self, first_expired_version=first, fired=self.fired and 1)


@fact("leftover")
@dataclass(frozen=True, kw_only=True)
class Leftover(TimedLeftover):
    """One leftover key that is listed."""

    key: bytes  # its UnsafeRow
    puts: int  # puts of the key in the window
    # version of the last put; None if that was before the window
    last_put_version: int | None = None
    # the key's time that had passed, in ms; None if it is not known any more
    clock_ms: int | None = None
    threshold_ms: int | None = None  # the clock that had passed it, in ms; None if not known
    # effect that the call for the timeout had on the state; None for rules without a timer
    state_change: StateChange | None = None
    # number that orders the keys of a partition if a task has a range of them; else 0
    appeared: int = 0

    @property
    def run_start(self) -> int:
        """Version of the run's first timeout; the expired version if that is not known."""
        return self.first_expired_version or self.expired_version

    def with_run(self, start: int, length: int) -> Leftover:
        """Return a copy with a shorter run that begins at version ``start``.

        The clock of an ignored timer becomes unknown, because it belongs to the former first batch.
        """
        return replace(
            super().with_run(start, length),
            threshold_ms=None if self.is_ignored else self.threshold_ms,
            first_expired_version=self.first_expired_version and start,
        )


@fact("leftover_count")
@dataclass(frozen=True, kw_only=True)
class LeftoverCount(TimedLeftover):
    """Number of leftovers of one judgement in a partition, including those not listed."""

    # Not added over partitions: the clock that all of these show may cut the runs of each.

    rows: int  # number of leftovers
    fired: int  # least number of timeouts in the longest run; 0 if not known
    # keys whose state the call for the timeout left unchanged; None for rules without a timer
    untouched: int | None = None
    changed: int | None = None  # keys whose state it changed; None for rules without a timer
    empty: int | None = None  # keys whose state is null after it; None for rules without a timer

    def with_mixed_clocks(self) -> LeftoverCount:
        """Return a copy without the first expired version.

        The other clock may cut off the beginning of any key's run.
        """
        return replace(self, first_expired_version=None)


@fact("leftover_age")
@dataclass(frozen=True, kw_only=True)
class LeftoverAge(JudgedLeftover):
    """Number of leftovers of one judgement that expired at one version. Adds up over partitions."""

    rows: int = 0  # number of leftovers
    row_bytes: int = 0  # their key and value bytes

    def __add__(self, leftover: LeftoverAge) -> LeftoverAge:
        return replace(
            self, rows=self.rows + leftover.rows, row_bytes=self.row_bytes + leftover.row_bytes
        )

    def merge_key(self, version: int) -> Hashable:
        """Return version and judgement: equal ones add up."""
        return (version, *(getattr(self, name) for name in _JUDGEMENT))


# names of the fields that make a judgement
_JUDGEMENT = tuple(f.name for f in fields(JudgedLeftover))


def observe_leftovers(
    state: StateMap, leftovers: Leftovers, limit: int = 0
) -> Iterator[JudgedLeftover]:
    """Yield counts and ages of the leftovers of one class, then the listed keys.

    The ``limit`` oldest and the ``limit`` largest keys are listed; all if ``limit`` is 0.
    """
    if len(leftovers.ids):
        yield from _Observer(state, leftovers).facts(limit)


class _Observer:
    """Facts about the leftovers of one class of a map."""

    def __init__(self, state: StateMap, leftovers: Leftovers) -> None:
        self._state, self._leftovers = state, leftovers
        self._versions = np.array(state.versions, np.int64)
        ids = leftovers.ids
        self._appeared = state.appearance(ids)
        self._size = state.row_size(ids)

    def facts(self, limit: int) -> Iterator[JudgedLeftover]:
        """Yield counts and ages, then at most ``limit`` oldest and largest keys; all if it is 0.

        Leftovers that depend on the clock of different batches are counted apart.
        """
        leftovers, conditions = self._leftovers, np.zeros(len(self._size), np.int64)
        if leftovers.kind_step is not None and leftovers.either is not None:
            conditions = 2 * leftovers.kind_step + leftovers.either
        for condition in distinct(conditions).tolist():
            portion = np.flatnonzero(conditions == condition)
            yield self._count(portion)
            yield from self._ages(portion)
        for portion in chunks(self._positions(limit), KEYS_AT_ONCE):
            keys = self._state.keys(leftovers.ids[portion])
            for i, key in zip(portion.tolist(), keys, strict=True):
                yield self._leftover(i, key)

    def _judgement(self, i: int) -> dict[str, Any]:
        """Return the fields that facts about leftover ``i`` share, except its expired version."""
        leftovers = self._leftovers
        judgement: dict[str, Any] = {
            "leftover_class": leftovers.kind,
            "certainty": leftovers.certainty,
            "timeout_kind": leftovers.timeout_kind,
            "reason": leftovers.reason or None,
            "needs": leftovers.needs,
        }
        if leftovers.kind_step is not None and leftovers.either is not None:
            judgement["clock_version"] = int(self._versions[leftovers.kind_step[i]])
            judgement["by_either_clock"] = bool(leftovers.either[i])
        return judgement

    def _count(self, portion: Int64s) -> LeftoverCount:
        """Return the count of the leftovers at these positions."""
        leftovers, state = self._leftovers, self._state
        ids, changes = leftovers.ids[portion], leftovers.change
        change_counts: Any = {}
        if changes is not None:
            change_counts = {c.word: int((changes[portion] == c).sum()) for c in StateChange}
        return LeftoverCount(
            **self._judgement(int(portion[0])),
            expired_version=int(self._versions[leftovers.expired_step[portion]].min()),
            rows=len(ids),
            key_bytes=int(state.key_size[ids].sum(dtype=np.int64)),
            value_bytes=int(state.value_size[ids].sum(dtype=np.int64)),
            fired=int(leftovers.fired[portion].max()),
            first_expired_version=self._first(portion),
            **change_counts,
            group=leftovers.group,
        )

    def _first(self, positions: Int64s) -> int | None:
        """Return the oldest version of a first timeout of these leftovers; None if not known."""
        leftovers = self._leftovers
        if leftovers.needs is Needs.BEFORE_WINDOW:
            return None
        steps = leftovers.expired_step if leftovers.first_step is None else leftovers.first_step
        return int(self._versions[steps[positions]].min())

    def _ages(self, ids: Int64s) -> Iterator[LeftoverAge]:
        """Yield the number of leftovers at these positions, by their version of expiry."""
        rows = np.bincount(self._leftovers.expired_step[ids])
        weights = np.bincount(self._leftovers.expired_step[ids], self._size[ids])
        judgement = self._judgement(int(ids[0]))
        for step in np.flatnonzero(rows).tolist():
            yield LeftoverAge(
                **judgement,
                expired_version=int(self._versions[step]),
                rows=int(rows[step]),
                row_bytes=int(weights[step]),
            )

    def _leftover(self, i: int, key: bytes) -> Leftover:
        """Return leftover ``i``, whose key has the bytes ``key``, as a listed key."""
        leftovers, state, versions = self._leftovers, self._state, self._versions
        key_id = int(leftovers.ids[i])
        put = int(state.put_step[key_id])
        change = None if leftovers.change is None else StateChange(int(leftovers.change[i]))
        return Leftover(
            **self._judgement(i),
            expired_version=int(versions[leftovers.expired_step[i]]),
            key=key,
            key_bytes=int(state.key_size[key_id]),
            value_bytes=int(state.value_size[key_id]),
            puts=int(state.puts[key_id]),
            last_put_version=None if put < 0 else int(versions[put]),
            first_expired_version=self._first(np.array([i])),
            fired=int(leftovers.fired[i]) or None,
            clock_ms=_clock_or_none(leftovers.clock_ms[i]),
            threshold_ms=_clock_or_none(leftovers.threshold_ms[i]),
            state_change=change,
            group=leftovers.group,
            appeared=int(self._appeared[i]) if state.tracking.keys is not None else 0,
        )

    def _positions(self, limit: int) -> Int64s:
        """Return the positions of the ``limit`` oldest and the ``limit`` largest leftovers."""
        # A range of keys keeps up to ``limit`` for each batch whose clock matters, because other
        # ranges may show that the timers of a batch followed another clock.
        steps = self._leftovers.kind_step
        if not limit or steps is None or self._state.tracking.keys is None:
            return self._first_of(np.arange(len(self._size)), limit)
        positions_by_step = [np.flatnonzero(steps == step) for step in distinct(steps).tolist()]
        return np.concatenate([self._first_of(portion, limit) for portion in positions_by_step])

    def _first_of(self, ids: Int64s, limit: int) -> Int64s:
        """Return which of the positions ``ids`` are to be listed: the oldest and largest."""
        expired = self._leftovers.expired_step[ids]
        return ids[_oldest_and_largest(expired, self._size[ids], self._appeared[ids], limit)]


def _oldest_and_largest(expired: Int64s, size: Int64s, appeared: Int64s, limit: int) -> Int64s:
    """Return positions of the ``limit`` oldest leftovers, then of the largest others.

    The arguments are arrays of one entry for each leftover. All positions are returned, oldest
    first, if ``limit`` is 0 or large enough.
    """
    oldest = np.lexsort((appeared, -size, expired))
    if not limit or limit >= len(oldest):
        return oldest
    largest = np.lexsort((appeared, expired, -size))[:limit]
    return np.concatenate([oldest[:limit], largest[~np.isin(largest, oldest[:limit])]])


def list_of_ranges(leftovers: Sequence[Leftover], limit: int) -> list[Leftover]:
    """Return the leftovers that a partition lists, of those that its key ranges list.

    These are the ``limit`` oldest leftovers, then those of the ``limit`` largest that are not among
    them. All are returned, oldest first, if ``limit`` is 0. The copies have ``appeared`` 0.
    """
    columns = [(item.expired_version, item.row_bytes, item.appeared) for item in leftovers]
    expired, size, appeared = np.array(columns, np.int64).reshape(-1, 3).T
    positions = _oldest_and_largest(expired, size, appeared, limit).tolist()
    return [replace(leftovers[position], appeared=0) for position in positions]


def _clock_or_none(value: np.int64) -> int | None:
    """Return a clock as a number; None for NO_CLOCK."""
    return None if value == NO_CLOCK else int(value)
