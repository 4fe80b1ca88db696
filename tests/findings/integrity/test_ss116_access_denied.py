"""SS116: access denied."""

from __future__ import annotations

from inspector.findings.integrity.ss116_access_denied import AccessDenied
from tests.store_views import problem, problem_findings


def test_denied_files_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(AccessDenied, *[problem("denied")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS116", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("warning", 2)
    assert finding.cause == (
        "The storage denies access to a part of the checkpoint, which is missing from this report."
    )
    assert finding.evidence == "/c/1.delta: got 1"
    assert "a file is damaged" in finding.next_step


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(AccessDenied, problem("bad-frame")) == []
