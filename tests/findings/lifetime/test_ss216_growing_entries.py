"""SS216: list or map that only grows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.variable_entries import EntriesPerKey
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss216_growing_entries import GrowingEntries
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from inspector.sparktypes import LONG, StructField, StructType
from tests.store_views import processor_metadata, store_view

GROWN = EntriesPerKey(2, 3000, 2000, Counter({10: 1, 9: 1}), 9)
VALUE = StructType((StructField("value", LONG),))
TTL = StructType((StructField("value", VALUE), StructField("ttlExpirationMs", LONG)))


def findings(*facts: EntriesPerKey, thresholds: Any = None, **options: Any) -> list[Finding]:
    arguments: dict[str, Any] = {
        "operator_name": "transformWithStateExec",
        "metadata": processor_metadata("visits"),
    }
    arguments["store_name"] = "visits"
    view = store_view(StoreRule(), *facts, **arguments | options)
    return list(GrowingEntries(parse_thresholds(thresholds or {})).findings(view))


def test_variable_whose_entries_only_grow_is_reported() -> None:
    (finding,) = findings(GROWN)
    assert (finding.kind.id, finding.rows, finding.certainty.value) == ("SS216", 2, "inferred")
    assert finding.severity is Severity.WARNING
    assert finding.cause == (
        "The value state 'visits' only grows and has no TTL: 2 keys have 64 entries or more, up "
        "to 2,000."
    )
    assert finding.evidence.startswith("2 keys with 64 entries or more, to which entries were add")
    assert finding.next_step.startswith("give 'visits' a TTL (")
    (sample,) = findings(replace(GROWN, growing=Counter({7: 1})))
    assert sample.severity is Severity.INFO
    assert sample.cause.endswith("has no TTL: 1 key has 64 entries or more, up to 2,000.")


def test_next_step_does_not_advise_ttl_if_variable_has_one() -> None:
    (finding,) = findings(GROWN, key=VALUE, value=TTL)
    assert finding.cause.startswith("The value state 'visits' only grows: 2 keys have 64 ")
    assert finding.next_step.startswith("remove entries")


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ([], {}),
        ([replace(GROWN, versions=4)], {}),
        ([replace(GROWN, growing=Counter({5: 5}))], {}),
        ([GROWN], {"metadata": processor_metadata("other")}),  # SS215
        ([GROWN], {"operator_name": "stateStoreSave"}),
        ([GROWN], {"thresholds": {"entries_per_key": "2048"}}),
    ],
)
def test_few_entries_or_versions_have_no_finding(facts: list[EntriesPerKey], options: Any) -> None:
    assert findings(*facts, **options) == []
