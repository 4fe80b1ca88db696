"""SS212: values past their TTL still present."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss212_expired_values import ExpiredValues
from inspector.model import Certainty
from inspector.operators.rule import RowKind, StoreRule
from tests.cases import KEY_TIME
from tests.store_views import leftover_view

RULE = StoreRule(expiry=KEY_TIME, row_kind=RowKind.TTL_VALUE)
TWO = LeftoverCount(
    *(LeftoverClass.PAST_PROCESSING_TIME, Certainty.PROVEN, 5),
    rows=2,
    key_bytes=80,
    value_bytes=160,
    fired=0,
)


def findings(*totals: LeftoverCount, rule: StoreRule = RULE) -> list[Finding]:
    view = leftover_view(rule, *totals, operator_name="transformWithStateExec")
    return list(ExpiredValues().findings(view))


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (2, "The TTL of 2 values has run out, and Spark has not removed them."),
        (1, "The TTL of 1 value has run out, and Spark has not removed it."),
    ],
)
def test_values_with_expired_ttl_are_reported(rows: int, cause: str) -> None:
    (finding,) = findings(replace(TWO, rows=rows))
    assert (finding.kind.id, finding.severity) == ("SS212", Severity.WARNING)
    assert (finding.certainty, finding.rows, finding.bytes) == (Certainty.PROVEN, rows, 240)
    assert finding.cause == cause
    assert finding.evidence.endswith("still there, the oldest since batch 4")


def test_undecided_rows_and_rows_without_ttl_have_no_finding() -> None:
    assert findings(replace(TWO, certainty=Certainty.UNDECIDED)) == []
    assert findings(TWO, rule=StoreRule(expiry=KEY_TIME)) == []
    assert findings() == []
