"""SS112: log, metadata or schema changed since it was written."""

from __future__ import annotations

from inspector.findings.integrity.ss112_changed_file import ChangedFile
from tests.store_views import problem, problem_findings


def test_changed_files_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(ChangedFile, *[problem("bad-checksum")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS112", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("error", 2)
    assert finding.cause == "A log, metadata or schema file was changed after Spark wrote it."
    assert finding.evidence == "/c/1.delta: got 1"


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(ChangedFile, problem("bad-frame")) == []
