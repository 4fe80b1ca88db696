"""Rows with the most bytes of a field, whatever the parts in which they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.largest_fields import LargestField, LargestFields, largest_rows
from inspector.operators.rule import RowPart


def listed(facts: list[LargestField]) -> list[tuple[int, bytes]]:
    return [(one.size, one.key) for one in facts if not one.is_of_others]


def collect(sizes: list[int], limit: int = 2, first: int = 0) -> list[LargestField]:
    """Return the facts of rows whose keys are consecutive numbers from ``first``."""
    rows = LargestFields(limit)
    keys = pa.array([b"%d" % (first + n) for n in range(len(sizes))], pa.binary())
    rows.taker(RowPart.VALUE, keys)(3, np.array(sizes, np.int64))
    return list(rows.facts())


def test_largest_rows_are_listed_with_a_total_of_the_others() -> None:
    facts = collect([16, 40, 16, 24, 16])
    assert listed(facts) == [(40, b"1"), (24, b"3")]
    assert facts[-1] == LargestField(RowPart.VALUE, 3, 16, b"", is_of_others=True)


def test_rows_with_equal_bytes_are_listed_all_or_none() -> None:
    assert listed(collect([16, 16, 16])) == []
    assert listed(collect([16, 24, 24, 24])) == []
    assert listed(collect([16, 24, 40, 24])) == [(40, b"2")]
    assert listed(collect([24, 24])) == [(24, b"0"), (24, b"1")]


def test_equal_rows_of_one_part_hide_smaller_rows_of_another() -> None:
    parts = [*collect([16, 16, 16]), *collect([8, 24], first=3)]
    assert listed(largest_rows(parts, 2)) == [(24, b"4")]
    assert listed(largest_rows([*collect([40, 24]), *collect([24], first=2)], 2)) == [(40, b"0")]


@given(sizes=st.lists(st.integers(0, 6), max_size=20), cut=st.integers(0, 20))
def test_largest_rows_of_parts_merge_to_those_of_all_rows(sizes: list[int], cut: int) -> None:
    complete = collect(sizes)
    parts = [*collect(sizes[:cut]), *collect(sizes[cut:], first=min(cut, len(sizes)))]
    assert largest_rows(parts, 2) == complete
