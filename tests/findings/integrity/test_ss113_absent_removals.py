"""SS113: removals of keys that are not there."""

from __future__ import annotations

from inspector.findings.integrity.ss113_absent_removals import AbsentRemovals
from tests.store_views import problem, problem_findings


def test_absent_removals_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(AbsentRemovals, *[problem("absent-removals")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS113", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("error", 2)
    assert finding.cause == (
        "State files are not of one chain: a delta removes keys that were never there."
    )
    assert finding.evidence == "/c/1.delta: got 1"


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(AbsentRemovals, problem("bad-frame")) == []
