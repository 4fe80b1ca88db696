"""SS108: files changed during the scan."""

from __future__ import annotations

import pytest

from inspector.findings.integrity.ss108_changed_during_scan import ChangedDuringScan
from tests.store_views import problem, problem_findings


@pytest.mark.parametrize("slug", ["vanished", "outpaced"])
def test_file_removed_during_scan_is_no_damage(slug: str) -> None:
    (finding,) = problem_findings(ChangedDuringScan, problem(slug))
    assert (finding.kind.id, finding.severity.word) == ("SS108", "warning")
    assert "backup" not in finding.next_step


def test_running_query_is_information() -> None:
    (finding,) = problem_findings(ChangedDuringScan, problem("moved", None))
    assert (finding.kind.id, finding.severity.word) == ("SS108", "info")
    assert finding.cause.endswith("nothing is missing.")
    assert finding.next_step.startswith("nothing")


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(ChangedDuringScan, problem("bad-frame")) == []
