"""SS211: watermark far from the batch clock.

What it means:
    The watermark is ahead of the batch clock: one event time in the future is enough. The watermark
    never goes back, so rows with correct times are dropped. It is an error if new data no longer
    moves it. A watermark of January 1970, or of the year 50000, comes from times in a wrong unit.

How it is proven:
    Both are in one entry of `offsets`. That later rows are dropped is inferred (inference
    `late-rows`).

Source:
    WatermarkTracker.updateWatermark, setWatermark (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import BEHIND_HOURS, DATA_BATCHES, Threshold
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.event_times import newest_times
from inspector.findings.views.flat_batches import FlatBatches, flat_batches
from inspector.findings.views.late_rows import LATE_ROWS, LateRows, late_batches
from inspector.findings.views.query_clock import span
from inspector.model import BatchClock
from inspector.quantities import duration_text

HOUR_MS = 3_600_000  # milliseconds of an hour
NEAR_MS = 10 * 365 * 24 * HOUR_MS  # largest distance of a true time from the batch clock
# mistakes in the unit of event times, as clauses
SECONDS_AS_MILLIS = "seconds were taken for milliseconds, or milliseconds for microseconds"
MILLIS_AS_SECONDS = "milliseconds were taken for seconds, or microseconds for milliseconds"
UNITS = (
    (1_000, SECONDS_AS_MILLIS, "1,000 times as long"),
    (1_000_000, "seconds were taken for microseconds", "1,000,000 times as long"),
    (1 / 1_000, MILLIS_AS_SECONDS, "too short"),
)
"""(factor from the event time to the true one, mistake, how long windows and delays then last)."""
EVENTS = "Event times in the future"  # cause of a watermark more than ``ahead_hours`` ahead
EVENTS_OF_ZONE = "Event times in the future or of another time zone"  # if it is less ahead


class WatermarkAhead(Rule[CheckpointView]):
    """A watermark in the future, or of event times in a wrong unit."""

    scope = "checkpoint"
    id = "SS211"
    title = "watermark far from the batch clock"
    severity = Severity.WARNING
    spark = "withWatermark"
    next_step = (
        "filter rows whose event time is in the future out before withWatermark, such as where(ts "
        "<= current_timestamp() + INTERVAL 1 HOUR), and start from a new checkpoint: this one "
        "keeps its watermark"
    )
    explains = ("SS202", "SS206", "SS218")
    hides = ("SS206", "SS220")

    ahead_hours = Threshold(24.0, "hours", "Hours ahead of the batch clock.")
    ahead_noted = Threshold(0.5, "hours", "Hours ahead for information.")
    behind_hours = BEHIND_HOURS
    data_batches = DATA_BATCHES

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: a watermark far from its clock, or an event far ahead."""
        last = view.clock.batches.get(view.version - 1)
        if last is None:
            return
        flat = flat_batches(view.clock.batches, last.batch_id)
        wrong = None if last.timestamp_ms is None else self.compare(view, last, flat)
        if wrong is not None:
            yield wrong
        elif flat is not None and flat.with_data < self.data_batches:
            yield from self.find_future_event(view, last)

    def compare(
        self, view: CheckpointView, last: BatchClock, flat: FlatBatches | None
    ) -> Evidence | None:
        """Return the evidence of a watermark ahead of its clock, or of a wrong unit, or None.

        ``last`` has the clocks of the judged batch. ``flat`` are the newest batches with one
        watermark; None if it is not recorded. A batch clock that went back is evidence, too.
        """
        batch_ms = last.timestamp_ms or 0
        watermark_ms = last.next_watermark_ms or last.watermark_ms or 0
        ahead_ms = watermark_ms - batch_ms
        stuck = 0 if flat is None or not last.watermark_ms else flat.with_data
        stuck = stuck if stuck >= self.data_batches else 0
        is_near = ahead_ms <= self.ahead_hours * HOUR_MS
        numbers: dict[str, Any] = {"watermark_ms": watermark_ms, "batch_ms": batch_ms}
        numbers["ahead_ms"] = ahead_ms
        if mistake := wrong_unit(watermark_ms, max(view.clock.delays_ms, default=0), batch_ms):
            severity = Severity.ERROR if stuck and ahead_ms > 0 else Severity.WARNING
            return self.wrong_unit(severity=severity, **numbers, **mistake)
        if ahead_ms <= self.ahead_noted * HOUR_MS:
            return None
        jump = self.jump(view, last.batch_id, is_near=is_near)
        clocks = view.clock.batches
        back_ms = 0 if jump is None else -(span(clocks[jump], clocks.get(jump + 1)) or 0)
        if jump is not None and back_ms > self.ahead_noted * HOUR_MS:
            before_ms = clocks[jump].timestamp_ms
            return self.clock_back(back_ms=back_ms, jump=jump, before_ms=before_ms, **numbers)
        return self.in_future(view, numbers, jump, stuck, is_near=is_near)

    def in_future(
        self,
        view: CheckpointView,
        numbers: dict[str, Any],  # watermark and clock, epoch ms, and ms between them
        jump: int | None,  # batch whose data moved the watermark ahead; None if unknown
        stuck: int,  # number of batches with data that did not move it since; 0 for few
        *,
        is_near: bool,  # True if it is at most ``ahead_hours`` ahead
    ) -> Evidence:
        """Return the evidence of event times in the future, or (``is_near``) of another zone."""
        ahead_ms = numbers["ahead_ms"]
        # Rows that are as far behind as the watermark is ahead have times near the batch clock.
        batches = late_batches(view.facts)
        late = [rows for rows in batches if rows.least_ms <= ahead_ms < 8 * rows.least_ms]
        severity = Severity(Severity.WARNING + bool(stuck) - is_near)
        return self.future(
            severity=max(severity, LATE_ROWS if late else Severity.INFO),
            events=EVENTS_OF_ZONE if is_near else EVENTS,
            signs=[*signs_of(jump, stuck, late)],
            **numbers,
        )

    def jump(self, view: CheckpointView, batch: int, *, is_near: bool) -> int | None:
        """Return the newest batch, up to ``batch``, whose watermark was not ahead; None if unknown.

        Ahead means by ``ahead_noted`` hours if ``is_near``, and by ``ahead_hours`` otherwise.
        """
        least_ms = (self.ahead_noted if is_near else self.ahead_hours) * HOUR_MS
        while (clock := view.clock.batches.get(batch)) is not None:
            if clock.watermark_ms is None or clock.timestamp_ms is None:
                return None
            if clock.watermark_ms - clock.timestamp_ms <= least_ms:
                return batch
            batch -= 1
        return None

    def find_future_event(self, view: CheckpointView, last: BatchClock) -> Iterator[Evidence]:
        """Yield an event far ahead of the clock, if a slower source holds the watermark back."""
        events = [time for time in newest_times(view) if time.event_ms is not None]
        delay_ms = max(view.clock.delays_ms, default=None)
        watermark_ms = last.next_watermark_ms
        if not events or delay_ms is None or not watermark_ms or view.clock.is_by_fastest:
            return
        latest = max(events, key=lambda time: time.event_ms or 0)
        event_ms = latest.event_ms or 0
        ahead_ms = event_ms - (last.timestamp_ms or event_ms)
        is_held = event_ms - delay_ms - watermark_ms >= self.behind_hours * HOUR_MS
        if is_held and ahead_ms >= self.ahead_hours * HOUR_MS:
            yield self.future_event(
                event_ms=event_ms,
                ahead_ms=ahead_ms,
                watermark_ms=watermark_ms,
                batch=latest.version - 1 if latest.version else None,
                where=latest.store_name,
            )

    future = Case(
        cause="{events} moved the watermark {ahead_ms:duration} ahead of the batch clock, and it "
        "never goes back, so data with correct times comes too late for it.",
        evidence="the watermark is {watermark_ms:moment}, {ahead_ms:duration} ahead of the batch "
        "clock {batch_ms:moment}{signs:more}",
    )
    wrong_unit = Case(
        cause="The watermark is {watermark_ms:moment}: {mistake}, so windows and delays last "
        "{effect}.",
        evidence="the watermark is {watermark_ms:moment}, and the batch clock {batch_ms:moment}",
        next_step="convert the event time with the function of its unit (timestamp_seconds, "
        "timestamp_millis, timestamp_micros; a cast takes seconds), and start from a new "
        "checkpoint: this one keeps its watermark",
    )
    clock_back = Case(
        cause="The batch clock, which is the driver's, went back {back_ms:duration} after batch "
        "{jump}, so that the watermark is {ahead_ms:duration} ahead of it.",
        evidence="the watermark is {watermark_ms:moment}, {ahead_ms:duration} ahead of the batch "
        "clock {batch_ms:moment}; the clock of batch {jump} was {before_ms:moment}",
        next_step="compare the clock of the driver's machine with that of others; processing-time "
        "timers and TTL follow it",
        severity=Severity.WARNING,
    )
    future_event = Case(
        cause="An event lies {ahead_ms:duration} in the future{batch:of_batch} and moved the "
        "watermark of its source there; only a slower source holds that of the query back.",
        evidence="the newest event time in {where} is {event_ms:moment}, {ahead_ms:duration} ahead "
        "of the batch clock, and the watermark is {watermark_ms:moment}",
        next_step="filter rows whose event time is in the future out before withWatermark, such as "
        "where(ts <= current_timestamp() + INTERVAL 1 HOUR), and restart the query: the watermark "
        "of each source then begins anew at that of the query",
        severity=Severity.INFO,
    )


def signs_of(jump: int | None, stuck: int, late: Sequence[LateRows]) -> Iterator[str]:
    """Yield clauses on when the watermark moved ahead (batch ``jump``) and on the effects since."""
    if jump is not None:
        yield f"the data of batch {jump} brought it there"
    if stuck:
        yield f"{stuck:,} batches with new data since then did not move it"
    for rows in late:
        yield (
            f"of the {rows.rows:,} rows of batch {rows.batch} it left {rows.late:,} behind by "
            f"{duration_text(rows.least_ms)} or more"
        )


def wrong_unit(watermark_ms: int, delay_ms: int, batch_ms: int) -> dict[str, Any]:
    """Return texts on a wrong unit of event times: ``mistake`` and ``effect``; {} for none."""
    if watermark_ms <= 0 or abs(watermark_ms - batch_ms) < NEAR_MS:
        return {}
    for factor, mistake, effect in UNITS:
        if abs((watermark_ms + delay_ms) * factor - batch_ms) < NEAR_MS:
            return {"mistake": mistake, "effect": effect}
    return {}
