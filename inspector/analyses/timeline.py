"""``timeline``: what each batch did, and where it leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from inspector.analyses.shared.common import (
    BATCH_ID,
    STORE,
    VERSION,
    count,
    identity,
    operator_names,
    size,
)
from inspector.analyses.shared.declare import FactRequest, TableSpec, View, analysis
from inspector.analyses.shared.forward import EXPIRING, expiring_table, unknown_timers
from inspector.analyses.shared.forward import FOOTNOTE as FORWARD_FOOTNOTE
from inspector.analyses.shared.growth import StoreGrowth, growth_of, growth_together, store_points
from inspector.analyses.shared.heap import HeapByVersion, heap_by_version
from inspector.analyses.shared.options import AT_VERSION, PART, RULES, SCHEMAS, WORK, Options
from inspector.analyses.shared.part import part_of
from inspector.analyses.shared.run import Run
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.growth import TOO_SHORT, Growth, sparkline
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import Problem, StoreName
from inspector.render.report import Column, Report, Table, Unit
from inspector.render.units import bytes_rate_text, bytes_text, duration_text
from inspector.time_text import time_ms_text

_CHANGES = ("puts", "inserts", "updates", "same_value_puts", "removals")
FOOTNOTE = (
    "Rows and bytes are those of the partitions that can restore the version. The lag is the "
    "batch's processing time less the watermark. The heap is the estimate of the command memory "
    "for two retained versions. Replay deltas are the deltas that a restart at that version reads "
    "after its newest snapshot, in the partition that reads most. Counts and bytes are exact; "
    "growth is an estimate, the median slope between all pairs of versions."
)


_MEASURES = (
    Column("batch_timestamp_ms", Unit.TIME_MS, title="batch time"),
    Column("watermark_ms", Unit.TIME_MS),
    Column("lag_ms", Unit.DURATION_MS, title="watermark lag"),
    Column("new_data", Unit.FLAG),
    count("partitions"),
    count("of_partitions"),
    count("rows"),
    size("row_bytes"),
    Column("heap_bytes", Unit.BYTES, exact=False, title="heap"),
    *map(count, _CHANGES),
    size("delta_bytes"),
    size("snapshot_bytes"),
    count("replay_deltas"),
)
_SUMMED = (
    *("partitions", "of_partitions", "rows", "row_bytes", "heap_bytes"),
    *(*_CHANGES, "delta_bytes", "snapshot_bytes"),
)
"""Columns that add over stores."""

_WIDE = ("version", "inserts", "updates", "snapshot_bytes", "partitions", "of_partitions")
_IMPORTANT = (
    "rows row_bytes lag_ms puts removals watermark_ms batch_timestamp_ms heap_bytes "
    "same_value_puts new_data delta_bytes replay_deltas"
)

BATCHES = TableSpec(
    "batches",
    "one store after one batch",
    (*STORE, BATCH_ID, VERSION, *_MEASURES),
    empty="no version can be restored",
    wide=frozenset((*_WIDE, "operator_name")),
    important=f"batch_id store_name operator_id {_IMPORTANT}",
)
TOTALS = TableSpec(
    "totals",
    "all stores together after one batch",
    (BATCH_ID, VERSION, count("stores", "Stores that can restore the version."), *_MEASURES),
    empty="no version can be restored",
    wide=frozenset(_WIDE),
    important=f"batch_id {_IMPORTANT} stores",
)
GROWTH = TableSpec(
    "growth",
    "how one store grows, and where it leads",
    (
        *STORE,
        Column("row_bytes", doc="Row bytes of the versions as a line of bars.", title="over time"),
        Column("rows_per_hour", Unit.PER_HOUR, exact=False, title="rows"),
        Column("bytes_per_hour", Unit.BYTES_PER_HOUR, exact=False, title="row bytes"),
        Column("heap_bytes_per_hour", Unit.BYTES_PER_HOUR, exact=False, title="heap"),
        Column("rows_at_capacity", Unit.FLAG),
        Column("rows_reach_capacity_ms", Unit.TIME_MS, exact=False),
        Column("heap_at_capacity", Unit.FLAG, exact=False),
        Column("heap_reaches_capacity_ms", Unit.TIME_MS, exact=False),
    ),
    important=(
        "store_name row_bytes rows_per_hour bytes_per_hour operator_id "
        "heap_bytes_per_hour rows_reach_capacity_ms heap_reaches_capacity_ms "
        "rows_at_capacity heap_at_capacity"
    ),
)
_ASKED = (
    *("rows_at_capacity", "rows_reach_capacity_ms"),
    *("heap_at_capacity", "heap_reaches_capacity_ms"),
)
"""Columns of growth that answer ``--capacity``."""

_WHEN = {"rows": "rows_reach_capacity_ms", "heap": "heap_reaches_capacity_ms"}

FACTS = FactRequest(partitions=True, expiring=True)


@analysis(
    uses=(RULES, WORK, SCHEMAS, PART, AT_VERSION),
    tables=(BATCHES, TOTALS, GROWTH, EXPIRING),
    facts=FACTS,
    many=True,
)
def timeline(
    path: str | Run,
    options: Options | None = None,
    *,
    capacity: Annotated[
        int | None,
        View("Say when row bytes and heap will reach so many bytes (8GiB).", size=True),
    ] = None,
    last: Annotated[
        int | None, View("Only so many of the newest batches; growth is by all.", minimum=1)
    ] = None,
) -> Report:
    """Per batch: clock, watermark, lag, rows, bytes, changes; growth; what will expire and when."""
    run = Run.start(path, options)
    facts = run.facts(FACTS)
    return timeline_report(
        run.checkpoint, run.version, facts, run.problems(facts), TimelineRequest(capacity, last)
    )


@dataclass(frozen=True)
class TimelineRequest:
    """What is asked of a timeline.

    Attributes:
        capacity: bytes: when does the state reach so many? None for no such question.
        last: batches that are shown, the newest ones; None for all.
    """

    capacity: int | None = None
    last: int | None = None


def timeline_report(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    request: TimelineRequest,
) -> Report:
    """One row per store and batch, oldest first; all stores together; then growth per store."""
    merged = facts.by_store()
    heaps = heap_by_version(checkpoint, version, facts)
    shown = _newest(merged, request.last)
    rows = [
        row
        for store, versions in merged.items()
        for row in _rows(checkpoint, store, versions, heaps)
        if row["version"] in shown
    ]
    batches = BATCHES.table("batches, by store", rows)
    totals = TOTALS.table("batches, all stores together", _totals(rows), shown=len(merged) > 1)
    summary = identity(checkpoint, version) | _watermark_moves(checkpoint)
    together = growth_together(checkpoint, facts, heaps)
    summary |= _all_reach(together, request.capacity, with_heap=bool(heaps))
    return Report(
        "timeline",
        checkpoint.root,
        summary,
        (
            batches,
            totals,
            _growth(checkpoint, merged, heaps, request.capacity),
            expiring_table(checkpoint, version, facts),
        ),
        problems=problems,
        notes=(
            *_capacity_notes(together, request.capacity, with_heap=bool(heaps)),
            *_trend_notes(together),
            *unknown_timers(version, facts),
        ),
        footnotes=(FOOTNOTE, FORWARD_FOOTNOTE),
        part=part_of(checkpoint, version),
    )


def _newest(merged: Mapping[StoreName, Mapping[int, VersionFacts]], last: int | None) -> set[int]:
    """The newest versions that any store has."""
    versions = sorted({version for of_store in merged.values() for version in of_store})
    return set(versions if last is None else versions[-last:])


def _totals(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each version as one, oldest first; what a store does not know, no sum knows."""
    of_version: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        of_version.setdefault(row["version"], []).append(row)
    return [
        of_stores[0]
        | {name: _sum(row[name] for row in of_stores) for name in _SUMMED}
        | {
            "stores": len(of_stores),
            "replay_deltas": max(
                (row["replay_deltas"] for row in of_stores if row["replay_deltas"] is not None),
                default=None,
            ),
        }
        for _, of_stores in sorted(of_version.items())
    ]


