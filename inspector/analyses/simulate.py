"""``simulate``: the rows, bytes and heap that a changed query would have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from inspector.analyses.shared import options as o
from inspector.analyses.shared.common import store_ids
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.store_heaps import heap_by_store, usual_layout
from inspector.discovery.tasks import Request
from inspector.discovery.what_if import scenario_of
from inspector.estimates.heap import RETAINED_BY_DEFAULT, of_rows
from inspector.exceptions import CheckpointError
from inspector.facts.checks import SNAPSHOT_DIFFERS
from inspector.facts.expiring import Expiring
from inspector.facts.simulated import SimulatedRows
from inspector.facts.timed_out import DISPUTED
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import replace
from inspector.model import (
    JOIN_COUNT_STORES,
    JOIN_INDEX_STORES,
    JOIN_ROW_STORES,
    JOIN_TIMED_ROW_STORES,
    StoreName,
    TimeoutKind,
)
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.rule import Scenario, WhatIf
from inspector.operators.user_rules import parse_duration
from inspector.quantities import bytes_text, long_duration_text, short_count_text
from inspector.render import tabular as t
from inspector.render.report import Report

_KEPT = "rows that are due stay, and none was ever removed, as in complete mode"
EXACT, AT_LEAST, INFERRED, UNCHANGED = "exact", "at least", "inferred", "unchanged"
_CHANGES = {
    "watermark_delay": "a watermark delay of",
    "timeout": "a timeout of",
    "ttl": "a TTL of",
    "dedup_within": "dropDuplicatesWithinWatermark of",
}
_LATE = "what was dropped as late would have been kept, and is in no file; exact if nothing was"
_BEFORE = (
    "rows that went before the oldest version, or within a batch of real-time mode, would still be "
    "there"
)
_LONG_BYTES = 16  # a row of one field, a counter's number or an index' null: null bits and a word
FOOTNOTE = (
    "The same input, batch by batch, as the versions that can be read show it. Exact: by the "
    "clocks of the real rows, with nothing missing. At least: rows that went before the oldest "
    "version would still be there, and rows that were dropped as late are in no file. The heap is "
    "an estimate for two retained versions."
)


class SimulatedRow(t.StoreRow, table="simulated", empty="the query keeps no state"):
    """One store as it is and as it would be."""

    operator_name: Annotated[t.OperatorName | None, t.Rank(11)]
    store_name: Annotated[t.StoreName | None, t.Rank(0)]
    rows: Annotated[t.Rows, t.Rank(3)]
    rows_then: Annotated[t.Rows, "Rows that there would be.", t.Rank(1)]
    row_bytes: Annotated[t.RowBytes, t.Rank(4)]
    row_bytes_then: Annotated[t.RowBytes, "Key and value bytes that there would be.", t.Rank(2)]
    heap_bytes: Annotated[t.HeapBytes | None, t.Title("heap"), t.Rank(8)]
    heap_bytes_then: Annotated[
        t.HeapBytes | None, "Heap that there would be.", t.Title("heap then"), t.Rank(7)
    ]
    peak_rows: Annotated[t.Rows, "The most rows of any version that can be read.", t.Rank(12)]
    peak_rows_then: Annotated[t.Rows, "The most rows that there would have been.", t.Rank(5)]
    peak_bytes_then: Annotated[t.RowBytes, "The most bytes that there would have been.", t.Rank(9)]
    peak_heap_bytes_then: Annotated[
        t.HeapBytes | None, "Heap at that moment.", t.Title("peak heap then"), t.WIDE
    ]
    peak_batch_id: Annotated[t.BatchId | None, "The batch of the most bytes.", t.WIDE]
    certainty: Annotated[t.Text, "`exact`, `at least`, `inferred` or `unchanged`.", t.Rank(6)]
    why: Annotated[t.Text | None, "Why it is unchanged, or what is assumed.", t.Rank(13)]


class SimulatedBatchRow(t.StoreRow, table="batches", empty="no store is simulated"):
    """One store after one batch, as it was and as it would have been."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    batch_timestamp_ms: Annotated[t.BatchTimestampMs | None, t.Rank(6)]
    rows: Annotated[t.Rows, t.Rank(3)]
    rows_then: Annotated[t.Rows, "Rows that there would have been.", t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(5)]
    row_bytes_then: Annotated[t.RowBytes, "Bytes that there would have been.", t.Rank(4)]


def _wrong(values: Mapping[str, Any]) -> str | None:
    if sum(values.get(name) is not None for name in _CHANGES) != 1:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in _CHANGES)
        return f"expected one change of the query: one of {flags}"
    return None


FACTS = Request(expiring=True)


