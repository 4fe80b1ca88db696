"""Size distributions: addition and quantiles."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import VersionFacts
from tests.cases import Step, replay

sizes = st.lists(st.integers(0, 12).map(lambda words: 8 * words), max_size=40)


def counts(values: list[int]) -> SizeCounts:
    return SizeCounts(Counter(values))


@given(sizes.filter(bool), st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0]))
def test_quantile_is_the_nearest_rank(values: list[int], share: float) -> None:
    assert counts(values).quantile(share) == np.quantile(values, share, method="inverted_cdf")


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 8), (0.25, 8), (0.26, 16), (0.5, 16), (0.75, 16), (1.0, 400)]
)
def test_quantile_is_an_observed_size(share: float, expected: int) -> None:
    assert counts([8, 16, 16, 400]).quantile(share) == expected


def test_empty_distribution_has_no_quantile_and_no_maximum() -> None:
    nothing = SizeCounts()
    assert (nothing.quantile(0.5), nothing.max, nothing.total) == (None, None, 0)


@given(sizes, sizes, sizes)
def test_size_distributions_add(a: list[int], b: list[int], c: list[int]) -> None:
    item, two, three = counts(a), counts(b), counts(c)
    assert item + two == two + item == counts(a + b)
    assert (item + two) + three == item + (two + three)
    assert item + SizeCounts() == item
    assert (item + two).total == len(a) + len(b)
    assert item.max == max(a, default=None)


def size_counts(facts: VersionFacts) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Return the number of rows by the size of key, value and row."""
    return facts.key_sizes.counts, facts.value_sizes.counts, facts.row_sizes.counts


def test_removed_row_leaves_no_empty_size() -> None:
    key = b"k" * 8
    _, _, facts = replay([Step([(key, b"v" * 16)]), Step([(key, b"v" * 32)]), Step([(key, None)])])
    assert list(map(size_counts, facts)) == [
        ({8: 1}, {16: 1}, {24: 1}),
        ({8: 1}, {32: 1}, {40: 1}),
        ({}, {}, {}),
    ]


def test_size_distributions_of_small_and_large_rows() -> None:
    large = b"k" * 8
    steps = [
        Step([(b"a", b"v" * 8), (large, b"v" * 40_000)]),
        Step([(large, b"w" * 40_000), (b"b" * 16_380, b"v" * 8)]),
        Step([(large, b"w" * 16), (b"b" * 16_380, None)]),
    ]
    _, _, facts = replay(steps)
    assert list(map(size_counts, facts)) == [
        ({1: 1, 8: 1}, {8: 1, 40_000: 1}, {9: 1, 40_008: 1}),
        ({1: 1, 8: 1, 16_380: 1}, {8: 2, 40_000: 1}, {9: 1, 16_388: 1, 40_008: 1}),
        ({1: 1, 8: 1}, {8: 1, 16: 1}, {9: 1, 24: 1}),
    ]


def test_size_distributions_start_again_at_a_snapshot() -> None:
    _, _, facts = replay([Step([(b"a", b"v" * 8)]), Step([(b"bb", b"")], rebase=True)])
    assert size_counts(facts[1]) == ({2: 1}, {0: 1}, {2: 1})
