"""SS226: rows that wait for the next batch.

What it means:
    A batch removes rows by the watermark that the batch before it made. Spark runs a batch without
    new data for them, but not with Trigger.Once, nor with
    spark.sql.streaming.noDataMicroBatches.enabled off.

How it is proven:
    The rows are compared with the watermark that their batch made, and no batch without new data is
    in `offsets`.

Source:
    MicroBatchExecution.constructNextBatch, SingleBatchExecutor, MultiBatchExecutor (3.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import DATA_BATCHES, FAR_HOURS, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty

HOUR_MS = 3_600_000  # milliseconds of an hour


class WaitingRows(Rule[StoreView]):
    """Rows that the watermark of the newest batch has passed, with no batch after it."""

    scope = "store"
    id = "SS226"
    title = "rows that wait for the next batch"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "Trigger.AvailableNow"
    next_step = (
        "run with Trigger.AvailableNow, which ends with a batch without data, in place of "
        "Trigger.Once; leave spark.sql.streaming.noDataMicroBatches.enabled on, or run more often"
    )

    data_batches = DATA_BATCHES
    far_hours = FAR_HOURS
    waiting_share = Threshold(0.5, "share", "Share of a store's rows that wait.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the rows that the watermark of the next batch will remove.

        They must be the share ``waiting_share`` of the store's rows. The next watermark must be
        ``far_hours`` ahead of the present one, and the store must have no leftovers.
        """
        expiring, now_ms = store.expiry.expiring, store.expiry.now_ms
        next_ms = self.next_watermark_ms(store)
        if expiring is None or not store.expiry.is_by_watermark or not now_ms or not next_ms:
            return
        buckets = expiring.rows.items()
        rows = sum(n for bucket, n in buckets if (bucket + 1) * expiring.width <= next_ms)
        is_short = next_ms - now_ms < self.far_hours * HOUR_MS
        if not is_short and rows >= self.waiting_share * store.rows and not store.expiry.leftovers:
            yield self.waiting(waiting=rows, next_ms=next_ms)

    def next_watermark_ms(self, store: StoreView) -> int | None:
        """Return the watermark that the judged batch made, in epoch ms; None if it is unknown.

        None, too, if a batch in the log after the first had no new data, or if fewer than
        ``data_batches`` of these are known.
        """
        batch = store.clock.batch
        if batch is None:
            return None
        clocks = sorted(store.clock.batches.items())
        fed = [clock.has_new_data for number, clock in clocks if number <= batch.batch_id][1:]
        return batch.next_watermark_ms if all(fed) and len(fed) >= self.data_batches else None

    waiting = Case(
        cause="The watermark of the next batch removes at least {waiting:number} of {all:row}, and "
        "no batch without new data has ever run: what append mode gives out waits for it.",
        evidence="the judged batch made the watermark {next_ms:moment}, which has passed at least "
        "{waiting:number} of {all:row}",
    )
