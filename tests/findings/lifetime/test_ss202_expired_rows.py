"""SS202: expired rows still present."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss202_expired_rows import ExpiredRows
from inspector.model import Certainty
from inspector.operators.rule import RowKind, StoreRule
from tests.cases import KEY_TIME
from tests.store_views import leftover_view

PROVEN, INFERRED, UNDECIDED = Certainty
RULE = StoreRule(expiry=KEY_TIME, advice="use append mode")
PASSED = LeftoverCount(
    LeftoverClass.PAST_WATERMARK, INFERRED, 9, rows=3, key_bytes=80, value_bytes=160, fired=0
)


def findings(
    *totals: LeftoverCount,
    rule: StoreRule = RULE,
    removed: int = 0,
    operator: str = "stateStoreSave",
) -> list[Finding]:
    history = [VersionFacts(rows=9, removed_rows=removed)]
    view = leftover_view(rule, *totals, history=history, operator_name=operator)
    return list(ExpiredRows().findings(view))


@pytest.mark.parametrize(
    ("certainty", "removed", "operator", "is_complete"),
    [
        (INFERRED, 0, "stateStoreSave", True),
        (INFERRED, 1, "stateStoreSave", False),
        (INFERRED, 1, "sessionWindowStateStoreSaveExec", True),  # sessions that were merged
        (PROVEN, 0, "stateStoreSave", False),
    ],
)
def test_rows_passed_by_watermark_are_reported(
    certainty: Certainty, removed: int, operator: str, *, is_complete: bool
) -> None:
    total = replace(PASSED, certainty=certainty)
    (finding,) = findings(total, removed=removed, operator=operator)
    assert (finding.kind.id, finding.severity) == ("SS202", Severity.WARNING)
    assert (finding.certainty, finding.rows, finding.bytes) == (certainty, 3, 240)
    assert ("as complete output mode keeps every group" in finding.cause) is is_complete
    assert finding.evidence.endswith("still there, the oldest since batch 8")


def test_rows_past_processing_time_are_reported() -> None:
    (finding,) = findings(
        replace(PASSED, leftover_class=LeftoverClass.PAST_PROCESSING_TIME, rows=1)
    )
    assert finding.cause == "The time to remove 1 row has come, and the state still has it."


def test_next_step_has_advice_of_rule_before_copy_command() -> None:
    (finding,) = findings(replace(PASSED, certainty=PROVEN), operator="dedupe")
    assert finding.next_step.startswith("use append mode. A copy can leave out the rows that are ")
    assert finding.next_step.endswith("copy PATH NEW --evict leftovers --plan")
    (finding,) = findings(PASSED, rule=replace(RULE, advice=""), operator="dedupe")
    assert finding.next_step.startswith("inspector leftovers lists the keys. A copy can ")
    assert finding.next_step.endswith("--evict leftovers --certainty inferred --plan")


@pytest.mark.parametrize(
    "total",
    [
        replace(PASSED, rows=0),
        replace(PASSED, certainty=UNDECIDED),
        replace(PASSED, leftover_class=LeftoverClass.REARMED),
    ],
)
def test_undecided_and_other_leftovers_have_no_finding(total: LeftoverCount) -> None:
    assert findings(total) == []
    assert findings(PASSED, rule=replace(RULE, row_kind=RowKind.TIMER)) == []
