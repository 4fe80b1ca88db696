"""SS302: partition skew.

What it means:
    One partition has far more rows than the others.

How it is proven:
    The rows of every partition are counted. If one key has most, SS307 is reported.

Source:
    StatefulOperatorPartitioning, HashPartitioning (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median_low

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.store_view import StoreView


class PartitionSkew(Rule[StoreView]):
    """A partition with far more rows than those of the smaller half."""

    scope = "store"
    id = "SS302"
    title = "partition skew"
    severity = Severity.INFO
    spark = "spark.sql.shuffle.partitions"
    next_step = (
        "see inspector top for the partition's keys; split a key with very many rows by a salt, "
        "or filter it (null and default values are frequent ones)"
    )
    command = "top"

    skew_ratio = Threshold(3.0, "times", "Rows of the largest partition over the median.")
    skew_rows = Threshold(100, "rows", "Rows of the largest partition; fewer are uneven by chance.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the largest partition of a store, if far above the others.

        It must have ``skew_rows`` rows and ``skew_ratio`` times the lower median. Operators that
        run in a single partition have none.
        """
        partitions = store.sizes.partitions
        if store.operator.single_partition or len(partitions) < 2:
            return
        # The lower median: of two partitions the median itself is never far below the larger.
        half = median_low(facts.rows for facts in partitions.values())
        largest = max(sorted(partitions), key=lambda number: partitions[number].rows)
        facts = partitions[largest]
        if facts.rows < max(self.skew_rows, self.skew_ratio * half):
            return
        yield self.skewed(
            *facts.rows_and_bytes,
            partition=largest,
            partitions=len(partitions),
            share=facts.rows / store.sizes.total.rows,
            half=half,
        )

    skewed = Case(
        cause="The state is skewed: partition {partition} of {partitions} holds {share:percent} "
        "of its rows.",
        evidence="partition {partition} has {rows:row} ({share:percent} of all); half of the "
        "{partitions} partitions have at most {half:row} each",
    )
