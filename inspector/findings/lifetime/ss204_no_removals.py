"""SS204: no removes while rows grow.

What it means:
    The store has more rows than when the window began, none was removed, and neither the checkpoint
    nor an option gives a rule.

How it is proven:
    Rows and removals of every version are counted.

Source:
    StateOperatorProgress.numRowsRemoved (3.2 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.variable_entries import FiredKeys
from inspector.findings.finding import Severity, Weight
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.transform_with_state import NAMES as PROCESSORS


class NoRemovals(Rule[StoreView]):
    """Rows that only become more, where no known rule says if they should."""

    scope = "store"
    id = "SS204"
    title = "no removes while rows grow"
    severity = Severity.WARNING
    weight = Weight.SYMPTOM
    certainties = (Certainty.INFERRED,)
    spark = "numRowsRemoved"
    next_step = (
        "if you know when its rows should be removed, say so with --operator-rule, such as "
        "'0=key.window<=watermark'; then those that stayed too long are found"
    )

    window_versions = WINDOW_VERSIONS
    few_rows = Threshold(0.05, "share", "Share of the rows that are new, if no trend is known.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the store, if its rows only become more and no rule is known.

        Nothing is yielded for stores that need no rule.
        """
        rule, grown = store.rule, store.rows - store.history.first.rows
        is_known = any(known is not None for known in (rule.expiry, rule.never, rule.event_time))
        if is_known or rule.needs_none or not self.only_grows(store, grown):
            return
        fired = store.sum(FiredKeys) or FiredKeys()
        is_variable = store.operator_name in PROCESSORS and bool(rule.advice)
        case = self.after_timers if fired.kept else self.grows
        yield (self.variable if is_variable and not fired.kept else case)(
            *store.newest.rows_and_bytes,
            grown=grown,
            unknown=rule.unknown,
            keys=fired.keys,
            kept=fired.kept,
            advice=rule.advice or self.next_step,
        )

    def only_grows(self, store: StoreView, grown: int) -> bool:
        """Return True if rows were added through a long history, and none was removed.

        ``grown`` is the number of rows more than in the oldest version. Returns False if few rows
        were added and the store is not known to grow, or if no new key came lately.
        """
        history = store.history
        is_short = history.window < self.window_versions or history.is_quiet(self.window_versions)
        is_few = history.is_growing is not True and grown <= self.few_rows * store.rows
        return grown > 0 and not (history.removals or is_short or is_few)

    grows = Case(
        cause="The store gained {grown:row} in {window:version} and lost none.",
        evidence="{grown:row} more than {window:version} before, and none was removed ({unknown})",
        next_step="{advice}",
    )
    variable = Case(
        cause="The variable {store:quoted} has no TTL: it gained {grown:row} in {window:version} "
        "and lost none.",
        evidence="{grown:row} more than {window:version} before, and none was removed ({unknown})",
        next_step="{advice}",
    )
    after_timers = Case(
        cause="Timers of {keys:key} came due and are gone, and the variable {store:quoted} kept "
        "{kept:number} of these keys: it gained {grown:row} in {window:version} and lost none.",
        evidence="{grown:row} more than {window:version} before, and none was removed ({unknown}); "
        "the timers of {keys:key} were due and are gone: they fired, or were deleted",
        next_step="{advice}",
    )
