"""SS205: one join side never removes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.join_rows import KeyTimeVotes, RemovedRows
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss205_join_side import JoinSideKeeps
from inspector.findings.views.join_side import JoinSides
from tests.attributes import attributes
from tests.join_views import LEFT, RIGHT, Side, join_view

SIDE = Side()
YOUNG = Side(behind_ms=-60_000)


def findings(left: Side | None = SIDE, right: Side | None = None, **options: Any) -> list[Finding]:
    return list(JoinSideKeeps().findings(join_view(left, right, **options)))


def test_join_side_that_keeps_passed_rows_is_information() -> None:
    (finding,) = findings(SIDE, replace(SIDE, removed=40))
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS205", 0, LEFT)
    assert (finding.severity, finding.certainty.value) == (Severity.INFO, "inferred")
    assert (finding.rows, finding.bytes) == (90, 1000)
    assert finding.cause == (
        "The left side of the join never drops rows; some are 1 min 10 s behind the watermark. The "
        "time range may be long, or have no bound on this side."
    )
    assert (
        "the watermark moved by 1 min 20 s; 90 rows, the oldest 1 min 10 s behind the waterma"
        in (finding.evidence)
    )
    assert finding.evidence.endswith("the other side removed 40 rows")
    assert finding.next_step.startswith("bound this side's time by the other's")


def test_join_that_never_drops_rows_is_a_warning() -> None:
    left, right = findings(SIDE, SIDE)
    assert (left.store_name, right.store_name) == (LEFT, RIGHT)
    assert left.severity is right.severity is Severity.WARNING
    assert (
        left.cause
        == right.cause
        == (
            "This join never drops rows; some are 1 min 10 s behind the watermark. The condition "
            "probably has no time bound."
        )
    )
    assert left.next_step.startswith("bound the times of both sides ")


def test_left_side_is_reported_if_watermark_passed_no_right_row() -> None:
    (finding,) = findings(SIDE, YOUNG)
    assert finding.cause.startswith("The left side of the join never drops rows; ")


def test_matched_rows_are_not_counted_as_expired() -> None:
    met = replace(SIDE, removed=12, keys=90, facts=(RemovedRows(off_time=12, early=12),))
    (finding,) = findings(met, replace(SIDE, removed=40))
    assert "; 12 rows went with a partner, and the other side removed 40 rows" in finding.evidence
    # Of a key with several rows the last takes the place of the one that goes.
    assert findings(replace(met, keys=89), replace(SIDE, removed=40)) == []


def test_young_join_is_information() -> None:
    (finding,) = findings(YOUNG, YOUNG)
    assert (finding.severity, finding.store_name) == (Severity.INFO, None)
    assert finding.cause.startswith("No row of the join was removed yet, as the watermark has pass")
    assert "has to advance by 1 min before it passes the first" in finding.evidence
    assert findings(YOUNG, replace(YOUNG, removed=1)) == []
    assert findings(YOUNG, replace(YOUNG, versions=4)) == []
    assert findings(YOUNG, replace(YOUNG, rows=10)) == []
    assert findings(YOUNG, None) == []


@pytest.mark.parametrize(
    "change", [{"removed": 1}, {"versions": 4}, {"rows": 10}, {"behind_ms": -1}]
)
def test_join_side_without_growth_or_passed_rows_has_no_finding(change: dict[str, int]) -> None:
    assert findings(replace(SIDE, **change)) == []  # type: ignore[arg-type]


def test_flat_watermark_has_no_finding() -> None:
    assert findings(marks=[10_000] * 9) == []
    assert findings(marks=[0] * 9) == []


def test_event_time_copy_is_reported_as_ss209() -> None:
    copy = replace(SIDE, facts=(KeyTimeVotes((0,), same=90, covered=12),))
    assert attributes(findings(copy, SIDE), "store_name") == [RIGHT]
    (finding,) = findings(copy, replace(SIDE, removed=1))
    assert finding.store_name == LEFT  # the other side has a range


def test_join_sides_without_event_times_have_no_finding() -> None:
    operator = join_view(SIDE, SIDE)
    operator.whole.facts.retention.clear()
    assert JoinSides(operator).with_times == []
    assert list(JoinSideKeeps().findings(operator)) == []
