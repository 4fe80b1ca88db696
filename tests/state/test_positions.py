"""Positions of records, compared with a set of pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.state.live_records import Positions, positions_of


def test_positions_of_several_files() -> None:
    parts = [positions_of(0, np.array([3, 9])), positions_of(2, np.array([0, 3]))]
    positions = Positions(np.concatenate(parts))
    assert list(map(positions.has_any_in, range(4))) == [True, False, True, False]
    rows, indexes = positions.find(2, np.arange(10))
    assert (rows.tolist(), indexes.tolist()) == ([0, 3], [2, 3])
    rows, indexes = positions.find(1, np.arange(10))
    assert (rows.tolist(), indexes.tolist()) == ([], [])


@given(
    held=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 20))),
    ordinals=st.sets(st.integers(0, 20)),
    number=st.integers(0, 3),
)
def test_records_are_found_at_positions_with_gaps(
    held: set[tuple[int, int]], ordinals: set[int], number: int
) -> None:
    pairs, sought = sorted(held), np.array(sorted(ordinals), np.int64)
    files, records = np.array([*zip(*pairs, strict=True)], np.int64).reshape(2, -1)
    parts = [positions_of(file, records[files == file]) for file in range(3)]
    positions = Positions(np.concatenate(parts))
    rows, indexes = positions.find(number, sought)
    expected = sorted(held & set(product([number], ordinals)))
    assert [pairs[i] for i in indexes] == expected
    assert list(product([number], sought[rows].tolist())) == expected
    assert positions.has_any_in(number) == (number in files)


def test_positions_of_different_files_do_not_overlap() -> None:
    last = np.array([(1 << 40) - 1])
    assert positions_of(0, last) < positions_of(1, np.array([0]))
