"""Growth of the state of one store and of all stores together, by estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from inspector.analyses.shared.judged import Judged, store_schemas
from inspector.analyses.shared.store_heaps import HeapByVersion
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import partition_count
from inspector.estimates.growth import MS_PER_HOUR, Growth, Trend, growth, trend
from inspector.facts.versions import VersionFacts
from inspector.findings.thresholds import UNIQUE_SHARE
from inspector.findings.verdict import StateGrowth, StateSize
from inspector.findings.views.store_keys import sampled_keys, unique_columns
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import StoreName
from inspector.operators.join import COUNT_STORES
from inspector.operators.transform_with_state import OWN_STORES
from inspector.sums import group_by, sum_or_none


@dataclass(frozen=True)
class Point:
    """Size of some stores at one version, with the clock of its batch."""

    version: int  # state version
    time_ms: int  # processing time of its batch, epoch ms
    rows: int  # live rows; exact
    bytes: int  # row bytes of the live rows; exact
    heap_bytes: int  # estimated heap bytes
    new_rows: int | None  # rows new since the version before; None if that version is unknown
    removed_rows: int | None  # rows removed since the version before; None if that is unknown

    def plus(self, second: Point) -> Point:
        """Return the sum of this point and ``second``, both of the same version.

        New or removed rows of the sum are None if one point has None.
        """
        sizes = self.rows + second.rows, self.bytes + second.bytes
        new = sum_or_none((self.new_rows, second.new_rows))
        removed = sum_or_none((self.removed_rows, second.removed_rows))
        heap = self.heap_bytes + second.heap_bytes
        return Point(self.version, self.time_ms, *sizes, heap, new, removed)


@dataclass(frozen=True)
class StoreGrowth:
    """Lines fitted through the sizes of stores over versions.

    The slopes are not above 0 if the state was judged and does not grow.
    """

    points: Sequence[Point] = field(repr=False)  # sizes at the versions, oldest first
    bytes: Trend  # trend of the row bytes: where the lines begin, and whether the state grows
    rows: Growth  # line of the number of rows, over the same versions as that of the bytes
    # line of the heap bytes: the slope of the row bytes times the heap bytes of a row byte in the
    # newest version. Heap bytes themselves jump when a table doubles, which is no growth.
    heap: Growth


def store_points(
    checkpoint: Checkpoint, versions: Mapping[int, VersionFacts], heap: Mapping[int, int]
) -> list[Point]:
    """Return the size of one store at each version that counts for its growth, oldest first.

    ``versions`` are the store's facts by version, summed over partitions; ``heap`` its heap bytes
    by version. Versions without a clock, and those that not every partition can restore, are left
    out. Versions that a tool made are left out, too; if one has another number of rows, the points
    begin behind it.
    """
    counts = whole_stores(checkpoint, versions)
    points: list[Point] = []
    for version, version_facts in sorted(versions.items()):
        clock = checkpoint.clock(version)
        if version_facts.stores < counts[version] or clock is None or clock.timestamp_ms is None:
            continue
        if clock.has_foreign_rows:
            if points and points[-1].rows != version_facts.rows:
                points.clear()
            continue
        values = version_facts.rows, version_facts.row_bytes, heap.get(version, 0)
        new = None if version_facts.rebased else version_facts.new_rows
        removed = None if version_facts.rebased else version_facts.removed_rows
        points.append(Point(version, clock.timestamp_ms, *values, new, removed))
    return points


def whole_stores(checkpoint: Checkpoint, versions: Mapping[int, VersionFacts]) -> dict[int, int]:
    """Return for each version the number of partitions that a complete version has.

    ``versions`` are the facts of one store by version, summed over partitions. The number is the
    largest among the versions with the same partition count.
    """
    counts = {version: partition_count(checkpoint, version) for version in versions}
    largest: dict[int, int] = {}
    for version, version_facts in versions.items():
        largest[counts[version]] = max(largest.get(counts[version], 0), version_facts.stores)
    return {version: largest[count] for version, count in counts.items()}


def growth_of(points: Sequence[Point]) -> StoreGrowth | None:
    """Return the lines fitted through points, oldest first; None if the points span no time."""
    times = [point.time_ms for point in points]
    byte_growth = trend(times, [point.bytes for point in points])
    if byte_growth is None:
        return None
    recent = points[byte_growth.start :]
    row_growth = growth([point.time_ms for point in recent], [point.rows for point in recent])
    assert row_growth is not None  # the same times as those of the bytes
    newest = points[-1]
    row_growth = replace(row_growth, per_hour=byte_growth.rate(row_growth.per_hour))
    line = replace(byte_growth.line, per_hour=byte_growth.rate(byte_growth.line.per_hour))
    byte_growth = replace(byte_growth, line=line)
    per_hour = line.per_hour * _per_byte(newest.heap_bytes, newest.bytes)
    heap_line = replace(line, per_hour=per_hour, newest=newest.heap_bytes)
    return StoreGrowth(points, byte_growth, row_growth, heap_line)


def growth_together(judged: Judged, heaps: HeapByVersion) -> StoreGrowth | None:
    """Return the lines fitted through the sums of all stores; None if the versions span no time.

    ``heaps`` are estimated heap bytes by store and version; without them the heap is 0. New and
    removed rows of stores that only count other rows, or hold timers, are not counted.
    """
    store_series = []
    for store, versions in judged.facts.by_store().items():
        points = store_points(judged.checkpoint, versions, heaps.get(store, {}))
        if store.store_name in COUNT_STORES or store.store_name.startswith(OWN_STORES):
            # Rows beside those of a key, as its timers: they come and go while it stays.
            points = [replace(point, new_rows=0, removed_rows=0) for point in points]
        store_series.append(points)
    return growth_of(_together(store_series))


def growing_stores(judged: Judged) -> dict[StoreName, bool]:
    """Return for each store True if its row bytes grow, else False.

    Stores with too few versions, or versions over too short a time, are left out.
    """
    growing = {}
    for store, versions in judged.facts.by_store().items():
        points = store_points(judged.checkpoint, versions, {})
        line = trend([point.time_ms for point in points], [point.bytes for point in points])
        if line is not None and line.judged:
            growing[store] = line.growing
    return growing


def state_growth(judged: Judged, size: StateSize) -> StateGrowth | None:
    """Return the growth of all stores together; None if the readable versions span no time.

    Rates are per hour. ``size`` is the size of the judged version: the heap grows as the row bytes
    do, in the proportion that they have in ``size``.
    """
    result = growth_together(judged, {})
    if result is None:
        return None
    byte_growth = result.bytes
    recent = result.points[byte_growth.start :]
    first, per_hour = recent[0], byte_growth.line.per_hour
    hours = (recent[-1].time_ms - first.time_ms) / MS_PER_HOUR
    heap = None if size.heap_bytes is None else per_hour * _per_byte(size.heap_bytes, size.bytes)
    return StateGrowth(
        rows_per_hour=result.rows.per_hour,
        bytes_per_hour=per_hour,
        heap_bytes_per_hour=heap,
        since_batch=first.version - 1,
        since_ms=first.time_ms,
        growing=byte_growth.growing,
        since_oldest=byte_growth.start == 0 and first.version > 1,
        versions=len(recent),
        judged=byte_growth.judged,
        new_rows_per_hour=_per_hour((p.new_rows for p in recent[1:]), hours),
        removed_rows_per_hour=_per_hour((p.removed_rows for p in recent[1:]), hours),
        new_columns=_new_columns(judged) if byte_growth.growing else (),
    )


def _new_columns(judged: Judged) -> tuple[str, ...]:
    """Return the names of key columns with nearly all distinct values, of one store that grows.

    It is the first growing store with a schema. Its sampled keys are compared. Empty if there is no
    such store or column.
    """
    schemas = store_schemas(judged.checkpoint)
    for name, grows in sorted(growing_stores(judged).items()):
        if grows and name in schemas:
            keys, share = (
                [*sampled_keys(judged.facts, name)],
                UNIQUE_SHARE.number(judged.thresholds),
            )
            return tuple(unique_columns(keys, schemas[name].key.fields, share))
    return ()


def _together(store_series: Sequence[Sequence[Point]]) -> list[Point]:
    """Return the sums of the points of all stores, oldest first, at versions that all stores have.

    ``store_series`` has the points of each store.
    """
    points_by_version = group_by(
        (p for points in store_series for p in points), lambda p: p.version
    )
    complete = (
        points
        for _, points in sorted(points_by_version.items())
        if len(points) == len(store_series)
    )
    return [reduce(Point.plus, points) for points in complete]


def _per_byte(heap_bytes: int, row_bytes: int) -> float:
    """Return heap bytes per row byte; 0.0 without rows."""
    return heap_bytes / row_bytes if row_bytes else 0.0


def _per_hour(counts: Iterable[int | None], hours: float) -> float | None:
    """Return the sum of ``counts`` divided by ``hours``; None if a count is None."""
    total = sum_or_none(counts)
    return None if total is None else total / hours
