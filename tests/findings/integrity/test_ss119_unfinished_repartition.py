"""SS119: repartitioning not finished."""

from __future__ import annotations

from inspector.findings.integrity.ss119_unfinished_repartition import UnfinishedRepartition
from tests.store_views import problem, problem_findings


def test_unfinished_repartitions_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(UnfinishedRepartition, *[problem("unfinished-repartition")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS119", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("error", 2)
    assert finding.cause == (
        "A repartitioning of the checkpoint has not finished, and the query cannot start."
    )
    assert finding.evidence == "/c/1.delta: got 1"


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(UnfinishedRepartition, problem("bad-frame")) == []
