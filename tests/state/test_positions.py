"""Positions of records, against a set of pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.state.live_records import Positions, positions_of

PLACES = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=20)


def positions(places: set[tuple[int, int]]) -> Positions:
    item = [positions_of(number, np.array([ordinal])) for number, ordinal in sorted(places)]
    return Positions(np.concatenate([np.empty(0, np.int64), *item]))


@given(PLACES)
def test_positions_round_trip_through_file(places: set[tuple[int, int]]) -> None:
    result = positions(places)
    ordered = sorted(places)
    for number in range(5):
        rows, at = result.find(number, np.arange(10))
        here = sorted(ordinal for file, ordinal in places if file == number)
        assert rows.tolist() == here
        assert [ordered[i] for i in at.tolist()] == [(number, row) for row in here]
        assert result.has_any_in(number) == bool(here)


def test_positions_of_different_files_do_not_overlap() -> None:
    last = np.array([(1 << 40) - 1])
    assert positions_of(0, last) < positions_of(1, np.array([0]))
