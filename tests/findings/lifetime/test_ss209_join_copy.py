"""SS209: join on a copy of the event time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.join_rows import KeyTimeVotes
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss209_join_copy import JoinCopy
from tests.join_views import LEFT, Side, join_view

COPY = Side(facts=(KeyTimeVotes((0,), same=90, covered=12),))


OTHER = Side()


def findings(left: Side = COPY, right: Side | None = OTHER) -> list[Finding]:
    return list(JoinCopy().findings(join_view(left, right)))


def test_join_key_equal_to_event_time_without_watermark_is_reported() -> None:
    (finding,) = findings()
    assert (finding.kind.id, finding.store_name, finding.rows) == ("SS209", LEFT, 90)
    assert (finding.severity, finding.certainty.value) == (Severity.INFO, "inferred")
    assert "of 90 rows 12 would have been removed by one; none was in 9 versions" in (
        finding.evidence
    )
    assert findings(right=None) == [finding]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (COPY, Side(removed=1)),  # the condition has a range
        (replace(COPY, versions=4), Side()),
        (replace(COPY, removed=1), Side()),
        (Side(), Side()),
        (replace(COPY, facts=(KeyTimeVotes((0,), same=90, other=1, covered=12),)), Side()),
    ],
)
def test_join_key_that_may_carry_watermark_has_no_finding(left: Side, right: Side) -> None:
    assert findings(left, right) == []
