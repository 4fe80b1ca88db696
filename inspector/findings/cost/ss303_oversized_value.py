"""SS303: oversized value.

What it means:
    The largest values are many times larger than the usual one: a list, a set or a sketch that
    grows with every row of its key. Each update writes and copies such a value whole.

How it is proven:
    The size of every value of the judged version is measured; the median is over all of them.

Source:
    HDFSBackedStateStoreProvider.put (2.3 to 4.3): a value is one UnsafeRow, written whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_SHARE, VALUE_BYTES, Threshold
from inspector.findings.views.store_view import StoreView


class OversizedValue(Rule[StoreView]):
    """Values far larger than the median, or one with most bytes of its store."""

    scope = "store"
    id = "SS303"
    title = "oversized value"
    severity = Severity.INFO
    spark = "GroupState.update"
    next_step = (
        "see inspector top for the keys and inspector sizes --by field for the columns; bound the "
        "list, keep a count or a sketch in its place, or split the key"
    )
    command = "top"
    concerns = Concerns.REWRITTEN_ROWS

    value_ratio = Threshold(100.0, "times", "Bytes of the largest value over the median value.")
    value_bytes = VALUE_BYTES
    hot_share = HOT_SHARE
    outlier_share = Threshold(0.2, "share", "Share of a store's bytes that one outlier has.")
    outlier_ratio = Threshold(20.0, "times", "Bytes of such an outlier over the median value.")
    value_rows = Threshold(10, "rows", "Rows of a store of which one can be said to hold most.")
    few_share = Threshold(0.75, "share", "The same of a store with 3 rows or more, but fewer.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield the large values of a store."""
        total, sizes = store.sizes.total, store.sizes.total.value_sizes
        largest, median = sizes.max, sizes.quantile(0.5)
        if largest is None or not median or largest < self.value_bytes:
            return
        values = sum(size * count for size, count in sizes.counts.items())
        share, times = largest / max(total.row_bytes, values), largest / median
        is_outlier = share >= self.outlier_share and times >= self.outlier_ratio
        has_most = share >= self.hot_share or (is_outlier and times < self.value_ratio)
        is_few = total.rows < self.value_rows
        is_hot = has_most and (not is_few or (total.rows > 2 and share >= self.few_share))
        if not is_hot and times < self.value_ratio:
            return
        # All values that are as far from the usual one, not the largest alone.
        least = max(self.value_bytes, min(largest, self.value_ratio * median))
        large = {size: count for size, count in sizes.counts.items() if size >= least}
        case = self.one_key if is_hot else self.several
        yield case(
            sum(large.values()),
            sum(size * count for size, count in large.items()),
            share=share,
            largest=largest,
            median=median,
            times=times,
            key=store.sizes.largest_key,
            buffers=store.sizes.buffers,
            partition=store.sizes.partition_of_value(largest),
        )

    _EVIDENCE = (
        "the largest value has {largest:byte}, {times:number} times the median of {median:byte}; "
        "it is in partition {partition}; {rows:value} of {all:number} {rows:/is} as far from the "
        "median"
    )
    one_key = Case(
        cause="One key holds {share:percent} of the bytes{key:brackets}: its value has "
        "{largest:bytes}, {times:number} times the median{buffers:brackets}.",
        evidence=_EVIDENCE,
        hides=("SS308", "SS313"),
    )
    several = Case(
        cause="The state has {rows:value} far larger than the others: the largest has "
        "{largest:bytes}, {times:number} times the median{buffers:brackets}{key:brackets}.",
        evidence=_EVIDENCE,
        hides=("SS313",),
    )
