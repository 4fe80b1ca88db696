"""SS204: no removes while rows grow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.variable_entries import FiredKeys
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss204_no_removals import NoRemovals
from inspector.model import Certainty
from inspector.operators.rule import StoreRule
from tests.cases import KEY_TIME
from tests.store_views import store_view

UNKNOWN = StoreRule(unknown="the condition is not in the checkpoint")


def history(first: int = 200, versions: int = 7, removed: int = 0, new_rows: int = 9) -> list[Any]:
    """Return the facts of a first version with some rows, and of others with 1,200 rows."""
    newer = VersionFacts(rows=1200, puts=9, inserts=9, new_rows=new_rows, removed_rows=removed)
    return [replace(newer, rows=first), *[newer] * (versions - 1)]


def findings(rule: StoreRule = UNKNOWN, *facts: Any, **options: Any) -> list[Finding]:
    return list(NoRemovals().findings(store_view(rule, *facts, **{"history": history()} | options)))


@pytest.mark.parametrize("options", [{}, {"history": history(first=1150), "growing": True}])
def test_growing_store_without_removals_is_reported(options: dict[str, Any]) -> None:
    (finding,) = findings(UNKNOWN, **options)
    assert (finding.certainty, finding.severity) == (Certainty.INFERRED, Severity.WARNING)
    assert "rows more than 7 versions before, and none was removed (the condition is not" in (
        finding.evidence
    )
    assert finding.next_step == NoRemovals.next_step


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (UNKNOWN, {"history": history(removed=1)}),
        (UNKNOWN, {"history": history(versions=4)}),
        (UNKNOWN, {"history": history(first=1200)}),
        (UNKNOWN, {"history": history(first=1150)}),  # grows by 4 %, and no trend is known
        (UNKNOWN, {"history": history(new_rows=0)}),
        (replace(UNKNOWN, needs_none=True), {}),
        (replace(UNKNOWN, event_time=KEY_TIME), {}),
        (StoreRule(expiry=KEY_TIME), {}),
    ],
)
def test_store_with_removals_or_without_growth_has_no_finding(
    rule: StoreRule, options: dict[str, Any]
) -> None:
    assert findings(rule, **options) == []


def test_variable_without_ttl_is_named() -> None:
    rule = replace(UNKNOWN, advice="give it a TTL")
    (finding,) = findings(rule, operator_name="transformWithStateExec")
    assert finding.cause == (
        "The variable 'default' has no TTL: it gained 1,000 rows in 7 versions and lost none."
    )
    assert finding.next_step == "give it a TTL"


@pytest.mark.parametrize(
    ("operator_name", "advice"),
    [("transformWithStateExec", ""), ("flatMapGroupsWithState", "set a timeout")],
)
def test_store_without_ttl_advice_is_no_variable(operator_name: str, advice: str) -> None:
    (finding,) = findings(replace(UNKNOWN, advice=advice), operator_name=operator_name)
    assert finding.cause == "The store gained 1,000 rows in 7 versions and lost none."


def test_fired_timers_of_kept_keys_are_the_cause() -> None:
    (finding,) = findings(UNKNOWN, FiredKeys(9, 4))
    assert finding.cause.startswith(
        "Timers of 9 keys came due and are gone, and the variable 'default' kept 4 of these keys: "
    )
    assert finding.evidence.endswith("were due and are gone: they fired, or were deleted")
    (finding,) = findings(UNKNOWN, FiredKeys(9, 0))
    assert finding.cause == "The store gained 1,000 rows in 7 versions and lost none."
