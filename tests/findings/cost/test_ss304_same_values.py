"""SS304: same-value rewrites."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from tests.attributes import attributes
from tests.store_views import checkpoint_view, findings_of_stores, store_view


def findings(*history: VersionFacts, operator: str = "dedupe", **thresholds: float) -> list[Any]:
    """Return the findings about a store with a history."""
    view = store_view(StoreRule(), history=history, operator_name=operator)
    return list(SameValues(parse_thresholds(thresholds)).findings(view))


def rewrites(same: int) -> VersionFacts:
    """Return the facts of a version with 6 updates, some of which wrote the same value."""
    return VersionFacts(updates=6, puts=9, same_value_puts=same, same_value_put_bytes=16 * same)


def test_updates_with_same_value_are_counted() -> None:
    (finding,) = findings(VersionFacts(updates=4, puts=9), rewrites(6))
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS304", 6, 96)
    assert finding.cause == (
        "Updates write what is there already: 60 % of the updates of this store do not change the "
        "value."
    )
    assert finding.evidence == (
        "6 of 10 updates wrote the value that was there already, in versions 1 to 2"
    )


@pytest.mark.parametrize(("same", "is_found"), [(0, False), (2, False), (3, True), (6, True)])
def test_half_of_updates_with_same_value_are_reported(same: int, *, is_found: bool) -> None:
    assert bool(findings(rewrites(same))) is is_found
    assert bool(findings(rewrites(same), same_value_share=0.1)) is (same > 0)


def test_store_without_updates_has_no_finding() -> None:
    assert findings(VersionFacts(puts=5, inserts=5)) == []
    assert findings() == []


def test_next_step_for_group_state_is_to_change_function() -> None:
    (group,) = findings(rewrites(6), operator="flatMapGroupsWithState")
    assert "update()" in group.next_step


@pytest.mark.parametrize(
    "operator", ["stateStoreSave", "dedupe", "symmetricHashJoin", "globalLimit", "unknown"]
)
def test_next_step_for_other_operators_does_not_name_update(operator: str) -> None:
    (finding,) = findings(rewrites(6), operator=operator)
    assert finding.next_step
    assert "update()" not in finding.next_step


def test_internal_index_of_spark_has_no_finding() -> None:
    facts = [("$rowCounter_pages", 0, rewrites(6)), ("pages", 0, rewrites(6))]
    view = checkpoint_view(dict.fromkeys(("$rowCounter_pages", "pages"), StoreRule()), facts)
    result = findings_of_stores(SameValues(), view)
    assert attributes(result, "store_name") == ["pages"]
