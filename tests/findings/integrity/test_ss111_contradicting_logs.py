"""SS111: the logs contradict each other."""

from __future__ import annotations

import pytest

from inspector.findings.integrity.ss111_contradicting_logs import ContradictingLogs
from tests.store_views import problem, problem_findings


@pytest.mark.parametrize("slug", ["log-contradiction", "log-entry-lost", "sources-changed"])
def test_contradicting_log_entry_is_an_error(slug: str) -> None:
    (finding,) = problem_findings(ContradictingLogs, problem(slug, "/c/offsets/4"))
    assert (finding.kind.id, finding.severity.word) == ("SS111", "error")
    assert finding.cause == "At /c/offsets/4: got 1."


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(ContradictingLogs, problem("bad-frame")) == []
