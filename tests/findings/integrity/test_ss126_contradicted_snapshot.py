"""SS126: snapshot that RocksDB's own files contradict."""

from __future__ import annotations

from inspector.exceptions import RefusedSnapshotError
from inspector.findings.integrity.ss126_contradicted_snapshot import ContradictedSnapshot
from inspector.model import UNLISTED
from tests.store_views import problem, problem_findings


def test_cause_has_error_message_of_rocksdb() -> None:
    message = RefusedSnapshotError.of("got no MANIFEST", "does not end with newline").message
    refused = problem(RefusedSnapshotError.slug, "/c/8.zip", message)
    (finding,) = problem_findings(ContradictedSnapshot, refused)
    assert (finding.kind.id, finding.severity.word) == ("SS126", "error")
    assert finding.cause == (
        "At /c/8.zip: got no MANIFEST; RocksDB refuses it (does not end with newline)."
    )


def test_message_about_unlisted_table_is_not_shortened() -> None:
    message = f"got a table that the MANIFEST lacks, {'x' * 90}, expected none"
    (finding,) = problem_findings(ContradictedSnapshot, problem(UNLISTED, "/c/8.zip", message))
    assert message in finding.cause


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(ContradictedSnapshot, problem("bad-frame")) == []
