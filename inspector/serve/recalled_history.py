"""Last results of checkpoints from the rows of a history, for a service without a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from inspector.findings.verdict import Level
from inspector.plain_text import escape
from inspector.quantities import sentence
from inspector.render.as_prometheus import LEVEL, NAMES, Observed, Sample
from inspector.render.audit_history import UNREADABLE, place_of
from inspector.render.page.served import FleetEntry
from inspector.serve.last_results import LastResult
from inspector.sums import group_by, sum_or_none

# level in the history's column -> level of the fleet's page
_LEVELS = {level.value: level for level in Level} | {UNREADABLE: Level.UNREADABLE}
# metric -> column of the history that has its value for each store
_SUMS = {"state.rows": "rows", "state.bytes": "row_bytes", "leftovers.rows": "leftovers"}


def results_of_history(
    audits: pa.Table, checkpoints: Sequence[tuple[str, str]]
) -> list[LastResult | None]:
    """Return the newest result of each checkpoint, given by its path and the URL of its page.

    ``audits`` are the rows of a history. Returns None for a checkpoint without a whole audit in it.
    """
    roots = [place_of(path) for path, _ in checkpoints]
    is_complete = (pc.field("command") == "audit") & ~pc.field("is_part")
    complete = audits.filter(is_complete & pc.field("checkpoint").isin(roots))
    newest = complete.group_by("checkpoint").aggregate([("audited", "max")])
    times = {row["checkpoint"]: row["audited_max"] for row in newest.to_pylist()}
    oldest = min(times.values(), default=None)
    if oldest is None:
        return [None] * len(checkpoints)
    rows = complete.filter(pc.field("audited") >= oldest).to_pylist()
    by_place = group_by(rows, lambda row: row["checkpoint"])
    results: list[LastResult | None] = []
    for root, (path, url) in zip(roots, checkpoints, strict=True):
        last = [row for row in by_place.get(root, ()) if row["audited"] == times[root]]
        results.append(_result(path, url, last) if last else None)
    return results


def _result(path: str, url: str, rows: Sequence[Mapping[str, Any]]) -> LastResult:
    """Return the result of the rows of one audit, one for each store."""
    head = rows[0]
    level = _LEVELS.get(head["level"], Level.UNREADABLE)
    sums = {column: sum_or_none(row[column] for row in rows) for column in _SUMS.values()}
    ids = sorted({name for row in rows for name in row["findings"] or ()})
    cause = f"Findings at the last audit: {', '.join(ids)}." if ids else "No findings."
    cause = sentence(head["error"]) if head["error"] else cause
    entry = FleetEntry(
        path,
        url,
        level,
        cause,
        rows=sums["rows"],
        row_bytes=sums["row_bytes"],
        leftovers=sums["leftovers"],
    )
    values = {metric: sums[column] for metric, column in _SUMS.items()}
    values["files.bytes"] = head["state_file_bytes"]
    samples: list[Sample] = [(LEVEL, (), level.rank)]
    samples += [(NAMES[m][0], (), value) for m, value in values.items() if value is not None]
    observed: Observed = (escape(path), escape(head["query_id"] or "")), samples
    return LastResult(entry, observed, _epoch_ms(head["audited"]))


def _epoch_ms(time: datetime) -> int:
    """Return a time in epoch ms."""
    return int(time.timestamp() * 1000)
