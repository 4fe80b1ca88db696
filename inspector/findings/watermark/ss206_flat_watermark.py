"""SS206: watermark flat.

What it means:
    The watermark stands still though batches bring new data, and rows wait for it. With several
    sources the slowest one holds it back (policy min). If no source stands still, the event times
    do not advance. It is information if the watermark moves far behind event times in the state, or
    in steps.

How it is proven:
    Batches with new data and an unchanged watermark are counted in `offsets`. Until it
    moves, no row expires.

Source:
    WatermarkTracker.updateWatermark (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inspector.discovery.query_sources import newest_first
from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import BEHIND_HOURS, DATA_BATCHES
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.event_times import NewestTime, newest_times
from inspector.findings.views.flat_batches import FlatBatches, flat_batches
from inspector.findings.views.idle_sources import idle_sources
from inspector.model import BatchId

HOUR_MS = 3_600_000  # milliseconds of an hour
SOURCES_NAMED = 3  # largest number of sources that a message names


class FlatWatermark(Rule[CheckpointView]):
    """A watermark that stands still while data arrives, or is far behind the event times."""

    scope = "checkpoint"
    id = "SS206"
    title = "watermark flat"
    severity = Severity.WARNING
    spark = "spark.sql.streaming.multipleWatermarkPolicy"
    next_step = (
        "bring data to the source that stands still, or remove it from the query; where none does, "
        "look at the event times of the new data"
    )
    explains = ("SS202", "SS204", "SS205", "SS207", "SS209", "SS218")
    concerns = Concerns.BY_WATERMARK

    data_batches = DATA_BATCHES
    behind_hours = BEHIND_HOURS

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield why the watermark does not move, or that it moves but is late.

        Nothing is yielded if no rows have a time to compare with the watermark, or if the judged
        batch's watermark is not recorded.
        """
        flat = flat_batches(view.clock.batches, view.version - 1)
        newest = newest_times(view)
        if flat is None or not newest:
            return
        if flat.with_data < self.data_batches:
            yield from self.find_late_watermark(view, flat, newest)
        else:
            yield from self.find_flat_watermark(view, flat, max(newest))

    def find_flat_watermark(
        self, view: CheckpointView, flat: FlatBatches, latest: NewestTime
    ) -> Iterator[Evidence]:
        """Yield why the watermark stayed the same through the batches of ``flat``.

        The cause is an idle source, files that are read newest first, or old event times.
        ``latest`` is the newest event time of the state. Yields an idle source even if the query
        has no watermark yet. Yields nothing for other queries without a watermark, which SS207
        reports.
        """
        first, last = flat.first.batch_id + 1, flat.last.batch_id
        idle, has_moving_source = idle_sources(first, last, view.sources)
        is_held = bool(idle) and has_moving_source and not view.clock.is_by_fastest
        watermark_ms = flat.last.watermark_ms
        if not watermark_ms and (flat.last.next_watermark_ms or not is_held):
            return  # SS207, about the rows that wait for one
        case = self.slow_source if is_held else self.old_events
        names = [source.name for source in idle[:SOURCES_NAMED]]
        if watermark_ms and not idle:
            offsets = view.sources.get(BatchId(view.version - 1), ())
            names = [*newest_first(view.checkpoint.storage, offsets)][:SOURCES_NAMED]
            case = self.newest_files_first if names else case
        yield case(
            severity=Severity.INFO if flat.is_usual(view.clock.batches) else None,
            first=flat.first.batch_id,
            last=flat.last.batch_id,
            batches=flat.with_data,
            watermark_ms=watermark_ms,
            idle=len(idle),
            names=names,
            offsets=[f"{s.name} is at {s.offset} since batch {s.since}" for s in idle],
            since=max((source.since for source in idle), default=0),
            newest_ms=latest.millis,
            what=latest.what,
        )

    def find_late_watermark(
        self, view: CheckpointView, flat: FlatBatches, newest: Sequence[NewestTime]
    ) -> Iterator[Evidence]:
        """Yield at most one evidence: a watermark that moves, far behind event times in the state.

        It is ``behind_hours`` or more behind the newest of them (``newest``), less the longest
        delay. ``flat`` has the judged batch. Nothing is yielded if a delay or the watermark is
        unknown.
        """
        delay_ms = max(view.clock.delays_ms, default=None)
        watermark_ms = flat.last.next_watermark_ms
        events = {t.store_name: t.event_ms for t in newest if t.event_ms is not None}
        if delay_ms is None or view.clock.is_by_fastest or not events or not watermark_ms:
            return
        latest_ms = max(events.values())
        lag_ms = latest_ms - delay_ms - watermark_ms
        if lag_ms < self.behind_hours * HOUR_MS:
            return
        limit_ms = latest_ms - self.behind_hours * HOUR_MS
        sides = {name.partition("-")[0] for name, at in events.items() if at <= limit_ms}
        is_join_side = len(sides) == 1 and sides <= {"left", "right"}
        yield self.late(
            lag_ms=lag_ms,
            watermark_ms=watermark_ms,
            latest_ms=latest_ms,
            delay_ms=delay_ms,
            stores=[name for name, at in events.items() if at > limit_ms],
            late=f"the {sides.pop()} side of the join" if is_join_side else "as a rule one source",
        )

    _EVIDENCE = (
        "batches {first} to {last} had {watermark_ms:watermark}, though "
        "{batches:number} of them brought new data; the newest {what} in the state is "
        "{newest_ms:moment}"
    )
    slow_source = Case(
        cause="The watermark stands still, most likely because {names:words} {idle:/has} brought "
        "no data since batch {since}: the slowest source holds it back, and nothing can expire.",
        evidence=_EVIDENCE + "; {offsets:words}",
        next_step="bring data to {names:words} or remove it from the query: with several sources "
        "the watermark is the least of theirs. With spark.sql.streaming.multipleWatermarkPolicy="
        "max the fastest one counts (a new checkpoint is needed), and what comes late from the "
        "others is dropped",
        hides=("SS227",),
    )
    newest_files_first = Case(
        cause="The watermark stands still, most likely because {names:words} gives its newest "
        "files first (latestFirst): later files are older, and their rows are dropped as late.",
        evidence=_EVIDENCE,
        next_step="leave latestFirst out, and begin with a new checkpoint: rows of all files but "
        "the newest are late (numRowsDroppedByWatermark), unless the delay of withWatermark spans "
        "the backlog",
    )
    old_events = Case(
        cause="The watermark stands still: {batches:batch} brought new data, but no newer event "
        "time, so nothing can expire.",
        evidence=_EVIDENCE,
        next_step="look at the event times of the new data, such as data that is read again, and "
        "at the delay of withWatermark: after a longer delay the watermark stands until events are "
        "that much newer",
    )
    late = Case(
        cause="The watermark is {lag_ms:duration} behind the newest event times, less its delay: "
        "{late} is late.",
        evidence="the watermark is {watermark_ms:moment}, and the newest event time is "
        "{latest_ms:moment} in {stores:words}; the delay is {delay_ms:duration}",
        next_step="compare the event times, the clocks and the delays of the sources: the "
        "watermark is the least of theirs, so all state waits for the slowest one",
        severity=Severity.INFO,
    )