@analysis(
    uses=(o.RULES, o.REPLAY),
    tables=(SimulatedRow, SimulatedBatchRow),
    facts=FACTS,
    many=True,
    check=_wrong,
)
def simulate(  # noqa: PLR0913 - each change is an option of the command
    path: str | Opened,
    options: Options | None = None,
    *,
    watermark_delay: Annotated[
        str | None, Option("Delay of withWatermark, such as 1h.", metavar="DURATION")
    ] = None,
    timeout: Annotated[
        str | None,
        Option("Timeout of group state after the last call for a key.", metavar="DURATION"),
    ] = None,
    ttl: Annotated[
        str | None, Option("TTL of the state variables of transformWithState.", metavar="DURATION")
    ] = None,
    dedup_within: Annotated[
        str | None,
        Option(
            "Replace the deduplication with dropDuplicatesWithinWatermark and this watermark "
            "delay.",
            metavar="DURATION",
        ),
    ] = None,
    old_delay: Annotated[
        str | None,
        Option(
            "Current watermark delay of the query, if its schemas do not record it.",
            metavar="DURATION",
        ),
    ] = None,
) -> Report:
    """Simulate another watermark delay, timeout or TTL: rows, bytes and heap, now and at peak.

    Replays every version that can be read, and drops each row when the changed rule would.
    """
    texts = {
        "watermark_delay": watermark_delay,
        "timeout": timeout,
        "ttl": ttl,
        "dedup_within": dedup_within,
        "old_delay": old_delay,
    }
    problem = _wrong(texts)
    if problem is not None:
        raise CheckpointError(problem)
    try:
        times = {name: parse_duration(text) for name, text in texts.items() if text is not None}
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    change = WhatIf(**{f"{name}_ms": time for name, time in times.items()})
    name = next(name for name in _CHANGES if name in times)
    run = Run.start(path, options)
    request = replace(FACTS, what_if=change)
    sentence = f"{_CHANGES[name]} {long_duration_text(times[name])}"
    return simulate_report(run.judge(run.facts(request)), change, sentence)


def simulate_report(judged: Judged, change: WhatIf, sentence: str) -> Report:
    """Each store as it is and as it would be; then batch by batch."""
    heaps = heap_by_store(judged)
    stores = judged.facts.by_store()
    kept = _kept_stores(judged, stores)
    then = {
        name: _by_version(judged, name, by_kind)
        for name, by_kind in judged.facts.merged(SimulatedRows).items()
        if name not in kept
    }
    followed = {
        name: name._replace(store_name=_ROWS_OF[name.store_name])
        for name in stores
        if name.store_name in _ROWS_OF
    }
    then |= {
        name: {
            version: _follow(name.store_name, of_rows) for version, of_rows in then[rows].items()
        }
        for name, rows in followed.items()
        if rows in then
    }

    def scenario(name: StoreName) -> Scenario | str:
        name = followed.get(name, name) if name in then else name
        operators = judged.checkpoint.operators
        operator = next(o for o in operators if o.operator_id == name.operator_id)
        planned = scenario_of(judged.checkpoint, operator, name.store_name, change)
        return _KEPT if name in kept and not isinstance(planned, str) else planned

    rows = [
        _row(judged, name, versions, then.get(name, {}), heaps.get(name), scenario(name))
        for name, versions in stores.items()
        if judged.version in versions
    ]
    batches = [row for name in then for row in _batches(judged, name, stores[name], then[name])]
    now, later = sum(row.rows for row in rows), sum(row.rows_then for row in rows)
    size, size_then = sum(r.row_bytes for r in rows), sum(r.row_bytes_then for r in rows)
    changed = [row for row in rows if row.certainty != UNCHANGED]
    least = "at least " if any(row.certainty == AT_LEAST for row in changed) else ""
    text = (
        f"With {sentence} the state would hold {least}{short_count_text(later, 'row')} "
        f"({bytes_text(size_then)}) in place of {short_count_text(now, 'row')} "
        f"({bytes_text(size)})."
    )
    if not changed:
        reasons = "; ".join(sorted({str(row.why) for row in rows})) or "the state is empty"
        text = f"With {sentence} nothing is known to change: {reasons}."
    summary = judged.coverage | {
        "rows": now,
        "simulated_rows": later,
        "row_bytes": size,
        "simulated_row_bytes": size_then,
    }
    return judged.report(
        "simulate",
        (SimulatedRow.table(text, rows), SimulatedBatchRow.table("batches", batches)),
        summary,
        footnotes=(FOOTNOTE,),
    )


