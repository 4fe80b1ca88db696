"""SS117: storage did not answer."""

from __future__ import annotations

from inspector.findings.integrity.ss117_silent_storage import SilentStorage
from tests.store_views import problem, problem_findings


def test_silent_storage_of_an_operator_is_one_finding() -> None:
    (finding,) = problem_findings(SilentStorage, *[problem("storage")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS117", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("warning", 2)
    assert finding.cause == (
        "The storage did not return a part of the checkpoint, which is missing from this report."
    )
    assert finding.evidence == "/c/1.delta: got 1"
    assert "a file is damaged" in finding.next_step


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(SilentStorage, problem("bad-frame")) == []
