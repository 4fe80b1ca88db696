"""SS207: the rule needs a watermark, and there is none yet.

What it means:
    The rows of the store are removed by the watermark, the query has had data, and no batch had a
    watermark, so nothing can expire; nor can timeouts in event time. It is undecided if the entry
    of the log is missing or in doubt.

How it is proven:
    Every entry of `offsets` up to the judged batch has the watermark 0, and some have new offsets.

Source:
    WatermarkTracker.updateWatermark (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.ages import Ages
from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import DATA_BATCHES
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty, TimeoutKind


class NoWatermark(Rule[StoreView]):
    """Rows that wait for a watermark where there is none, or none is known."""

    scope = "store"
    id = "SS207"
    title = "the rule needs a watermark, and there is none yet"
    severity = Severity.WARNING
    certainties = (Certainty.PROVEN, Certainty.UNDECIDED)
    spark = "withWatermark"
    next_step = "check that data with event times arrives from every source"
    explains = ("SS202", "SS204", "SS205", "SS209")
    concerns = Concerns.BY_WATERMARK

    data_batches = DATA_BATCHES

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield the rows or event-time timeouts that wait because there is no watermark yet.

        At least ``data_batches`` batches must have had new data. If the watermark is unknown, the
        evidence is undecided.
        """
        expiry, clock = store.rule.expiry, store.clock
        if expiry is None or clock.watermark_ms or not store.rows:
            return
        is_bare = clock.is_without_watermark(self.data_batches)
        if store.expiry.usual_kind is TimeoutKind.EVENT_TIME and is_bare:
            yield from self.find_timeouts(store)
        if not store.expiry.is_by_watermark:
            return
        if clock.watermark_ms is None and clock.doubt:
            yield self.doubt(field=expiry.name, doubt=clock.doubt)
        elif is_bare:
            yield self.rows_wait(
                *store.newest.rows_and_bytes,
                field=expiry.name,
                newest_ms=(store.sum(Ages) or Ages()).newest_ms,
                batches=clock.data_batches,
            )

    def find_timeouts(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: event-time timeouts of a store that wait for a watermark.

        Nothing is yielded if the store has none.
        """
        expiring = store.expiry.expiring
        if expiring is not None and (rows := sum(expiring.rows.values())):
            batches = store.clock.data_batches
            yield self.timeouts_wait(rows, sum(expiring.bytes.values()), batches=batches)

    rows_wait = Case(
        cause="There is no watermark yet, so none of {all:row} can expire by {field}"
        "{newest_ms:newest_time}.",
        evidence="rows go when {field} is at or below the watermark, and the judged batch has none "
        "after {batches:batch} with data",
    )
    timeouts_wait = Case(
        cause="There is no watermark after {batches:batch} with data, so none of {rows:timeout} in "
        "event time can fire: most likely all event times are null.",
        evidence="timeouts in event time fire when the watermark has passed them, and the judged "
        "batch has none after {batches:batch} with data",
        next_step="look at how the column of withWatermark is parsed: a text in another format "
        "than the expected one gives null, and null moves no watermark",
    )
    doubt = Case(
        cause="It is not known if there is a watermark, because an entry of the logs is missing or "
        "in doubt.",
        evidence="rows go when {field} is at or below the watermark, and that of the judged batch "
        "is not known: {doubt}",
        next_step="see the problems of the report for the entry of the log",
        certainty=Certainty.UNDECIDED,
        severity=Severity.INFO,
    )
