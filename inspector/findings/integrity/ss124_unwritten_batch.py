"""SS124: batch that was planned and has written nothing.

What it means:
    The newest entry of `offsets` has no commit, and no store has a file of its batch, for many
    times the usual time. The batch runs, or the query failed before it wrote: a change that Spark
    refuses, or a source or a sink that does not answer, looks so. A restart runs the batch again.

How it is proven:
    The time in the entry is compared with the clock of this machine, and with the median time
    between batches (6 minutes if unknown).

Source:
    MicroBatchExecution.markMicroBatchStart (2.3 to 4.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from inspector.clock import epoch_ms
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.listing import is_repartitioning
from inspector.findings.finding import Severity, Weight
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import FileKind

# time between two batches that is assumed if the log shows none, in ms; ten of them are an hour
UNKNOWN_GAP_MS = 360_000
SECOND_MS = 1_000  # milliseconds of a second


class UnwrittenBatch(Rule[CheckpointView]):
    """A batch that was planned long ago, has no commit, and has written no state file."""

    scope = "checkpoint"
    id = "SS124"
    title = "batch that was planned and has written nothing"
    severity = Severity.WARNING
    weight = Weight.URGENT
    info_weight = Weight.USUAL
    spark = "StreamingQueryException"
    next_step = (
        "look for the error in the log of the driver (inspector explain LOG PATH); if the query "
        "runs, look for a task that does not end"
    )
    command = "info"

    unwritten_noted = Threshold(
        3.0, "times", "Time since the entry over the usual gap: information."
    )
    unwritten_gaps = Threshold(10.0, "times", "The same: a warning, with `unwritten_seconds`.")
    unwritten_seconds = Threshold(60.0, "seconds", "Least time since the entry: a warning.")

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: the newest batch, if planned long ago and without any file.

        Long is ``unwritten_noted`` times the usual time between batches. Nothing is yielded if the
        batch is committed or is being written, or if another finding says why it does not run.
        """
        restart, checkpoint = view.context.restart, view.checkpoint
        if restart is None or not restart.again or restart.planned_ms is None or restart.wrote:
            return
        if not view.context.judges_rows:  # about files alone, whatever the time is
            return
        if restart.obstacles or is_repartitioning(checkpoint):  # findings of their own say why
            return
        age, usual = epoch_ms() - restart.planned_ms, usual_gap_ms(checkpoint, restart.batch)
        gap = usual or UNKNOWN_GAP_MS
        if age < self.unwritten_noted * gap or is_writing(checkpoint, restart.batch):
            return
        least = max(self.unwritten_gaps * gap, self.unwritten_seconds * SECOND_MS)
        case = self.no_commit if restart.wrote is None else self.no_files
        yield case(
            severity=Severity.WARNING if age >= least else Severity.INFO,
            batch=restart.batch,
            planned_ms=restart.planned_ms,
            age=age,
            unfinished=restart.unfinished_text,
            gap=round(gap),
        )

    _EVIDENCE = "{unfinished} The usual time between two batches is taken as {gap:duration}"
    no_files = Case(
        cause="Batch {batch:number} was planned at {planned_ms:moment} and has written nothing for "
        "{age:duration}: it runs, or it failed.",
        evidence=_EVIDENCE,
    )
    no_commit = Case(
        cause="Batch {batch:number} was planned at {planned_ms:moment} and has no commit for "
        "{age:duration}: it runs, or it failed.",
        evidence=_EVIDENCE,
    )


def usual_gap_ms(checkpoint: Checkpoint, batch: int) -> float | None:
    """Return the median time between committed batches up to ``batch``, in ms.

    Batches that a tool appended do not count. None if fewer than two batches have different times.
    """
    clocks = [c for number, c in checkpoint.logs.clocks.items() if number <= batch]
    times = [clock.timestamp_ms for clock in clocks if clock.committed and not clock.appended]
    gaps = [b - a for a, b in pairwise(t for t in times if t is not None) if b > a]
    return median(gaps) if gaps else None


def is_writing(checkpoint: Checkpoint, batch: int) -> bool:
    """Return True if a task has begun to write a file of ``batch``, under a temporary name."""
    begun = re.compile(rf"(?:^|\D){batch + 1}\.(?:delta|changelog|snapshot|zip)\b")
    return any(
        file.kind is FileKind.TEMPORARY and begun.search(file.path.rpartition("/")[2])
        for folder in checkpoint.layout.folders
        for file in folder.files
    )
