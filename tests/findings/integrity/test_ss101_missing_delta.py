"""SS101: missing delta."""

from __future__ import annotations

from inspector.discovery.listing import _COPY, _IS_WHOLE
from inspector.findings.integrity.ss101_missing_delta import MissingDelta
from inspector.light_dataclasses import replace
from tests.store_views import problem, problem_findings

GAP = problem("missing-delta")


def test_cause_names_first_missing_file() -> None:
    (finding,) = problem_findings(MissingDelta, GAP)
    assert (finding.kind.id, finding.severity.word) == ("SS101", "error")
    assert finding.cause == ("At /c/1.delta: got 1, so no version that needs it can be loaded.")
    assert finding.next_step == MissingDelta.next_step
    (finding,) = problem_findings(MissingDelta, GAP, replace(GAP, path="/c/2.delta"))
    assert finding.cause.startswith("At /c/1.delta (and 1 more): got 1, so no version ")
    assert finding.evidence == "/c/1.delta: got 1 (and 1 more, see problems)"


def test_next_step_is_to_rename_complete_temporary_file() -> None:
    message = f"the delta of version 1 is missing{_COPY}.1.delta.tmp{_IS_WHOLE}"
    (finding,) = problem_findings(MissingDelta, replace(GAP, message=message))
    assert finding.next_step.startswith("rename .1.delta.tmp to the name of the missing file ")


def test_chain_without_gap_has_no_finding() -> None:
    assert problem_findings(MissingDelta) == []
    assert problem_findings(MissingDelta, problem("bad-frame")) == []
