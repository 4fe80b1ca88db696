"""SS219: timers that gather."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.facts.variable_entries import TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss219_timers_gather import TimersGather
from inspector.operators.rule import RowKind, StoreRule
from tests.store_views import store_view

RULE = StoreRule(row_kind=RowKind.TIMER)


def findings(timers: int = 160, keys: int = 40, removed: int = 0, **options: Any) -> list[Finding]:
    versions, inserts = options.get("versions", 8), options.get("inserts", 20)
    changes = VersionFacts(rows=4, key_bytes=100, value_bytes=60, inserts=inserts)
    last = VersionFacts(
        rows=4, key_bytes=100, value_bytes=60, inserts=inserts, removed_rows=removed
    )
    view = store_view(
        RULE,
        TimersWithoutState(timers, owners=keys),
        history=[*[changes] * (versions - 1), last],
    )
    return list(TimersGather().findings(view))


@pytest.mark.parametrize(
    ("keys", "removed", "cause"),
    [
        (
            *(40, 0),
            "Timers only gather: 160 timers for 40 keys, and none fired or was deleted in 8 "
            "versions.",
        ),
        (
            *(16, 1),
            "Keys have ~10 timers each, 160 timers for 16 keys: 160 were registered in 8 versions, "
            "and 1 fired or deleted.",
        ),
    ],
)
def test_several_timers_per_key_are_reported(keys: int, removed: int, cause: str) -> None:
    (finding,) = findings(keys=keys, removed=removed)
    assert (finding.kind.id, finding.severity) == ("SS219", Severity.INFO)
    assert (finding.rows, finding.bytes, finding.cause) == (160, 160, cause)


@pytest.mark.parametrize(("keys", "removed"), [(60, 0), (40, 1), (17, 1)])
def test_few_timers_per_key_have_no_finding(keys: int, removed: int) -> None:
    assert findings(keys=keys, removed=removed) == []


def test_few_timers_or_versions_have_no_finding() -> None:
    assert findings(timers=99, keys=3) == []
    assert findings(versions=4) == []
    assert findings(inserts=0) == []
