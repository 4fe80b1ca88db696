"""SS210: keys that may be leftovers: the bytes do not decide it.

What it means:
    The bytes allow both that a timeout left keys behind, and that a call for data did. Or the
    watermark has passed rows, or timers, that stay: Spark removes those in the same batch, so most
    likely no watermark reaches the operator. It is a warning if no clock lets a key of the store
    go.

How it is proven:
    None that decides. The tables `undecided` and `undecided_keys` say what would decide it.

Source:
    FlatMapGroupsWithStateExec (2.4 to 4.3), FlatMapGroupsInPandasWithStateExec (3.4 to 4.3),
    WatermarkPropagator (3.5 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Severity
from inspector.findings.lifetime.ss201_never_expires import NeverExpires
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import DATA_BATCHES
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import RowKind
from inspector.quantities import count_text


class UndecidedKeys(Rule[StoreView]):
    """Keys that may be stuck; a key with a new timer is judged again when that runs out."""

    scope = "store"
    id = "SS210"
    title = "keys that may be leftovers: the bytes do not decide it"
    severity = Severity.INFO
    certainties = (Certainty.UNDECIDED,)
    spark = "GroupState"
    next_step = (
        "see the table undecided of inspector leftovers: often --timeout-kind, or a longer "
        "history (spark.sql.streaming.minBatchesToRetain), decides. Of passed rows: look whether "
        "withWatermark stands on the branch that leads to the operator"
    )
    command = "leftovers"

    data_batches = DATA_BATCHES

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the keys of a store that may be leftovers or not."""
        totals = [*self.open_totals(store)]
        provable = store.facts.provable(store.name)
        if not totals:
            return
        yield self.case_of(store, totals)(
            sum(total.rows for total in totals),
            sum(total.row_bytes for total in totals),
            reasons="; ".join(sorted({total.reason or "" for total in totals})),
            batches=store.clock.data_batches,
            usual=self.next_step,
            options=[
                f"if the query uses {kind.value}-time timeouts, --timeout-kind {kind.value} proves "
                f"{count_text(keys, 'key')} to be left behind"
                for kind, keys in provable.items()
            ],
        )

    def open_totals(self, store: StoreView) -> Iterator[LeftoverCount]:
        """Yield the counts of undecided leftovers that no other finding reports.

        Keys with a new timer are yielded only if a timeout left the state of some unchanged.
        """
        is_reported = any(NeverExpires(self.values).find_without_timeout(store))  # SS201
        for total in store.expiry.leftovers:
            is_rearmed = total.leftover_class is LeftoverClass.REARMED
            is_open = total.rows and total.certainty is Certainty.UNDECIDED
            is_seen = is_reported and total.before_window
            if is_open and not is_seen and (not is_rearmed or total.untouched):
                yield total

    def case_of(self, store: StoreView, totals: Sequence[LeftoverCount]) -> Case:
        """Return the case of the undecided leftovers ``totals`` of a store.

        It is ``by_either_clock`` if no clock removes any key. Otherwise it is ``timers`` for
        timers, ``passed_rows`` for rows that the watermark has passed, and ``timeouts`` for the
        rest.
        """
        # By processing time each is proven to be left behind. By event time no timer can fire while
        # the watermark is 0 (premise due-by-clock).
        proven = store.facts.provable(store.name).get(TimeoutKind.PROCESSING_TIME, 0)
        is_bare = store.clock.is_without_watermark(self.data_batches)
        if 0 < store.rows <= proven and not store.history.removals and is_bare:
            return self.by_either_clock
        if store.rule.row_kind is RowKind.TIMER:
            return self.timers
        is_passed = all(t.leftover_class is LeftoverClass.PAST_WATERMARK for t in totals)
        return self.passed_rows if is_passed else self.timeouts

    by_either_clock = Case(
        cause="The store holds {all:key}, and no timeout removes {all:/it}, whether the timeouts "
        "follow processing time or event time.",
        evidence="{rows:key}: {reasons}; by processing time all are left behind, and "
        "by event time none can expire, as the judged batch has no watermark after "
        "{batches:batch} with data",
        next_step="{usual}{options:more}",
        severity=Severity.WARNING,
    )
    timers = Case(
        cause="The time of {rows:timer} has come, and the next batch will show if Spark fires "
        "{rows:/it}.",
        evidence="{rows:timer}: {reasons}",
        next_step="{usual}{options:more}",
    )
    passed_rows = Case(
        cause="The watermark of the query has passed {rows:key}, and the files do not show whether "
        "it reaches the operator.",
        evidence="{rows:key}: {reasons}",
        next_step="{usual}{options:more}",
    )
    timeouts = Case(
        cause="The files do not show whether a timeout left {rows:key} behind.",
        evidence="{rows:key}: {reasons}",
        next_step="{usual}{options:more}",
    )
