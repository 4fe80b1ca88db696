"""Joins whose watermark lies on the join key: both sides go by it, as far as the rows can tell.

Each partition counts what its own rows say for and against every time in the key; the driver has
all partitions. That the key carries the watermark is an explanation of why nothing is left, never
the proof of a leftover (:mod:`inspector.facts.join_times`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.join_times import OFF_TIME, ON_TIME, KeyTimes
from inspector.operators.join import key_times
from inspector.passes.observe import schemas
from inspector.passes.store_reader import StoreReader
from inspector.state.replay import StateMap

Row = dict[str, Any]
Path = tuple[int, ...]

_SAME, _OTHER, _COVERED = "key_time:", "other_time:", "covered_key_time:"


@dataclass(frozen=True)
class Side:
    """The rows of one side of a join in one partition, at the judged version."""

    store: StoreTask
    state: StateMap
    reader: StoreReader


def tell_key_times(task: Task, sides: Iterable[Side]) -> Iterator[Row]:
    """Facts of kind ``join`` on the times in the key.

    Of a time the slug ``key_time:PATH`` counts the rows for it, ``other_time:PATH`` those of whose
    side it is not the event time, and ``covered_key_time:PATH`` those that should be gone by it;
    ``timed_by_key`` is the most that any time has for it.
    """
    batch = next((clock for clock in task.clocks if clock.batch_id == task.version - 1), None)
    watermark_ms = (batch.watermark_ms if batch else None) or 0
    for side in sides:
        key, _ = schemas(side.store)
        fields = [] if key is None else key_times(key)
        times = [KeyTimes.read(side.state, key, field, watermark_ms) for field in fields if key]
        yield _count(task, side, "timed_by_key", max((one.same for one in times), default=0))
        for one in times if side.store.by_key_time else ():
            path = ".".join(map(str, one.field.path))
            yield _count(task, side, _SAME + path, one.same)
            yield _count(task, side, _OTHER + path, one.other)
            yield _count(task, side, _COVERED + path, one.covered)


def _count(task: Task, side: Side, slug: str, rows: int) -> Row:
    return side.reader.row("join", task.version) | {"slug": slug, "bad_keys": rows}


def settled(joins: Mapping[tuple[tuple[int, str], str], int]) -> dict[int, Path]:
    """Of each join the time in its key that carries the watermark, where all partitions agree.

    It is the event time of all rows of a side that have one; some of those went when it was due,
    none before or after, and no row of either side is there that should be gone. And it is the only
    such field: of two, Spark's choice is not known.

    Args:
        joins: rows by operator and store, and by slug, over all partitions.
    """
    found: dict[int, set[str]] = {}
    covered = {
        (operator, slug.removeprefix(_COVERED))
        for ((operator, _), slug), rows in joins.items()
        if slug.startswith(_COVERED) and rows
    }
    for (store, slug), rows in joins.items():
        path = slug.removeprefix(_SAME)
        if slug == path or not rows or not joins.get((store, ON_TIME)):
            continue
        against = joins.get((store, _OTHER + path), 0) + joins.get((store, OFF_TIME), 0)
        if not against and (store[0], path) not in covered:
            found.setdefault(store[0], set()).add(path)
    return {
        operator: tuple(map(int, paths.pop().split(".")))
        for operator, paths in found.items()
        if len(paths) == 1
    }


def covered_though_timed(side: Mapping[str, int]) -> int:
    """Rows that a time in the key should have removed, which is the event time of all rows.

    Args:
        side: rows of one side by slug, over all partitions.
    """
    paths = [slug.removeprefix(_SAME) for slug in side if slug.startswith(_SAME)]
    return max(
        (
            side.get(_COVERED + path, 0)
            for path in paths
            if side[_SAME + path] and not side.get(_OTHER + path)
        ),
        default=0,
    )
