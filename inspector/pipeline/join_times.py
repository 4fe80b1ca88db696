"""Joins whose watermark lies on the join key: both sides go by it, as far as the rows can tell.

Each partition tells what its own rows say of every time in the key, and the rows that would be
leftovers if that time carried the watermark; none where a row of its own speaks against it. The
driver has all partitions, and keeps the leftovers of the one time that nothing speaks against: no
row, and no row's removal either (:func:`inspector.measure.join_times.removed_off_time`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.measure.clocks import Clocks
from inspector.measure.join_times import OFF_TIME, KeyTimes
from inspector.model import BatchClock
from inspector.operators.join import key_times
from inspector.pipeline.audit import schemas
from inspector.pipeline.leftover_rows import tell_leftovers
from inspector.pipeline.reading import StoreReader
from inspector.pipeline.tasks import StoreTask, Task
from inspector.state.replay import StateMap

Row = dict[str, Any]
Path = tuple[int, ...]

_SAME, _OTHER = "key_time:", "other_time:"


@dataclass(frozen=True)
class Side:
    """The rows of one side of a join in one partition, at the judged version."""

    store: StoreTask
    state: StateMap
    reader: StoreReader

    @property
    def speaks(self) -> bool:
        """Whether its rows can tell of a time that it is theirs."""
        return self.store.by_key_time and self.store.event_time is not None


def tell_key_times(task: Task, sides: Iterable[Side]) -> Iterator[Row]:
    """Facts of kind ``join`` on the times in the key, and of rows that would be leftovers by one.

    Of a time the slugs ``key_time:PATH`` and ``other_time:PATH`` count the rows for and against it;
    ``timed_by_key`` is the most that any time has for it.
    """
    read = [(side, _read(side)) for side in sides]
    against: dict[Path, list[int]] = {}
    for side, times in read:
        yield _count(task, side, "timed_by_key", max((one.same for one in times), default=0))
        for one in times if side.speaks else ():
            path = one.field.path
            against.setdefault(path, []).append(one.other)
            yield _count(task, side, _slug(path), one.same)
            yield _count(task, side, _slug(path, _OTHER), one.other)
    batches: Mapping[int, BatchClock] = {clock.batch_id: clock for clock in task.clocks}
    for side, times in read:
        clocks = Clocks.of(side.state.versions, batches)
        for one in times if side.store.by_key_time else ():
            path = one.field.path
            # It carries the watermark if it is the event time of either side.
            if 0 in against.get(path, ()):
                for found in one.leftovers(side.state, clocks):
                    yield from tell_leftovers(task, side.reader, side.state, found, _slug(path))


def _read(side: Side) -> list[KeyTimes]:
    key, _ = schemas(side.store)
    if key is None:
        return []
    return [KeyTimes.read(side.state, key, field) for field in key_times(key)]


def _count(task: Task, side: Side, slug: str, rows: int) -> Row:
    return side.reader.row("join", task.version) | {"slug": slug, "bad_keys": rows}


def _slug(path: Path, what: str = _SAME) -> str:
    return what + ".".join(map(str, path))


def settled(joins: Mapping[tuple[tuple[int, str], str], int]) -> dict[int, Path]:
    """Of each join the time in its key that carries the watermark, where all partitions agree.

    It is the event time of all rows of a side that have one, none of which went before or after it
    was due; and the only such field: of two, Spark's choice is not known.

    Args:
        joins: rows by operator and store, and by slug, over all partitions.
    """
    found: dict[int, set[str]] = {}
    for (store, slug), rows in joins.items():
        path = slug.removeprefix(_SAME)
        against = joins.get((store, _OTHER + path), 0) + joins.get((store, OFF_TIME), 0)
        if slug != path and rows and not against:
            found.setdefault(store[0], set()).add(path)
    return {
        operator: tuple(map(int, paths.pop().split(".")))
        for operator, paths in found.items()
        if len(paths) == 1
    }


def holds(row: Mapping[str, Any], times: Mapping[int, Path]) -> bool:
    """Whether what a leftover rests on turned out to be so."""
    path = times.get(row["operator_id"])
    return row["slug"] is None or (path is not None and row["slug"] == _slug(path))
