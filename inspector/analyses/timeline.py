"""``timeline``: what each batch did, and where it leads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from inspector.analyses.shared.declare import FactRequest, Option, TableSpec, analysis
from inspector.analyses.shared.heap import HeapByVersion, heap_by_version
from inspector.analyses.shared.options import AT_VERSION, PART, SCHEMAS, WORK, Options
from inspector.analyses.shared.run import Run
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.growth import growth, sparkline
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import Problem, StoreName
from inspector.render.report import Column, Report, Table, Unit
from inspector.render.text import bytes_text
from inspector.render.values import time_ms_text

_CHANGES = ("puts", "inserts", "updates", "same_value_puts", "removals")
FOOTNOTE = (
    "Rows and bytes are of the partitions that can restore the version. lag_ms is the batch clock "
    "less the watermark. heap_bytes is the estimate of inspector memory "
    "for two retained versions. replay_deltas is what a restart at that version "
    "reads after its newest snapshot, in the partition that reads most. Counts and bytes are "
    "exact; growth is an estimate, the median slope between all pairs of versions."
)


BATCHES = TableSpec(
    "batches",
    "one store after one batch",
    (
        *STORE,
        BATCH_ID,
        VERSION,
        Column("batch_timestamp_ms", Unit.TIME_MS),
        Column("watermark_ms", Unit.TIME_MS),
        Column("lag_ms", Unit.COUNT),
        Column("new_data"),
        Column("partitions", doc="How many of all partitions can restore the version: `3 of 4`."),
        count("rows"),
        size("row_bytes"),
        Column("heap_bytes", Unit.BYTES, exact=False),
        *map(count, _CHANGES),
        size("delta_bytes"),
        size("snapshot_bytes"),
        count("replay_deltas"),
    ),
    empty="no version can be restored",
    wide=frozenset(("operator_name", "version", "inserts", "updates", "snapshot_bytes")),
)
GROWTH = TableSpec(
    "growth",
    "how one store grows, and where it leads",
    (
        *STORE,
        Column("row_bytes", doc="Row bytes of the versions as a line of small bars."),
        Column("rows_per_hour", Unit.COUNT, exact=False),
        Column("bytes_per_hour", Unit.BYTES, exact=False),
        Column("heap_bytes_per_hour", Unit.BYTES, exact=False),
        Column("rows_reach_limit", exact=False),
        Column("heap_reaches_limit", exact=False),
    ),
)
FACTS = FactRequest(partitions=True)


@analysis(uses=(WORK, SCHEMAS, PART, AT_VERSION), tables=(BATCHES, GROWTH), facts=FACTS)
def timeline(
    path: str | Run,
    options: Options | None = None,
    *,
    limit: Annotated[
        int | None, Option("Report when live rows reach so many bytes (8GiB).", size=True)
    ] = None,
) -> Report:
    """Per batch: clock, watermark, lag, rows, bytes, changes; growth and where it leads."""
    run = Run.start(path, options)
    facts = run.facts(FACTS)
    return timeline_report(run.checkpoint, run.version, facts, run.problems(facts), limit)


def timeline_report(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    limit: int | None,
) -> Report:
    """One row per store and batch, oldest first; then growth per store.

    With a ``limit`` also when live rows reach so many bytes.
    """
    merged = facts.by_store()
    heaps = heap_by_version(checkpoint, version, facts)
    batches = BATCHES.table(
        "batches",
        [
            row
            for store, versions in merged.items()
            for row in _rows(checkpoint, store, versions, heaps)
        ],
    )
    summary = identity(checkpoint, version) | {"watermark_moves": _watermark_moves(checkpoint)}
    return Report(
        "timeline",
        checkpoint.root,
        summary,
        (batches, _growth(checkpoint, merged, heaps, limit)),
        problems=problems,
        footnotes=(FOOTNOTE,),
    )


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
        known = one.rebased < one.stores
        yield {
            "operator_id": store[0],
            "operator_name": name,
            "store_name": store[1],
            "batch_id": version - 1,
            "version": version,
            "batch_timestamp_ms": now,
            "watermark_ms": watermark,
            "lag_ms": None if watermark is None or now is None else now - watermark,
            "partitions": f"{one.stores} of {stores}",
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
    limit: int | None,
) -> Table:
    names = operator_names(checkpoint)
    rows = []
    for (operator_id, store), versions in merged.items():
        clocks = {version: checkpoint.clock(version) for version in versions}
        # Oldest versions that not every partition can restore would look like growth.
        stores = max(one.stores for one in versions.values())
        timed = [
            (version, clock.timestamp_ms, versions[version])
            for version, clock in clocks.items()
            if clock is not None and clock.timestamp_ms is not None
            if versions[version].stores == stores
        ]
        times = [time for _, time, _ in timed]
        of_bytes = growth(times, [one.row_bytes for _, _, one in timed])
        of_rows = growth(times, [one.rows for _, _, one in timed])
        heap = heaps.get(StoreName(operator_id, store), {})
        of_heap = growth(times, [heap.get(version, 0) for version, _, _ in timed])
        rows.append(
            {
                "operator_id": operator_id,
                "operator_name": names.get(operator_id),
                "store_name": store,
                "row_bytes": sparkline([one.row_bytes for one in versions.values()]),
                "rows_per_hour": None if of_rows is None else round(of_rows.per_hour),
                "bytes_per_hour": None if of_bytes is None else round(of_bytes.per_hour),
                "heap_bytes_per_hour": None if of_heap is None else round(of_heap.per_hour),
                "rows_reach_limit": _reaches(of_bytes, limit),
                "heap_reaches_limit": _reaches(of_heap, limit),
            }
        )
    return GROWTH.table(
        "growth" if limit is None else f"growth, and when rows and heap reach {bytes_text(limit)}",
        rows,
        wide=frozenset(() if limit is not None else ("rows_reach_limit", "heap_reaches_limit")),
    )


def _reaches(of_bytes: Any, limit: int | None) -> str | None:
    if of_bytes is None or limit is None:
        return None
    if of_bytes.newest >= limit:
        return "has reached it"
    when = of_bytes.reaches_ms(limit)
    return "does not grow" if when is None else time_ms_text(when)


def _watermark_moves(checkpoint: Checkpoint) -> str:
    marks = [clock.watermark_ms for clock in checkpoint.logs.clocks.values() if clock.watermark_ms]
    if not marks:
        return "there is none"
    moved = sum(after > before for before, after in pairwise(marks))
    return f"in {moved} of {max(len(marks) - 1, 0)} batches"
