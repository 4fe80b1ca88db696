"""SS110: checksum file does not match."""

from __future__ import annotations

from inspector.findings.integrity.ss110_bad_checksum import BadChecksum
from tests.store_views import problem, problem_findings


def test_bad_checksums_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(BadChecksum, *[problem("file-checksum")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS110", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("warning", 2)
    assert finding.cause == "A checksum file does not match the state file beside it."
    assert finding.evidence == "/c/1.delta: got 1"


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(BadChecksum, problem("bad-frame")) == []
