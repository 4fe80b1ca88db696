"""Leftovers of short histories by key, and the parts of such histories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from inspector.facts.expired import LeftoverClass, Leftovers
from inspector.model import BatchClock, Certainty
from inspector.state.replay import StateMap
from tests.cases import put
from tests.encode import Record
from tests.queries import clock


class KeyLeftover(NamedTuple):
    """A leftover of one key, with the version in which it expired."""

    key: bytes
    kind: LeftoverClass
    certainty: Certainty
    version: int
    clock_ms: int
    threshold_ms: int
    fired: int


def rows_of(state: StateMap, leftovers: Iterable[Leftovers]) -> list[tuple[bytes, Leftovers, int]]:
    """Return every leftover key with its class of leftovers and its position in that class."""
    return [(key, item, i) for item in leftovers for i, key in enumerate(state.keys(item.ids))]


def leftovers_by_key(state: StateMap, leftovers: Iterable[Leftovers]) -> set[KeyLeftover]:
    """Return the leftovers of a replayed history, one for each key."""
    return {
        KeyLeftover(
            key,
            item.kind,
            item.certainty,
            state.versions[item.expired_step[i]],
            int(item.clock_ms[i]),
            int(item.threshold_ms[i]),
            int(item.fired[i]),
        )
        for key, item, i in rows_of(state, leftovers)
    }


def at_watermarks(*watermarks: int | None, data: bool = True) -> list[BatchClock]:
    """Return the clocks of consecutive batches with these watermarks, from version 1."""
    return [clock(version, mark, data=data) for version, mark in enumerate(watermarks, 1)]


def puts(timer: int, *keys: bytes, visits: int = 1) -> list[Record]:
    """Return puts of several keys with the same timer."""
    return [put(key, timer, visits) for key in keys]


def changes_between(old: Mapping[bytes, bytes], new: Mapping[bytes, bytes]) -> list[Record]:
    """Return the records that turn the rows of one version into those of the next version."""
    return [(key, new.get(key)) for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
