"""Checks that passed add up."""

from inspector.facts.checks import ChecksPassed


def test_checks_passed_add() -> None:
    assert ChecksPassed(1, 2, 3) + ChecksPassed(10, 20, 30) == ChecksPassed(11, 22, 33)
    assert ChecksPassed() + ChecksPassed(1, 2, 3) == ChecksPassed(1, 2, 3)
    assert ChecksPassed(1).merge_key(1) == ChecksPassed(2).merge_key(9)
