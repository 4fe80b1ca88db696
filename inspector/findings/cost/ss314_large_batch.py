"""SS314: one batch far larger than others.

What it means:
    One batch wrote far more rows to the state than others: a backlog read at once, at the first
    start, after a stop, or from a source without a limit.

How it is proven:
    The largest number of rows of a batch is compared with the median of the others.

Source:
    MicroBatchExecution.constructNextBatch (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.operators.join import COUNT_STORES
from inspector.operators.transform_with_state import is_helper


class LargeBatch(Rule[StoreView]):
    """A batch that wrote many times the rows of the others."""

    scope = "store"
    id = "SS314"
    title = "one batch far larger than others"
    severity = Severity.INFO
    spark = "maxOffsetsPerTrigger"
    next_step = (
        "limit what one batch reads: maxOffsetsPerTrigger (Kafka), maxFilesPerTrigger or "
        "maxBytesPerTrigger (files). Such a batch takes long, may run out of memory, and runs "
        "again whole if it fails"
    )
    concerns = Concerns.RECORDS

    window_versions = WINDOW_VERSIONS
    burst_ratio = Threshold(
        30.0, "times", "Rows that one batch wrote over the median of the others."
    )
    burst_rows = Threshold(1_000, "rows", "Rows that such a batch wrote.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the batch that wrote most rows, if others wrote far fewer.

        It must have written ``burst_rows`` rows, and ``burst_ratio`` times the median of the
        others.
        """
        versions = store.versions.items()
        puts = {v: facts.puts for v, facts in versions if facts.puts and not facts.rebased}
        is_index = store.store_name in COUNT_STORES or is_helper(store.store_name)
        if is_index or len(puts) <= self.window_versions:
            return
        largest = max(puts, key=lambda version: puts[version])
        most, usual = puts.pop(largest), median(puts.values())
        if most < max(self.burst_rows, self.burst_ratio * usual):
            return
        # Batch N makes version N + 1.
        yield self.backlog(
            batch=largest - 1, most=most, usual=usual, times=most / usual, others=len(puts)
        )

    backlog = Case(
        cause="Batch {batch} wrote {most:row}, {times:number} times as many as a batch usually "
        "does: most likely a backlog was read at once, as at a first start or after a stop, "
        "without a limit such as maxOffsetsPerTrigger.",
        evidence="batch {batch} wrote {most:row}, {times:number} times as many as a batch usually "
        "does: half of {others:number} others wrote {usual:number} or fewer",
    )
