"""Problems as facts."""

from __future__ import annotations

import pytest

from inspector.facts.checks import ReadProblem
from inspector.facts.fact import Observed
from inspector.model import Problem, StoreId

STORE = StoreId(1, "default", 2)


@pytest.mark.parametrize("version", [3, None])
def test_read_problem_round_trips_with_its_file_version(version: int | None) -> None:
    problem = Problem("truncated", "got 1", "/c/3.delta", 7, STORE, version)
    observed = ReadProblem.observe(problem, STORE, 9)
    own = ReadProblem("truncated", "got 1", "/c/3.delta", 7, version)
    assert observed == Observed(STORE, 9, own)
    assert observed.fact.problem(observed.store) == problem
