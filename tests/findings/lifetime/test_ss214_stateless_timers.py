"""SS214: timers of keys without state."""

from __future__ import annotations

from inspector.facts.variable_entries import TimersWithoutState
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss214_stateless_timers import StatelessTimers
from inspector.operators.rule import StoreRule
from tests.store_views import store_view


def findings(*facts: TimersWithoutState) -> list[Finding]:
    return list(StatelessTimers().findings(store_view(StoreRule(), *facts)))


def test_timers_of_keys_without_state_are_information() -> None:
    (finding,) = findings(TimersWithoutState(9, 3, 120, 2))
    assert (finding.kind.id, finding.severity) == ("SS214", Severity.INFO)
    assert (finding.rows, finding.bytes, finding.certainty.value) == (3, 120, "proven")
    assert finding.evidence == "3 timers of 9: 2 keys without a value in any state variable"
    assert finding.cause == "Spark will fire 3 timers for 2 keys without any state."


def test_timers_of_keys_with_state_have_no_finding() -> None:
    assert findings(TimersWithoutState(9)) == []
    assert findings() == []
