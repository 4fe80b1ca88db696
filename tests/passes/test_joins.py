"""Where the four stores of a join meet."""

from __future__ import annotations

from inspector.facts.joins import JoinCheck
from inspector.merge.collect import Facts
from inspector.operators.join import VALUE_STORES
from tests.cases import FIXTURES, observed_in


def test_both_sides_of_a_healthy_join_agree() -> None:
    checks = Facts(observed_in(FIXTURES / "join_left_outer" / "checkpoint")).join_checks
    assert {store for _, store in checks} == set(VALUE_STORES)
    rows = [check.rows for check in checks.values()]
    assert list(checks.values()) == [JoinCheck(rows=each) for each in rows]
    assert sum(rows) == 76
