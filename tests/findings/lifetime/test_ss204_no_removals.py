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
from tests.attributes import attributes
from tests.cases import KEY_TIME
from tests.store_views import store_view

UNKNOWN = StoreRule(unknown="the condition is not in the checkpoint")
CHANGES = VersionFacts(puts=9, inserts=9, new_rows=9)


def history(first: int = 200, last: int = 1200, versions: int = 7, removed: int = 0) -> list[Any]:
    rows = [first, *[last] * (versions - 1)]
    return [replace(CHANGES, rows=count, removed_rows=removed) for count in rows]


def findings(rule: StoreRule = UNKNOWN, *facts: Any, **options: Any) -> list[Finding]:
    return list(NoRemovals().findings(store_view(rule, *facts, **{"history": history()} | options)))


@pytest.mark.parametrize(
    ("rule", "options", "is_found"),
    [
        (UNKNOWN, {}, True),
        (UNKNOWN, {"history": history(removed=1)}, False),
        (UNKNOWN, {"history": history(versions=4)}, False),
        (UNKNOWN, {"history": history(first=1200)}, False),
        (UNKNOWN, {"history": history(first=1150)}, False),  # by 4 %, and no trend is known
        (UNKNOWN, {"history": history(first=1150), "growing": True}, True),
        (UNKNOWN, {"history": [replace(h, new_rows=0) for h in history()]}, False),
        (replace(UNKNOWN, needs_none=True), {}, False),
        (replace(UNKNOWN, event_time=KEY_TIME), {}, False),
        (StoreRule(expiry=KEY_TIME), {}, False),
    ],
)
def test_growing_store_without_removals_is_reported(
    rule: StoreRule, options: dict[str, Any], *, is_found: bool
) -> None:
    result = findings(rule, **options)
    assert attributes(result, "kind.id") == ["SS204"] * is_found
    for finding in result:
        assert (finding.certainty, finding.severity) == (Certainty.INFERRED, Severity.WARNING)
        assert "rows more than 7 versions before, and none was removed (the condition is not" in (
            finding.evidence
        )
        assert finding.next_step == NoRemovals.next_step


def test_variable_without_ttl_is_named() -> None:
    rule = replace(UNKNOWN, advice="give it a TTL")
    (finding,) = findings(rule, operator_name="transformWithStateExec")
    assert finding.cause == (
        "The variable 'default' has no TTL: it gained 1,000 rows in 7 versions and lost none."
    )
    assert finding.next_step == "give it a TTL"


def test_fired_timers_of_kept_keys_are_the_cause() -> None:
    (finding,) = findings(UNKNOWN, FiredKeys(9, 4))
    assert finding.cause.startswith(
        "Timers of 9 keys came due and are gone, and the variable 'default' kept 4 of these keys: "
    )
    assert finding.evidence.endswith("were due and are gone: they fired, or were deleted")
    (finding,) = findings(UNKNOWN, FiredKeys(9, 0))
    assert finding.cause == "The store gained 1,000 rows in 7 versions and lost none."
