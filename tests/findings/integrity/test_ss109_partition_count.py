"""SS109: operators or partitions missing or too many."""

from __future__ import annotations

import pytest

from inspector.findings.integrity.ss109_partition_count import PartitionCount
from tests.store_views import problem, problem_findings


@pytest.mark.parametrize("slug", PartitionCount.slugs)
def test_missing_and_extra_partitions_are_errors(slug: str) -> None:
    (finding,) = problem_findings(PartitionCount, problem(slug, "/c/state/0"))
    assert (finding.kind.id, finding.severity.word) == ("SS109", "error")
    assert finding.cause == "At /c/state/0: got 1."


def test_other_problems_have_no_finding() -> None:
    assert problem_findings(PartitionCount, problem("bad-frame")) == []
