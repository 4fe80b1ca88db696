"""SS222: join without a match."""

from __future__ import annotations

import pytest

from inspector.facts.join_rows import MatchedPuts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss222_no_match import NoMatch
from tests.join_views import Side, join_view


def findings(left: MatchedPuts | None, right: MatchedPuts | None) -> list[Finding]:
    sides = (Side(facts=(side,) if side else ()) for side in (left, right))
    return list(NoMatch().findings(join_view(*sides)))


def test_many_rows_of_both_sides_without_match_are_reported() -> None:
    (finding,) = findings(MatchedPuts(0, 100), MatchedPuts(0, 120))
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS222", 0, None)
    assert finding.severity is Severity.INFO
    assert finding.evidence.startswith("the files have 100 rows of the left side and 120 rows of")


@pytest.mark.parametrize("left", [MatchedPuts(1, 99), MatchedPuts(0, 99), None])
def test_few_rows_matched_rows_or_old_format_have_no_finding(left: MatchedPuts | None) -> None:
    assert findings(left, MatchedPuts(0, 120)) == []
