"""SS213: timers past their time still present.

What it means:
    The clock of a batch reached the time of these timers, which an earlier batch had set. Spark
    fires every such timer after the new data of the batch, and deletes it. Below an operator that
    holds the watermark back it is inferred.

How it is proven:
    The time in each timer's key is compared with the clock of each batch after the one that set it.

Source:
    TransformWithStateExec.processTimers, TimerStateImpl.getExpiredTimers (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.leftover_numbers import PAST, leftovers_of, numbers_of
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.rule import RowKind


class DueTimers(Rule[StoreView]):
    """Timers of transformWithState that did not fire."""

    scope = "store"
    id = "SS213"
    title = "timers past their time still present"
    severity = Severity.WARNING
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "numExpiredTimers"
    next_step = (
        "find out what else writes to this checkpoint and whether the query ever ran with classes "
        "other than Spark's; inspector leftovers lists the timers"
    )
    command = "leftovers"

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield evidence of the timers of transformWithState whose time has come."""
        for total in leftovers_of(store, RowKind.TIMER, *PAST):
            numbers = numbers_of(store, total, self.severity)
            yield self.due(total.rows, total.row_bytes, **numbers)

    due = Case(
        cause="The time of {rows:timer} has come, and Spark has neither fired nor deleted "
        "{rows:/it}.",
        evidence="a batch ran whose clock had reached {rows:timer} that {rows:/is} still there, "
        "the oldest since {since}{details:brackets}",
        next_step="{advice}",
    )
