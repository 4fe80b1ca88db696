"""SS212: values past their TTL still present.

What it means:
    The TTL of these values ran out by the clock of a batch that ran, and they are still there.
    Spark removes such values at the end of every batch, but only of variables that the processor
    declares in that run; the first batch of a run that declares it again removes them.

How it is proven:
    The `ttlExpirationMs` of each value is compared with the processing time of each batch since it
    was put.

Source:
    StatefulProcessorHandleImpl.doTtlCleanup, TTLState.ttlEvictionIterator, OneToOneTTLState,
    OneToManyTTLState (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.leftover_numbers import PAST, leftovers_of, numbers_of
from inspector.findings.views.store_view import StoreView
from inspector.operators.rule import RowKind


class ExpiredValues(Rule[StoreView]):
    """Values with a TTL that Spark did not remove."""

    scope = "store"
    id = "SS212"
    title = "values past their TTL still present"
    severity = Severity.WARNING
    spark = "numValuesRemovedDueToTTLExpiry"
    next_step = (
        "call handle.deleteIfExists for a variable that is not needed any more, in the init of the "
        "processor, or declare it again"
    )
    command = "leftovers"

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield evidence of the values of a state variable whose TTL has run out."""
        for total in leftovers_of(store, RowKind.TTL_VALUE, *PAST):
            numbers = numbers_of(store, total, self.severity)
            yield self.expired(total.rows, total.row_bytes, **numbers)

    expired = Case(
        cause="The TTL of {rows:value} has run out, and Spark has not removed {rows:/it}.",
        evidence="a batch ran after the TTL of {rows:value} that {rows:/is} still there, the "
        "oldest since {since}{details:brackets}",
        next_step="{advice}",
    )
