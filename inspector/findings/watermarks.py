"""SS211 and SS225: a watermark that is far from the clock, or follows it.

It is the greatest event time seen, less the delay; with several sources the least of theirs (policy
``min``), and never goes back (``WatermarkTracker``): one event time in the future moves it for
good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inspector.checkpoint.log_entries import SourceOffset
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule_inputs import LateRows
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.views.event_times import NewestTime
from inspector.findings.views.flat_batches import flat_batches
from inspector.findings.views.query_clock import span
from inspector.model import BatchClock, Certainty
from inspector.quantities import count_text, duration_text
from inspector.time_text import time_ms_text

MS_PER_HOUR = 3_600_000
_NEAR_MS = 10 * 365 * 24 * MS_PER_HOUR
"""A watermark of another unit is that near to the clock when it is converted, as data is."""
_WRONG_UNIT = (
    "convert the event time with the function of its unit (timestamp_seconds, timestamp_millis, "
    "timestamp_micros; a cast takes seconds), and start from a new checkpoint: this one keeps its "
    "watermark"
)
_TOO_SMALL = {
    1_000: "seconds were taken for milliseconds, or milliseconds for microseconds",
    1_000_000: "seconds were taken for microseconds",
}
"""By what the watermark has to be multiplied to be near the clock."""
_TOO_LARGE = "milliseconds were taken for seconds, or microseconds for milliseconds"

Clocks = Mapping[int, BatchClock]
Sources = Mapping[int, Sequence[SourceOffset]]


def judge_watermark(  # noqa: PLR0913 - what findings rest on
    clocks: Clocks,
    batch: int,
    newest: Sequence[NewestTime],
    sources: Sources | None = None,
    *,
    delay_ms: int | None = None,
    by_slowest: bool = True,
    late: Sequence[LateRows] = (),
    thresholds: Thresholds = DEFAULTS,
) -> Iterator[Finding]:
    """What is wrong with the watermark of the query.

    ``newest`` is the newest time in each store whose rows go by the watermark; ``delay_ms`` the
    longest known delay of withWatermark; ``by_slowest``: of several the least counts
    (``spark.sql.streaming.multipleWatermarkPolicy``); ``late``: rows of batches that raised it far.
    """
    ahead = list(_ahead(clocks, batch, delay_ms, late, thresholds))
    yield from ahead
    if not ahead and not by_slowest:
        waits = bool(newest) and any(clock.watermark_ms for clock in clocks.values())
        yield from _by_fastest(len((sources or {}).get(batch, ())), late, delay_ms, waits=waits)
    yield from _of_clock(clocks, batch, delay_ms, thresholds) if newest else ()
    flat = flat_batches(clocks, batch)
    if ahead or flat is None or not newest or not by_slowest or delay_ms is None:
        return
    if flat.with_data < thresholds.data_batches:
        yield from _future_events(flat.last, newest, delay_ms, thresholds)


def _future_events(
    last: BatchClock, newest: Sequence[NewestTime], delay_ms: int, thresholds: Thresholds
) -> Iterator[Finding]:
    """Event times in the state that are far ahead of the watermark and of the batch clock."""
    events = [time for time in newest if time.event_ms is not None]
    latest = max((time.event_ms or 0 for time in events), default=0)
    watermark = last.next_watermark_ms
    if not watermark or latest - delay_ms - watermark < thresholds.behind_hours * MS_PER_HOUR:
        return
    if latest - (last.timestamp_ms or latest) >= thresholds.ahead_hours * MS_PER_HOUR:
        yield _of_future(max(events, key=lambda time: time.event_ms or 0), last)


def _of_future(newest: NewestTime, last: BatchClock) -> Finding:
    """An event far ahead of the clock, where a second source holds the watermark back."""
    event_ms = newest.event_ms or 0
    ahead = duration_text(event_ms - (last.timestamp_ms or 0))
    of_batch = f" of batch {newest.version - 1}" if newest.version else ""
    return catalogue.WATERMARK_AHEAD.of(
        f"the newest event time{of_batch} in {newest.store_name} is {time_ms_text(event_ms)}, "
        f"{ahead} ahead of the batch clock, and the watermark is "
        f"{time_ms_text(last.next_watermark_ms or 0)}",
        next_step="filter rows whose event time is in the future out before withWatermark, such as "
        "where(ts <= current_timestamp() + INTERVAL 1 HOUR), and restart the query: the watermark "
        "of each source then begins anew at that of the query",
        cause=f"An event{of_batch} lies {ahead} in the future ({time_ms_text(event_ms)}) and moved "
        "the watermark of its source there; only a slower source holds that of the query back.",
        severity=Severity.INFO,
    )


def _of_clock(
    clocks: Clocks, batch: int, delay_ms: int | None, thresholds: Thresholds
) -> Iterator[Finding]:
    """A watermark that is the batch clock less always the same, to the ms."""
    fed = [c for at, c in clocks.items() if at <= batch and c.has_new_data]
    behind = {(c.timestamp_ms or 0) - (c.next_watermark_ms or 0) for c in fed}
    # A clock of whole seconds, as of a test, event times may well have too.
    whole = all((c.timestamp_ms or 0) % 1000 == 0 for c in fed)
    if len(fed) < thresholds.window_versions or len(behind) != 1 or whole:
        return
    if delay_ms is not None and delay_ms not in behind:
        return  # current_timestamp() is the clock itself, and the watermark that less the delay
    lag, batches = duration_text(behind.pop()), count_text(len(fed), "batch", "batches")
    evidence = f"each of {batches} with new data made the watermark that is its own clock less "
    cause = f"The watermark is the batch clock less {lag} in each of {batches}: the event time is "
    cause += "current_timestamp(), so that rows go by when they are read, not by when they "
    cause += "happened."
    yield catalogue.WATERMARK_OF_CLOCK.of(f"{evidence}{lag}, to the millisecond", cause=cause)


def _ahead(
    clocks: Clocks,
    batch: int,
    delay_ms: int | None,
    late: Sequence[LateRows],
    thresholds: Thresholds,
) -> Iterator[Finding]:
    """A watermark far from the batch clock: of the future, or of times in a wrong unit."""
    last = clocks.get(batch)
    if last is None or last.timestamp_ms is None:
        return
    watermark = last.next_watermark_ms or last.watermark_ms or 0
    least = round(thresholds.ahead_hours * MS_PER_HOUR)
    ahead = watermark - last.timestamp_ms
    is_far = watermark > 0 and abs(ahead) >= _NEAR_MS
    newest = watermark + (delay_ms or 0)
    for factor in _TOO_SMALL if is_far else ():
        if abs(newest * factor - last.timestamp_ms) < _NEAR_MS:
            yield catalogue.WATERMARK_AHEAD.of(
                f"the watermark is {time_ms_text(watermark)}, and {factor:,} times as long after "
                f"1970 is {time_ms_text(newest * factor)}, near the batch clock "
                f"{time_ms_text(last.timestamp_ms)}",
                next_step=_WRONG_UNIT,
                cause=f"The watermark is {time_ms_text(watermark)}: {_TOO_SMALL[factor]}, so "
                f"windows and delays last {factor:,} times as long.",
            )
    noted = round(thresholds.ahead_noted * MS_PER_HOUR)
    if ahead <= noted:
        return
    near = ahead <= least
    flat = flat_batches(clocks, batch) if last.watermark_ms else None
    stuck = flat is not None and flat.with_data >= thresholds.data_batches
    words = [
        f"the watermark is {time_ms_text(watermark)}, {duration_text(ahead)} ahead of the batch "
        f"clock {time_ms_text(last.timestamp_ms)}"
    ]
    jump = _jump(clocks, batch, noted if near else least)
    if jump is not None:
        went_back = -(span(clocks[jump], clocks.get(jump + 1)) or 0)
        if went_back > noted:
            before = clocks[jump].timestamp_ms or 0
            yield catalogue.WATERMARK_AHEAD.of(
                f"{words[0]}; that of batch {jump} was {time_ms_text(before)}",
                next_step="compare the clock of the driver's machine with that of others; "
                "processing-time timers and TTL follow it",
                cause="The batch clock, which is the driver's, went back "
                f"{duration_text(went_back)} after batch {jump}, so that the watermark is "
                f"{duration_text(ahead)} ahead of it.",
                severity=Severity.WARNING,
            )
            return
        words.append(f"the data of batch {jump} brought it there")
    if flat is not None and stuck:
        words.append(
            f"{count_text(flat.with_data, 'batch', 'batches')} with new data since then did not "
            "move it"
        )
    is_other_unit = is_far and abs(newest // 1000 - last.timestamp_ms) < _NEAR_MS
    dropped = f"{'all ' * stuck}data with correct times comes too late for it"
    # Those that are as far behind are of about the batch clock.
    correct = [rows for rows in late if rows.least_ms <= ahead < 8 * rows.least_ms]
    words += [
        f"of the {rows.rows:,} rows that batch {rows.batch} put the watermark that it made was "
        f"{duration_text(rows.least_ms)} or more ahead of {rows.late:,}"
        for rows in correct
    ]
    yield catalogue.WATERMARK_AHEAD.of(
        "; ".join(words),
        next_step=_WRONG_UNIT if is_other_unit else catalogue.WATERMARK_AHEAD.to_do,
        cause=f"The watermark is {duration_text(ahead)} ahead of the batch clock: "
        f"{_TOO_LARGE}, so windows and delays last a thousandth."
        if is_other_unit
        else f"Event times in the future{' or of another time zone' if near else ''} moved the "
        f"watermark {duration_text(ahead)} ahead of the batch clock, and it never goes back, so "
        f"{dropped}."
        if not near or not correct
        else "Some event times are in the future, by another time zone or clock, and moved the "
        f"watermark {duration_text(ahead)} ahead of the batch clock: rows like "
        f"{correct[0].late:,} of the {correct[0].rows:,} of batch {correct[0].batch}, with correct "
        "times, are dropped as late since.",
        severity=max(
            Severity(Severity.WARNING + stuck - near),
            catalogue.LATE_ROWS if correct else Severity.INFO,
        ),
    )


def _of_fastest(rows: LateRows) -> Finding:
    """Rows that a watermark left behind which is that of the fastest source."""
    behind = duration_text(rows.least_ms)
    words = f"{rows.late:,} of the {rows.rows:,} rows of batch {rows.batch}"
    return catalogue.UNFED.of(
        f"{words} were {behind} or more behind the watermark that the batch made, and none half as "
        "far; spark.sql.streaming.multipleWatermarkPolicy is max",
        next_step="set spark.sql.streaming.multipleWatermarkPolicy to min (a new checkpoint is "
        "needed), or make the delay of withWatermark longer than the slower source is late",
        cause="By multipleWatermarkPolicy=max the fastest source sets the watermark: rows like "
        f"{words}, {behind} or more behind it, are dropped as late since.",
        severity=catalogue.LATE_ROWS,
        certainty=Certainty.INFERRED,
    )


def _by_fastest(
    sources: int, late: Sequence[LateRows], delay_ms: int | None, *, waits: bool
) -> Iterator[Finding]:
    """What slower sources lose; where no row of theirs was ever stored, that they may lose some."""
    if sources < 2:
        return
    if late:
        yield _of_fastest(max(late, key=lambda rows: rows.late))
    if late or not waits:
        return
    delay = "its delay" if delay_ms is None else f"a delay of {duration_text(delay_ms)}"
    yield catalogue.UNFED.of(
        f"spark.sql.streaming.multipleWatermarkPolicy is max, and the query has {sources} sources",
        next_step="nothing, if no source is later than that (numRowsDroppedByWatermark stays 0); "
        "else set spark.sql.streaming.multipleWatermarkPolicy to min, with a new checkpoint",
        cause=f"By multipleWatermarkPolicy=max the fastest of {sources} sources sets the "
        f"watermark, if each has its own: what another brings more than {delay} behind it is "
        "dropped as late, and never stored.",
        certainty=Certainty.INFERRED,
    )


def _jump(clocks: Clocks, batch: int, least: int) -> int | None:
    """The batch whose data brought the watermark ahead of the clock; None if that was before."""
    while (clock := clocks.get(batch)) is not None:
        if clock.watermark_ms is None or clock.timestamp_ms is None:
            return None
        if clock.watermark_ms - clock.timestamp_ms <= least:
            return batch
        batch -= 1
    return None
