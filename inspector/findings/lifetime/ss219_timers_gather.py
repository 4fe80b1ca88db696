"""SS219: timers that gather.

What it means:
    Timers were registered in the history, and none fired or was deleted; or keys have very many. A
    processor that registers a timer for each event, and never deletes the one before, has as many
    timers as events.

How it is proven:
    The timers and their keys are counted.

Source:
    StatefulProcessorHandleImpl.registerTimer, TimerStateImpl (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.variable_entries import TimersWithoutState
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import UNIQUE_PUTS, WINDOW_VERSIONS, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty


class TimersGather(Rule[StoreView]):
    """Several timers of each key, of which none ends, or very many."""

    scope = "store"
    id = "SS219"
    title = "timers that gather"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "StatefulProcessorHandle.registerTimer"
    next_step = (
        "delete the key's timers (listTimers, deleteTimer) before registerTimer, or register one "
        "only if the key has none; compare their expiry times with the clock"
    )

    timers_per_key = Threshold(3.0, "timers", "Timers per key if none fired or was deleted.")
    many_timers_per_key = Threshold(10.0, "timers", "Timers per key if some fired or were deleted.")
    unique_puts = UNIQUE_PUTS
    window_versions = WINDOW_VERSIONS

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the timers of a store, if keys have several on average.

        The limit per key is higher if timers fired or were deleted in the window.
        """
        timers, history = store.sum(TimersWithoutState), store.history
        if timers is None or not history.inserts or history.window < self.window_versions:
            return
        usual = self.many_timers_per_key if history.removals else self.timers_per_key
        if timers.timers >= max(self.unique_puts, usual * timers.owners):
            case = self.many if history.removals else self.none_ended
            each = timers.timers / timers.owners
            yield case(timers.timers, store.newest.row_bytes, keys=timers.owners, each=each)

    none_ended = Case(
        cause="Timers only gather: {rows:timer} for {keys:key}, and none fired or was deleted in "
        "{window:version}.",
        evidence="{rows:timer} of {keys:key}, {each:number} each; {inserts:number} were registered "
        "in {window:version}, and none fired or was deleted",
    )
    many = Case(
        cause="Keys have ~{each:number} timers each, {rows:timer} for {keys:key}: {inserts:number} "
        "were registered in {window:version}, and {removals:number} fired or deleted.",
        evidence="{rows:timer} of {keys:key}, {each:number} each; {inserts:number} were registered "
        "in {window:version}, and {removals:number} fired or deleted",
    )