def _sum(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _rows(
    checkpoint: Checkpoint,
    store: StoreName,
    versions: dict[int, VersionFacts],
    heaps: HeapByVersion,
) -> Iterator[dict[str, Any]]:
    name = operator_names(checkpoint).get(store[0])
    stores = max(one.stores for one in versions.values())
    for version, one in versions.items():
        clock = checkpoint.clock(version)
        watermark = clock.watermark_ms if clock and clock.watermark_ms else None
        now = clock.timestamp_ms if clock else None
        known = not one.rebased  # a sum over some of the partitions would look like all of it
        yield {
            "operator_id": store[0],
            "operator_name": name,
            "store_name": store[1],
            "batch_id": version - 1,
            "version": version,
            "batch_timestamp_ms": now,
            "watermark_ms": watermark,
            "lag_ms": None if watermark is None or now is None else now - watermark,
            "partitions": one.stores,
            "of_partitions": stores,
            "new_data": clock.has_new_data if clock else None,
            "rows": one.rows,
            "row_bytes": one.row_bytes,
            "heap_bytes": heaps.get(store, {}).get(version),
            **{change: getattr(one, change) if known else None for change in _CHANGES},
            "delta_bytes": one.delta_bytes,
            "snapshot_bytes": one.snapshot_bytes,
            "replay_deltas": _replay_deltas(checkpoint, store, version),
        }


def _replay_deltas(checkpoint: Checkpoint, store: StoreName, version: int) -> int | None:
    depths = [
        version - max((v for v in files.snapshots if v <= version), default=0)
        for layout in checkpoint.layout.stores
        if (layout.store.operator_id, layout.store.store_name) == store
        for files in (checkpoint.store_files.get(layout.directory),)
        if files is not None
    ]
    return max(depths, default=None)


def _growth(
    checkpoint: Checkpoint,
    merged: dict[StoreName, dict[int, VersionFacts]],
    heaps: HeapByVersion,
    capacity: int | None,
) -> Table:
    names = operator_names(checkpoint)
    rows = []
    for (operator_id, store), versions in merged.items():
        heap = heaps.get(StoreName(operator_id, store), {})
        found = growth_of(store_points(checkpoint, versions, heap))
        # Too few batches, or too short a time, say nothing about an hour.
        known = found if found is not None and found.bytes.judged else None
        of_bytes = None if known is None else known.bytes.line
        of_heap = known.heap if known is not None and heaps else None
        rows.append(
            {
                "operator_id": operator_id,
                "operator_name": names.get(operator_id),
                "store_name": store,
                "row_bytes": sparkline([one.row_bytes for one in versions.values()]),
                "rows_per_hour": None if known is None else round(known.rows.per_hour),
                "bytes_per_hour": None if of_bytes is None else round(of_bytes.per_hour),
                "heap_bytes_per_hour": None if of_heap is None else round(of_heap.per_hour),
                **_reaches("rows", of_bytes, capacity),
                **_reaches("heap", of_heap, capacity),
            }
        )
    return GROWTH.table(
        "growth per hour"
        if capacity is None
        else f"growth per hour, and when row bytes and heap reach {bytes_text(capacity)}",
        rows,
        columns=[c for c in GROWTH.columns if capacity is not None or c.name not in _ASKED],
    )


def _reaches(what: str, line: Growth | None, capacity: int | None) -> dict[str, Any]:
    """Whether something has reached a capacity, and when it will; null if it does not grow."""
    if line is None or capacity is None:
        return {}
    full = line.newest >= capacity
    when = None if full else line.reaches_ms(capacity)
    return {f"{what}_at_capacity": full, _WHEN[what]: when}


def _all_reach(
    found: StoreGrowth | None, capacity: int | None, *, with_heap: bool
) -> dict[str, Any]:
    """The same of all stores together, for the summary."""
    if found is None or not found.bytes.judged or capacity is None:
        return {}
    lines = {"rows": found.bytes.line} | ({"heap": found.heap} if with_heap else {})
    each = (_reaches(what, line, capacity) for what, line in lines.items())
    return {name: value for of_line in each for name, value in of_line.items()}


def _capacity_notes(
    found: StoreGrowth | None, capacity: int | None, *, with_heap: bool
) -> Iterator[str]:
    """The same in words."""
    if capacity is None:
        return
    size = bytes_text(capacity)
    if found is None:
        yield f"Whether the state will reach {size} is not known: its versions span no time."
        return
    if not found.bytes.judged:
        yield f"Whether the state will reach {size} is not known."
        return
    lines = [("The row bytes", found.bytes.line, ""), ("The heap estimate", found.heap, "~")]
    for what, line, about in lines if with_heap else lines[:1]:
        now, rate = f"{about}{bytes_text(line.newest)}", bytes_rate_text(line.per_hour)
        when = line.reaches_ms(capacity)
        all_stores = f"{what} of all stores together, {now} now,"
        if line.newest >= capacity:
            yield f"{all_stores} {'has' if about else 'have'} reached {size}."
        elif when is None:
            yield f"{all_stores} will not reach {size} by the growth of the batches seen here."
        else:
            later = duration_text(when - line.newest_ms)
            yield (
                f"{all_stores} will reach {size} {later} after the newest batch, on "
                f"{time_ms_text(when)}, if {'it goes' if about else 'they go'} on growing by "
                f"~{rate}."
            )
    if not found.bytes.growing:
        yield (
            "The batches seen here do not show that the state grows for good: while it fills, or "
            "as rows come and expire, it looks the same."
        )


def _trend_notes(found: StoreGrowth | None) -> Iterator[str]:
    if found is not None and not found.bytes.judged:
        yield f"{TOO_SHORT[0].upper()}{TOO_SHORT[1:]}."


def _watermark_moves(checkpoint: Checkpoint) -> dict[str, int]:
    """Batches in the log that have a watermark, and how often it moved from one to the next."""
    marks = [clock.watermark_ms for clock in checkpoint.logs.clocks.values() if clock.watermark_ms]
    moved = sum(after > before for before, after in pairwise(marks))
    return {"batches_with_watermark": len(marks), "watermark_moves": moved}
