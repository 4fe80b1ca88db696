"""How unevenly partitions share an amount."""

from __future__ import annotations

from inspector.estimates.skew import Skew, skew


def test_the_greatest_is_held_against_the_median() -> None:
    found = skew([10, 0, 40, 20, 10])
    assert found == Skew(partitions=5, empty=1, median=10, max=40, largest=2)
    assert found.ratio == 4


def test_half_empty_partitions_have_no_ratio() -> None:
    found = skew([0, 0, 5])
    assert found is not None
    assert (found.empty, found.ratio) == (2, None)


def test_without_partitions_there_is_no_skew() -> None:
    assert skew([]) is None
