"""SS309: each event in many rows.

What it means:
    Sliding windows overlap: the state has a row for each window of an event, and each key. Or
    explode, flatMap or a join makes many rows of a record before the operator.

How it is proven:
    The length of a window is read from its key, and the slide from the ends of live windows.

Source:
    TimeWindowResolution (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty


class FanOut(Rule[StoreView]):
    """Events that are written to very many rows each."""

    scope = "store"
    id = "SS309"
    title = "each event in many rows"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "window"
    next_step = (
        "use a longer slide or a shorter window; or aggregate by tumbling windows of the slide's "
        "duration and add those up downstream"
    )
    command = "rows"
    hides = ("SS217",)  # in windows that overlap much, each event makes many keys by design

    windows_per_event = Threshold(24, "windows", "Windows that an event is written to.")
    rows_per_record = Threshold(
        10.0, "rows", "Rows that a record of the sources makes in each window."
    )

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: windows of an event, or rows of a record, if very many."""
        windows = store.keys.windows
        overlap = 1 if windows is None else windows.length_ms // windows.slide_ms
        rows_and_bytes = store.sizes.total.rows_and_bytes
        if windows is not None and overlap >= self.windows_per_event:
            yield self.windows(
                *rows_and_bytes,
                overlap=overlap,
                length=windows.length_ms,
                slide=windows.slide_ms,
            )
            return
        # There are more rows of a record than windows that it is in.
        written, records = store.keys.rows_and_records
        if written >= max(1, self.rows_per_record * overlap * records):
            yield self.records(
                *rows_and_bytes, written=written, records=records, each=written / records
            )

    windows = Case(
        cause="Each event is written to {overlap:number} windows, which are {length:exact} long "
        "and begin every {slide:exact}.",
        evidence="windows are {length:exact} long, and begin every {slide:exact}: "
        "{overlap:number} of them overlap at any time",
    )
    records = Case(
        cause="Each input record is written to ~{each:number} rows of the state: look at explode, "
        "flatMap and joins before the operator.",
        evidence="{written:row} were written for {records:record} that the sources brought",
        next_step="aggregate or deduplicate before the explode or the join, or keep the array in "
        "one row",
    )
