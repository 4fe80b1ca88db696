"""SS121: state files of a batch that never ran."""

from __future__ import annotations

from inspector.discovery.listing import STRAY
from inspector.findings.integrity.ss121_stray_version import StrayVersion
from tests.store_views import problem, problem_findings


def test_stray_state_file_is_a_warning() -> None:
    (finding,) = problem_findings(StrayVersion, problem(STRAY, "/c/99.delta"))
    assert (finding.kind.id, finding.severity.word) == ("SS121", "warning")
    assert finding.cause == "At /c/99.delta: got 1."


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(StrayVersion, problem("bad-frame")) == []