def _row(
    judged: Judged,
    name: StoreName,
    versions: Mapping[int, VersionFacts],
    then: Mapping[int, SimulatedRows],
    heap: int | None,
    scenario: Scenario | str,
) -> SimulatedRow:
    now = versions[judged.version]
    unchanged = SimulatedRows(now.rows, now.key_bytes, now.row_bytes - now.key_bytes, 1, 1)
    later = then.get(judged.version, unchanged)
    peak = max(then, key=lambda v: (_size(then[v]), -v), default=judged.version)
    at_peak = then.get(peak, unchanged)
    why: str | None = None
    of_store = (p for p in judged.problems if p.store is not None and p.store.name == name)
    if isinstance(scenario, str):
        certainty, why = UNCHANGED, scenario
    elif any(problem.slug == SNAPSHOT_DIFFERS for problem in of_store):
        certainty, why = INFERRED, DISPUTED
    elif scenario.premise:
        certainty, why = INFERRED, scenario.premise
    elif scenario.clock_shift_ms < 0:
        certainty, why = AT_LEAST, _LATE
    else:
        whole = all(rows.whole == rows.stores for rows in (later, at_peak))
        certainty, why = (EXACT, None) if whole else (AT_LEAST, _BEFORE)
    return SimulatedRow(
        **store_ids(judged.checkpoint, name),
        rows=now.rows,
        rows_then=later.rows,
        row_bytes=now.row_bytes,
        row_bytes_then=_size(later),
        heap_bytes=heap,
        heap_bytes_then=_heap(judged, heap, unchanged, later),
        peak_rows=max(facts.rows for facts in versions.values()),
        peak_rows_then=max((rows.rows for rows in then.values()), default=now.rows),
        peak_bytes_then=_size(at_peak),
        peak_heap_bytes_then=_heap(judged, heap, unchanged, at_peak),
        peak_batch_id=peak - 1 if then else None,
        certainty=certainty,
        why=why,
    )


_FOLLOWERS = (*JOIN_COUNT_STORES, *JOIN_INDEX_STORES)
_ROWS_OF = dict(zip(_FOLLOWERS, (*JOIN_ROW_STORES, *JOIN_TIMED_ROW_STORES), strict=True))
"""Stores of a join that follow another one, which has its rows."""


def _follow(store: str, rows: SimulatedRows) -> SimulatedRows:
    """A join's counters, one for each join key, or its index by time: a word of values at most."""
    if store in JOIN_COUNT_STORES:
        rows = replace(rows, rows=rows.join_keys, key_bytes=rows.join_key_bytes)
    return replace(rows, value_bytes=rows.rows * _LONG_BYTES)


def _by_version(
    judged: Judged,
    name: StoreName,
    simulated: Mapping[tuple[int, TimeoutKind | None], SimulatedRows],
) -> dict[int, SimulatedRows]:
    """The rows of each version by the clock that the timers follow, as all partitions show it."""
    resolution = judged.facts.resolution
    kind = resolution.clock_of(name, judged.version).kind or resolution.usual_clock(name)
    kinds = {of_row for _, of_row in simulated}
    if kind not in kinds:
        kind = next(iter(kinds)) if len(kinds) == 1 else TimeoutKind.PROCESSING_TIME
    return {version: rows for (version, of_row), rows in simulated.items() if of_row is kind}


def _kept_stores(
    judged: Judged, stores: Mapping[StoreName, Mapping[int, VersionFacts]]
) -> set[StoreName]:
    """Aggregations that keep rows that are due and never removed one: complete mode.

    StateStoreSaveExec evicts in append and update mode only (2.4 to 4.3).
    """
    ids = {o.operator_id for o in judged.checkpoint.operators if o.name in AGGREGATIONS}
    return {
        name
        for name, by_kind in judged.facts.merged(Expiring).items()
        if name.operator_id in ids
        and any(expiring.due_rows for expiring in by_kind.values())
        and not any(facts.removals for facts in stores[name].values())
    }


def _size(rows: SimulatedRows) -> int:
    return rows.key_bytes + rows.value_bytes


def _heap(judged: Judged, heap: int | None, now: SimulatedRows, then: SimulatedRows) -> int | None:
    """The heap that there is, in the proportion in which the objects of the rows would change."""
    if heap is None:
        return None
    layout, retain = usual_layout(judged.checkpoint, judged.version), RETAINED_BY_DEFAULT
    before, after = (
        of_rows(rows.rows, rows.key_bytes, rows.value_bytes, layout, retain).total
        for rows in (now, then)
    )
    return round(heap * after / before) if before else after


def _batches(
    judged: Judged,
    name: StoreName,
    versions: Mapping[int, VersionFacts],
    then: Mapping[int, SimulatedRows],
) -> Iterator[SimulatedBatchRow]:
    for version in sorted(then):
        clock = judged.checkpoint.clock(version)
        yield SimulatedBatchRow(
            **store_ids(judged.checkpoint, name),
            batch_id=version - 1,
            batch_timestamp_ms=clock.timestamp_ms if clock else None,
            rows=versions[version].rows,
            rows_then=then[version].rows,
            row_bytes=versions[version].row_bytes,
            row_bytes_then=_size(then[version]),
        )
