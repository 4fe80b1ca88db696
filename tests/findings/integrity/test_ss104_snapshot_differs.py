"""SS104: snapshot differs from its deltas."""

from __future__ import annotations

from inspector.findings.integrity.ss104_snapshot_differs import SnapshotDiffers
from tests.store_views import problem, problem_findings


def test_differing_snapshots_of_an_operator_are_one_finding() -> None:
    (finding,) = problem_findings(SnapshotDiffers, *[problem("snapshot-differs")] * 2)
    assert (finding.kind.id, finding.operator_id, finding.store_name) == ("SS104", 3, None)
    assert (finding.severity.word, finding.occurrences) == ("error", 2)
    assert finding.cause == "A snapshot holds other rows than the deltas up to its version make."
    assert finding.evidence == "/c/1.delta: got 1"


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(SnapshotDiffers, problem("bad-frame")) == []
