"""The first keys by each ranking, against a plain sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.top import TopBy, merge_top, top_keys
from tests.cases import Step, replay

HISTORIES = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from([b"", b"a" * 8, b"b" * 16, b"c" * 24, b"d" * 8]),
            st.none() | st.sampled_from([b"", b"v" * 8, b"w" * 40]),
        ),
        max_size=8,
    ),
    min_size=1,
    max_size=5,
)


def rank(history: list[list[tuple[bytes, bytes | None]]], by: TopBy) -> list[tuple[int, bytes]]:
    """Amount and key of every live key by a plain reading of the definition."""
    live: dict[bytes, bytes] = {}
    puts: dict[bytes, int] = {}
    last: dict[bytes, int] = {}
    for step, records in enumerate(history):
        for key, value in records:
            if value is None:
                live.pop(key, None)
            else:
                live[key], last[key] = value, step
                puts[key] = puts.get(key, 0) + 1
    amounts = {
        TopBy.KEY_BYTES: lambda key: len(key),
        TopBy.VALUE_BYTES: lambda key: len(live[key]),
        TopBy.ROW_BYTES: lambda key: len(key) + len(live[key]),
        TopBy.PUTS: lambda key: puts[key],
        TopBy.OLDEST: lambda key: -last[key],
    }
    return sorted(((amounts[by](key), key) for key in live), key=lambda one: -one[0])


@pytest.mark.parametrize("by", [by for by in TopBy if by is not TopBy.NUMBER])
@given(history=HISTORIES, most=st.integers(1, 6))
def test_the_first_keys_are_those_of_a_sort(
    by: TopBy, history: list[list[tuple[bytes, bytes | None]]], most: int
) -> None:
    state, _, _ = replay([Step(records) for records in history])
    found = top_keys(state, by, most)
    expected = rank(history, by)
    assert [one.amount for one in found] == [amount for amount, _ in expected[:most]]
    keys = state.keys(np.array([one.key_id for one in found], np.int64))
    assert set(zip([one.amount for one in found], keys, strict=True)) <= set(expected)
    assert len(set(keys)) == len(keys)


def test_the_tops_of_partitions_merge_to_one() -> None:
    one = [{"amount": 9, "key": b"a"}, {"amount": 2, "key": b"b"}]
    two = [{"amount": 5, "key": b"d"}, {"amount": 5, "key": b"c"}]
    merged = list(merge_top([*one, *two], 3))
    assert [(row["amount"], row["key"]) for row in merged] == [(9, b"a"), (5, b"c"), (5, b"d")]
    assert merged == list(merge_top([*two, *one], 3))
