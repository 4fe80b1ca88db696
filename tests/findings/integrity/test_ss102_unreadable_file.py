"""SS102: file that cannot be read."""

from __future__ import annotations

import pytest

from inspector.exceptions import DecodeError, FrameError, TailError, TruncatedError
from inspector.findings.integrity.ss102_unreadable_file import UnreadableFile
from inspector.model import Problem
from tests.attributes import attributes
from tests.store_views import problem, problem_findings


@pytest.mark.parametrize("slug", [FrameError.slug, DecodeError.slug, "row-checksum", "new-slug"])
def test_problems_without_own_rule_are_unreadable_files(slug: str) -> None:
    (finding,) = problem_findings(UnreadableFile, problem(slug))
    assert (finding.kind.id, finding.severity.word) == ("SS102", "error")
    assert finding.cause == "At /c/1.delta: got 1."
    assert "backup" in finding.next_step


def test_cause_of_truncated_file() -> None:
    (finding,) = problem_findings(UnreadableFile, problem(TruncatedError.slug))
    assert finding.cause == "At /c/1.delta: the data ends too early (got 1)."


def test_bytes_after_end_mark_are_a_separate_warning() -> None:
    result = problem_findings(UnreadableFile, problem(TailError.slug), problem(FrameError.slug))
    assert attributes(result, "severity.word") == ["warning", "error"]
    assert result[0].cause.endswith("; Spark does not read so far, and no row is lost.")
    assert result[0].next_step == "nothing is needed to go on"


def test_problem_without_path_has_general_cause() -> None:
    (finding,) = problem_findings(UnreadableFile, Problem(FrameError.slug, "got 1"))
    assert finding.cause == UnreadableFile.general.cause
    assert (finding.operator_id, finding.evidence) == (None, "got 1")


@pytest.mark.parametrize("slug", ["codec-mismatch", "uncommitted", "denied", "missing-delta"])
def test_remarks_and_problems_of_other_rules_have_no_finding(slug: str) -> None:
    assert problem_findings(UnreadableFile, problem(slug)) == []
