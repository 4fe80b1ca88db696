"""SS213: timers past their time still present."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss213_due_timers import DueTimers
from inspector.model import Certainty
from inspector.operators.rule import RowKind, StoreRule
from tests.cases import KEY_TIME
from tests.store_views import leftover_view

RULE = StoreRule(expiry=KEY_TIME, row_kind=RowKind.TIMER)
TWO = LeftoverCount(
    *(LeftoverClass.PAST_PROCESSING_TIME, Certainty.PROVEN, 5),
    rows=2,
    key_bytes=80,
    value_bytes=160,
    fired=0,
)


def findings(*totals: LeftoverCount, rule: StoreRule = RULE) -> list[Finding]:
    view = leftover_view(rule, *totals, operator_name="transformWithStateExec")
    return list(DueTimers().findings(view))


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (2, "The time of 2 timers has come, and Spark has neither fired nor deleted them."),
        (1, "The time of 1 timer has come, and Spark has neither fired nor deleted it."),
    ],
)
def test_due_timers_that_did_not_fire_are_reported(rows: int, cause: str) -> None:
    (finding,) = findings(replace(TWO, rows=rows))
    assert (finding.kind.id, finding.severity) == ("SS213", Severity.WARNING)
    assert (finding.certainty, finding.rows, finding.bytes) == (Certainty.PROVEN, rows, 240)
    assert finding.cause == cause
    assert finding.evidence.endswith("still there, the oldest since batch 4")


def test_undecided_rows_and_rows_without_timer_have_no_finding() -> None:
    assert findings(replace(TWO, certainty=Certainty.UNDECIDED)) == []
    assert findings(TWO, rule=StoreRule(expiry=KEY_TIME)) == []
    assert findings() == []
