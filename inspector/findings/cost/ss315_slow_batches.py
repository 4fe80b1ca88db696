"""SS315: batches that take longer.

What it means:
    The newest batches take several times as long as before: the state or the input has grown, or
    executors, the source or the sink are slower.

How it is proven:
    A batch takes from the time of its file in `offsets` to that of its file in `commits`. In a copy
    the end is inferred from the clock of the next batch.

Source:
    MicroBatchExecution.markMicroBatchStart, markMicroBatchEnd (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from statistics import median

from inspector.checkpoint.logs import Logs
from inspector.discovery.batch_times import batch_durations
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import BatchId, Certainty

SECOND_MS = 1_000  # milliseconds of a second


class SlowBatches(Rule[CheckpointView]):
    """Batches that take several times as long as the ones before."""

    scope = "checkpoint"
    id = "SS315"
    title = "batches that take longer"
    severity = Severity.INFO
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "StreamingQueryProgress.durationMs"
    next_step = (
        "compare the batches (inspector timeline PATH): rows, puts, removals and replayed files, "
        "and look for slow tasks of such a batch"
    )

    slow_ratio = Threshold(3.0, "times", "Median of the newest batches over that before.")
    slow_seconds = Threshold(2.0, "seconds", "Seconds between the two medians.")
    slow_least = Threshold(2.0, "times", "Each of the newest batches over the median before.")
    timed_batches = Threshold(6, "batches", "Batches whose time is known.")
    newest_share = Threshold(0.25, "share", "Share of the batches that are the newest; 2 or more.")

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: the median times of the newest and the earlier batches.

        They must differ much. Nothing is yielded if an older version is judged, or if the times of
        fewer than ``timed_batches`` batches are known.
        """
        logs = view.checkpoint.logs
        if view.version < view.checkpoint.newest_version:
            return
        durations, certainty = self.durations(logs)
        batches = sorted(durations)
        split = len(batches) - max(2, int(len(batches) * self.newest_share))
        if len(batches) < self.timed_batches:
            return
        parts = batches[:split], batches[split:]
        earlier, newest = ([durations[batch] for batch in part] for part in parts)
        was, now = median(earlier), median(newest)
        is_slower = now >= self.slow_ratio * was and min(newest) >= self.slow_least * was
        last_ms = logs.clocks[batches[split - 1]].timestamp_ms
        if last_ms is None or not is_slower or now - was < self.slow_seconds * SECOND_MS:
            return
        yield self.slower(
            certainty=certainty,
            now=whole_seconds(now),
            was=whole_seconds(was),
            last_ms=last_ms,
            earlier=parts[0],
            earlier_least=whole_seconds(min(earlier)),
            earlier_most=whole_seconds(max(earlier)),
            newest=parts[1],
            newest_least=whole_seconds(min(newest)),
            newest_most=whole_seconds(max(newest)),
        )

    def durations(self, logs: Logs) -> tuple[Mapping[BatchId, int], Certainty]:
        """Return how long each batch took, in ms, and the certainty of these times.

        They are proven by the times of log files, or else inferred from the clock of the next
        batch. Batches without new data are left out if ``timed_batches`` others are known.
        """
        durations, certainty = batch_durations(logs), Certainty.PROVEN
        if not durations:
            durations, certainty = until_next_batch(logs), Certainty.INFERRED
        # A batch without new data is quick, whatever the others take.
        with_data = {b: ms for b, ms in durations.items() if logs.clocks[b].has_new_data}
        return with_data if len(with_data) >= self.timed_batches else durations, certainty

    slower = Case(
        cause="Batches take {now:duration}, {was:duration} until {last_ms:moment}.",
        evidence="batches take {now:duration}, {was:duration} until {last_ms:moment} "
        "({earlier:batches}: {earlier_least:duration} to {earlier_most:duration}; "
        "{newest:batches}: {newest_least:duration} to {newest_most:duration})",
    )


def until_next_batch(logs: Logs) -> dict[BatchId, int]:
    """Return the ms from the clock of a batch to that of the next batch, by batch.

    Only batches that a batch without new data follows are included.
    """
    durations = {}
    for batch, following in pairwise(logs.clocks.values()):
        follows = following.batch_id == batch.batch_id + 1 and following.has_new_data is False
        clocks = batch.timestamp_ms, following.timestamp_ms
        if follows and not following.appended and None not in clocks:
            durations[batch.batch_id] = max(0, (clocks[1] or 0) - (clocks[0] or 0))
    return durations


def whole_seconds(millis: float) -> int:
    """Return a duration in ms, rounded to whole seconds if it is a second or more."""
    is_long = millis >= SECOND_MS
    return round(millis / SECOND_MS) * SECOND_MS if is_long else round(millis)
