"""Clocks of versions, and the batches in which timers fire."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.expired import Clocks, first_due
from inspector.state.replay import NO_CLOCK
from tests.queries import EVENT, PROCESSING, clock, clocks_of


def test_clocks_of_versions_with_unknown_batches() -> None:
    clocks = clocks_of([clock(2, 7, data=False), clock(3, 8, data=None)])
    result = Clocks.of([1, 2, 3], clocks)
    assert result.versions.tolist() == [1, 2, 3]
    assert result.watermark_ms.tolist() == [NO_CLOCK, 7, 8]
    assert result.threshold_ms(PROCESSING).tolist() == [NO_CLOCK, 2000, 3000]
    assert result.threshold_ms(EVENT).tolist() == result.watermark_ms.tolist()


def test_no_versions_have_no_clocks() -> None:
    result = Clocks.of([], clocks_of([clock(1)]))
    assert list(map(len, vars(result).values())) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("times", "since", "timer", "first", "often"),
    [
        ([10, 20, 30], -1, 5, 0, 3),
        ([10, 20, 30], 0, 5, 1, 2),  # not in the batch that set it
        ([10, 20, 30], 0, 20, 2, 1),  # strictly below
        ([10, 30, 15, 30], 0, 20, 1, 2),  # the clock went back: step 2 did not fire it
        ([40, 10, 30], 0, 20, 2, 1),  # batches before the put fire nothing
        ([10, NO_CLOCK, 30], 0, 20, 2, 1),
    ],
)
def test_first_due_batch_and_number_of_firings(
    times: list[int], since: int, timer: int, first: int, often: int
) -> None:
    result = first_due(np.array(times), np.array([since]), np.array([timer]))
    assert np.array(result).tolist() == [[first], [often]]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(-1, 6), st.integers(0, 8)), max_size=6),
)
def test_first_due_agrees_with_counting(times: list[int], put: list[tuple[int, int]]) -> None:
    times = [*times, 9]  # all are due at the last step
    put = [(min(since, len(times) - 2), timer) for since, timer in put]
    columns = np.array(put, np.int64).reshape(-1, 2).T
    first, often = first_due(np.array(times, np.int64), columns[0], columns[1])
    for i, (since, timer) in enumerate(put):
        due = [step for step in range(since + 1, len(times)) if timer < times[step]]
        assert (first[i], often[i]) == (due[0], len(due))
