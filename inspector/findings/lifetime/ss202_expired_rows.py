"""SS202: expired rows still present.

What it means:
    The clock of a batch that ran covered these rows, and they are still there. For an aggregation
    or a session window this is complete mode, which keeps every group, or a restart without
    `withWatermark`. Neither is in the checkpoint, so it is inferred. By `--operator-rule` or
    `--join-retention` it is proven.

How it is proven:
    The field of each row is compared with the clock of the batch that made the judged
    version.

Source:
    StateStoreSaveExec, SessionWindowStateStoreSaveExec, WatermarkSupport (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.expired import LeftoverClass
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.leftover_numbers import PAST, leftovers_of, numbers_of
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.rule import RowKind
from inspector.operators.session_window import NAMES as SESSION


class ExpiredRows(Rule[StoreView]):
    """Rows that the clock of a batch covered and that the operator keeps."""

    scope = "store"
    id = "SS202"
    title = "expired rows still present"
    severity = Severity.WARNING
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "outputMode"
    next_step = (
        "use append or update mode and withWatermark where the groups of the past are not needed; "
        "otherwise size the executors for all of them"
    )
    command = "leftovers"

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield evidence of the rows that the watermark or their processing time has passed.

        There is one for each count of leftovers that is proven or inferred.
        """
        # In complete mode, too, sessions that are merged are removed.
        removes = bool(store.history.removals) and store.operator_name not in SESSION
        for total in leftovers_of(store, RowKind.ROW, *PAST):
            is_inferred = total.certainty is Certainty.INFERRED
            case = self.complete_mode if is_inferred and not removes else self.passed
            if total.leftover_class is LeftoverClass.PAST_PROCESSING_TIME:
                case = self.overdue
            numbers = numbers_of(store, total, self.severity)
            yield case(total.rows, total.row_bytes, **numbers)

    complete_mode = Case(
        cause="The watermark has passed {rows:{noun}} that the operator still keeps, as complete "
        "output mode keeps every group.",
        evidence="a batch ran with a watermark that covered {rows:{noun}} that {rows:/is} still "
        "there, the oldest since {since}{details:brackets}",
        next_step="{advice}",
    )
    passed = Case(
        cause="The watermark has passed {rows:{noun}} that the operator still keeps.",
        evidence="a batch ran with a watermark that covered {rows:{noun}} that {rows:/is} still "
        "there, the oldest since {since}{details:brackets}",
        next_step="{advice}",
    )
    overdue = Case(
        cause="The time to remove {rows:{noun}} has come, and the state still has {rows:/it}.",
        evidence="a batch ran after the time of {rows:{noun}} that {rows:/is} still there, the "
        "oldest since {since}{details:brackets}",
        next_step="{advice}",
    )
