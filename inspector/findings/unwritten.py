"""SS124: a batch that was planned long ago, has no commit, and of which nothing was written.

Spark writes the entry of the offset log before it plans the tasks of the batch. A change of the
query that Spark refuses, and a source or sink that does not answer, leave the entry alone. So does
a batch that runs: how long the others took shows whether that is likely.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.listing import is_repartitioning
from inspector.discovery.restart import Restart
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Severity
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import FileKind
from inspector.quantities import duration_text
from inspector.time_text import time_ms_text

_UNKNOWN_GAP_MS = (
    360_000  # taken for the gap where no two batches show one: ten of them are an hour
)


def now_ms() -> int:
    """Return the present time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def judge_unwritten(
    checkpoint: Checkpoint, restart: Restart, thresholds: Thresholds = DEFAULTS
) -> Iterator[Finding]:
    """Yield the finding about the newest batch, if it was planned long ago and wrote nothing."""
    if not restart.again or restart.planned_ms is None or restart.wrote:
        return
    if restart.obstacles or is_repartitioning(checkpoint):  # findings of their own say why
        return
    age = now_ms() - restart.planned_ms
    usual = usual_gap_ms(checkpoint, restart.batch)
    gap = usual or _UNKNOWN_GAP_MS
    if age < thresholds.unwritten_noted * gap or _is_writing(checkpoint, restart.batch):
        return
    is_late = age >= max(thresholds.unwritten_gaps * gap, thresholds.unwritten_seconds * 1000)
    fault = "has no commit" if restart.wrote is None else "has written nothing"
    planned = f"Batch {restart.batch:,} was planned at {time_ms_text(restart.planned_ms)}"
    comparison = "No two batches show how long one takes"
    if usual:
        comparison = f"The batches before began {duration_text(round(usual))} apart"
    yield catalogue.UNWRITTEN_BATCH.of(
        f"{restart.unfinished_text} {comparison}",
        cause=f"{planned} and {fault} for {duration_text(age)}: it runs, or it failed.",
        severity=Severity.WARNING if is_late else Severity.INFO,
    )


def usual_gap_ms(checkpoint: Checkpoint, batch: int) -> float | None:
    """Return the median time between the clocks of the batches before one; None if none has two."""
    clocks = [c for number, c in checkpoint.logs.clocks.items() if number <= batch]
    times = [clock.timestamp_ms for clock in clocks if clock.committed and not clock.appended]
    gaps = [b - a for a, b in pairwise(t for t in times if t is not None) if b > a]
    return median(gaps) if gaps else None


def _is_writing(checkpoint: Checkpoint, batch: int) -> bool:
    """True if a task has begun to write a file of the batch, under a temporary name."""
    begun = re.compile(rf"(?:^|\D){batch + 1}\.(?:delta|changelog|snapshot|zip)\b")
    return any(
        file.kind is FileKind.TEMPORARY and begun.search(file.path.rpartition("/")[2])
        for folder in checkpoint.layout.folders
        for file in folder.files
    )
