"""SS225: watermark of the batch clock.

What it means:
    The event time of every row is the time of its batch, as of `current_timestamp()`. No row is
    late then, and windows are those of when events were read.

How it is proven:
    In each batch with new data the watermark is its clock less the same span, not in whole seconds.

Source:
    CurrentBatchTimestamp, OffsetSeqMetadata, WatermarkTracker (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.event_times import newest_times
from inspector.model import Certainty


class WatermarkOfClock(Rule[CheckpointView]):
    """A watermark that is the batch clock less always the same span."""

    scope = "checkpoint"
    id = "SS225"
    title = "watermark of the batch clock"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "withWatermark"
    next_step = (
        "give withWatermark the time that the event carries; if it has none, processing time is "
        "what there is"
    )
    explains = ("SS217", "SS218")

    window_versions = WINDOW_VERSIONS

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: each watermark is the batch clock less always the same span.

        Only batches with data count, and there must be ``window_versions`` of them. Clocks in whole
        seconds prove nothing.
        """
        batches = view.clock.batches.items()
        fed = [clock for batch, clock in batches if batch < view.version and clock.has_new_data]
        behind = {(clock.timestamp_ms or 0) - (clock.next_watermark_ms or 0) for clock in fed}
        is_whole = all((clock.timestamp_ms or 0) % 1000 == 0 for clock in fed)
        if len(fed) < self.window_versions or len(behind) != 1 or is_whole:
            return
        # current_timestamp() is the clock itself, and the watermark that less the delay.
        delays_ms = view.clock.delays_ms
        if (not delays_ms or delays_ms[0] in behind) and newest_times(view):
            yield self.of_clock(lag_ms=behind.pop(), batches=len(fed))

    of_clock = Case(
        cause="The watermark is the batch clock less {lag_ms:duration} in each of {batches:batch}: "
        "the event time is current_timestamp(), so that rows go by when they are read, not by when "
        "they happened.",
        evidence="each of {batches:batch} with new data made the watermark that is its own clock "
        "less {lag_ms:duration}, to the millisecond",
    )
