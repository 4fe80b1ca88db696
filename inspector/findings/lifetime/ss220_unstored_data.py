"""SS220: data arrives that is not stored.

What it means:
    An aggregation, a session window, a join or a limit stored nothing, though every source brought
    data: such operators store each record that is in time. With `multipleWatermarkPolicy=max` the
    fastest source sets the watermark, and rows of slower ones are late.

How it is proven:
    The log shows which sources moved, and the versions that none put a row. Why is inferred
    (inference `late-rows`).

Source:
    StreamingGlobalLimitExec, WatermarkSupport.watermarkPredicateForDataForLateEvents,
    WatermarkTracker (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.event_times import newest_times
from inspector.findings.views.late_rows import LATE_ROWS, late_batches
from inspector.findings.views.store_view import StoreView
from inspector.model import BatchId, Certainty
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.global_limit import NAMES as LIMIT
from inspector.operators.join import COUNT_STORES
from inspector.operators.join import NAMES as JOIN
from inspector.operators.session_window import NAMES as SESSION
from inspector.quantities import duration_text


class UnstoredData(Rule[CheckpointView]):
    """Data that arrives and that no store keeps."""

    scope = "checkpoint"
    id = "SS220"
    title = "data arrives that is not stored"
    severity = Severity.INFO
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "numRowsDroppedByWatermark"
    next_step = (
        "compare the event times with the watermark, and look at the filters before the operator; "
        "start a query whose limit is reached anew, or stop it"
    )

    window_versions = WINDOW_VERSIONS

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield the rows that the fastest source leaves behind, and stores that get no rows.

        Stores are judged only if the query has a single operator.
        """
        yield from self.find_policy(view)
        # A query of several operators may drop the records in another one.
        for store in view.stores if len(view.checkpoint.query) == 1 else ():
            yield from self.find_stores_without_puts(store)

    def find_policy(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield late rows of a query whose watermark is that of the fastest of several sources.

        That is the multiple-watermark policy ``max``. Without late rows the possibility is yielded,
        if there is a watermark. Nothing is yielded for another policy or fewer than two sources.
        """
        sources = len(view.sources.get(BatchId(view.version - 1), ()))
        if not view.clock.is_by_fastest or sources < 2:
            return
        late = max(late_batches(view.facts), key=lambda rows: rows.late, default=None)
        delays_ms, clocks = view.clock.delays_ms, view.clock.batches.values()
        if late is not None:
            yield self.late_rows(
                severity=LATE_ROWS,
                late=late.late,
                put=late.rows,
                batch=late.batch,
                behind_ms=late.least_ms,
            )
        elif newest_times(view) and any(clock.watermark_ms for clock in clocks):
            known = f"a delay of {duration_text(delays_ms[0])}" if delays_ms else "its delay"
            yield self.policy(sources=sources, delay=known)

    def find_stores_without_puts(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: a store without a put in many batches that brought data.

        Only operators that write each record are judged. ``window_versions`` batches are many.
        """
        name = store.operator_name
        last = store.clock.at(max(store.versions, default=0))
        # A watermark in the future is SS211.
        is_ahead = last is not None and (last.watermark_ms or 0) > (last.timestamp_ms or 0)
        writes_all = name in (*AGGREGATIONS, *SESSION, *JOIN, *LIMIT)
        if not writes_all or store.store_name in COUNT_STORES or is_ahead:
            return
        batches, since = batches_without_puts(store)
        if batches >= self.window_versions:
            case = self.limit if name in LIMIT else self.nothing_stored
            side = f"the join's {store.store_name.partition('-')[0]} side"
            subject = side if name in JOIN else "the operator"
            yield case(batches=batches, since=since, subject=store, where=subject)

    late_rows = Case(
        cause="By multipleWatermarkPolicy=max the fastest source sets the watermark: rows like "
        "{late:number} of the {put:row} of batch {batch}, {behind_ms:duration} or more behind it, "
        "are dropped as late since.",
        evidence="{late:number} of the {put:row} of batch {batch} were {behind_ms:duration} or "
        "more behind the watermark that the batch made, and none half as far; "
        "spark.sql.streaming.multipleWatermarkPolicy is max",
        next_step="set spark.sql.streaming.multipleWatermarkPolicy to min (a new checkpoint is "
        "needed), or make the delay of withWatermark longer than the slower source is late",
        certainty=Certainty.INFERRED,
    )
    policy = Case(
        cause="By multipleWatermarkPolicy=max the fastest of {sources:source} sets the watermark, "
        "if each has its own: rows of the others more than {delay} behind it are dropped as late.",
        evidence="spark.sql.streaming.multipleWatermarkPolicy is max, and the query has "
        "{sources:source}",
        next_step="nothing, if no source is later than that (numRowsDroppedByWatermark stays 0); "
        "else set spark.sql.streaming.multipleWatermarkPolicy to min, with a new checkpoint",
        certainty=Certainty.INFERRED,
    )
    limit = Case(
        cause="Most likely the limit is reached, so that the query emits nothing more: no row was "
        "counted{since:since_batch} in {batches:batch} with data.",
        evidence="no row was put{since:since_batch} into the store, through the newest "
        "{batches:batch} with data of every source",
    )
    nothing_stored = Case(
        cause="No row of {where} was stored{since:since_batch} in {batches:batch} with data: the "
        "rows are too late for the watermark, have no event time, or are dropped before the "
        "operator.",
        evidence="no row was put{since:since_batch} into the store, through the newest "
        "{batches:batch} with data of every source",
    )


def batches_without_puts(store: StoreView) -> tuple[int, int | None]:
    """Return (number of newest batches with data of every source and without a put, last batch).

    The second number is the batch of the last put; None if the versions do not show it.
    """
    batches = 0
    for version, changes in sorted(store.versions.items(), reverse=True):
        if changes.puts or changes.rebased:
            return batches, version - 1 if changes.puts else None
        sources = store.whole.sources.get(BatchId(version - 1), ())
        batches += bool(sources) and all(source.moved for source in sources)
    return batches, None
