"""SS214: timers of keys without state.

What it means:
    Timers are set for keys that have no value in any state variable: the processor cleared the
    state and left the timer. A processor may do that on purpose.

How it is proven:
    The grouping key of each timer is looked up among those of all variables.

Source:
    TimerStateImpl, StatefulProcessorHandleImpl.deleteTimer (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.variable_entries import TimersWithoutState
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.store_view import StoreView


class StatelessTimers(Rule[StoreView]):
    """Timers whose key has no value in any state variable."""

    scope = "store"
    id = "SS214"
    title = "timers of keys without state"
    severity = Severity.INFO
    spark = "StatefulProcessorHandle.deleteTimer"
    next_step = (
        "call handle.deleteTimer for the timers of handle.listTimers where the state is cleared"
    )
    command = "rows"

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the timers whose key has no value in any state variable."""
        timers = store.sum(TimersWithoutState)
        if timers is not None and timers.without:
            yield self.stateless(
                timers.without, timers.without_bytes, keys=timers.keys, timers=timers.timers
            )

    stateless = Case(
        cause="Spark will fire {rows:timer} for {keys:key} without any state.",
        evidence="{rows:timer} of {timers:number}: {keys:key} without a value in any state "
        "variable",
    )
