"""SS118: records that their batch cannot have written."""

from __future__ import annotations

from inspector.findings.integrity.ss118_foreign_records import ForeignRecords
from tests.store_views import problem, problem_findings


def test_foreign_records_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(ForeignRecords, *[problem("foreign-records")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS118", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("error", 2)
    assert finding.cause == "State files are not of the batches whose numbers they have."
    assert finding.evidence == "/c/1.delta: got 1"


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(ForeignRecords, problem("bad-frame")) == []
