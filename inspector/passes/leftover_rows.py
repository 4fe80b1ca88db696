"""Leftovers of one store as facts: how many there are, since when, and the ones that are listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.discovery.tasks import Task
from inspector.facts.expired import Leftovers, StateChange
from inspector.passes.store_reader import StoreReader
from inspector.state.replay import NO_CLOCK, StateMap

Row = dict[str, Any]

KEYS_AT_ONCE = 4096


def tell_leftovers(
    task: Task, reader: StoreReader, state: StateMap, leftovers: Leftovers
) -> Iterator[Row]:
    """Facts of kinds ``leftovers``, ``leftover_age`` and ``leftover``.

    Args:
        task: whose they are.
        reader: of their store.
        state: the map of the judged version, with all its steps.
        leftovers: of one class; nothing is told of none.
    """
    if len(leftovers.ids):
        yield from _Teller(task, reader, state, leftovers).tell()


class _Teller:
    def __init__(
        self,
        task: Task,
        reader: StoreReader,
        state: StateMap,
        leftovers: Leftovers,
    ) -> None:
        kind = leftovers.timeout_kind
        self._common: Row = {
            "leftover_class": leftovers.kind.value,
            "certainty": leftovers.certainty.value,
            "timeout_kind": None if kind is None else kind.value,
            "reason": leftovers.reason or None,
            "needs": None if leftovers.needs is None else leftovers.needs.value,
        }
        self._task, self._reader, self._state = task, reader, state
        self._leftovers = leftovers
        self._versions = np.array(state.versions, np.int64)
        ids = leftovers.ids
        self._size = state.key_size[ids].astype(np.int64) + state.value_size[ids]

    def tell(self) -> Iterator[Row]:
        leftovers, state = self._leftovers, self._state
        for on, some in self._by_condition():
            ids, fired = leftovers.ids[some], leftovers.fired[some]
            yield (
                self._row("leftovers")
                | on
                | {
                    "rows": len(ids),
                    "key_bytes": int(state.key_size[ids].sum(dtype=np.int64)),
                    "value_bytes": int(state.value_size[ids].sum(dtype=np.int64)),
                    "fired": int(fired.max()),
                    "expired_version": int(self._versions[leftovers.expired_step[some]].min()),
                    **_by_change(leftovers, some),
                }
            )
            yield from self._by_version(on, some)
        listed = self._listed()
        for start in range(0, len(listed), KEYS_AT_ONCE):
            some = listed[start : start + KEYS_AT_ONCE]
            keys = state.keys(leftovers.ids[some])
            for i, key in zip(some.tolist(), keys, strict=True):
                yield self._row("leftover") | self._on(i) | {"key": key} | self._evidence_of(i)

    def _by_condition(self) -> Iterator[tuple[Row, Int64s]]:
        """The leftovers by what has to hold for them: :meth:`_on`."""
        leftovers = self._leftovers
        if leftovers.kind_step is None or leftovers.either is None:
            yield {}, np.arange(len(leftovers.ids))
            return
        conditions = 2 * leftovers.kind_step + leftovers.either
        for condition in np.unique(conditions).tolist():
            some = np.flatnonzero(conditions == condition)
            yield self._on(int(some[0])), some

    def _on(self, i: int) -> Row:
        leftovers = self._leftovers
        if leftovers.kind_step is None or leftovers.either is None:
            return {}
        version = int(self._versions[leftovers.kind_step[i]])
        return {"kind_version": version, "either": bool(leftovers.either[i])}

    def _by_version(self, on: Row, some: Int64s) -> Iterator[Row]:
        rows = np.bincount(self._leftovers.expired_step[some])
        weights = np.bincount(self._leftovers.expired_step[some], self._size[some])
        for step in np.flatnonzero(rows).tolist():
            yield (
                self._row("leftover_age")
                | on
                | {
                    "expired_version": int(self._versions[step]),
                    "rows": int(rows[step]),
                    "value_bytes": int(weights[step]),
                }
            )

    def _evidence_of(self, i: int) -> Row:
        leftovers, state, versions = self._leftovers, self._state, self._versions
        key_id = int(leftovers.ids[i])
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

    def _listed(self) -> Int64s:
        """Positions of the leftovers to list: the oldest, and the largest, up to the limit each."""
        ids, expired = self._leftovers.ids, self._leftovers.expired_step
        oldest = np.lexsort((ids, -self._size, expired))
        limit = self._task.leftover_limit
        if not limit or limit >= len(ids):
            return oldest
        largest = np.lexsort((ids, expired, -self._size))[:limit]
        return np.concatenate([oldest[:limit], largest[~np.isin(largest, oldest[:limit])]])

    def _row(self, kind: str) -> Row:
        return self._reader.row(kind, self._task.version) | self._common


def _by_change(leftovers: Leftovers, some: Int64s) -> dict[str, int]:
    if leftovers.change is None:
        return {}
    changes = leftovers.change[some]
    return {f"{change.word}_keys": int((changes == change).sum()) for change in StateChange}


def _known(value: np.int64) -> int | None:
    return None if value == NO_CLOCK else int(value)
