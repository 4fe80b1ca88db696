"""The first keys of each ranking, compared with a sort."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.fact import Observed
from inspector.facts.top_keys import TopBy, TopKey, merge_top, newest_keys, top_keys
from inspector.model import StoreId
from tests.attributes import attributes
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
    """Return the amount and the key of every live key, the largest amount first."""
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
    return sorted(((amounts[by](key), key) for key in live), key=lambda item: -item[0])


@pytest.mark.parametrize("by", list(TopBy)[:5])
@given(history=HISTORIES, maximum=st.integers(1, 6), portion=st.integers(1, 6))
def test_top_keys_match_a_sort(
    by: TopBy, history: list[list[tuple[bytes, bytes | None]]], maximum: int, portion: int
) -> None:
    state, _, _ = replay(list(map(Step, history)))
    with mock.patch("inspector.state.replay._PORTION", portion):
        result = attributes(top_keys(state, by, maximum), "amount", "key")
    keys = state.keys(np.arange(len(state)))
    expected = sorted(rank(history, by), key=lambda item: (-item[0], keys.index(item[1])))
    assert result == expected[:maximum]


def test_top_keys_of_partitions_merge() -> None:
    def observed(amount: int, key: bytes, partition: int) -> Observed[TopKey]:
        store = StoreId(0, "default", partition)
        return Observed(store, 4, TopKey(TopBy.PUTS, amount, key, 1, 0, amount))

    a, b = observed(9, b"a", 0), observed(2, b"b", 0)
    d, c = observed(5, b"d", 1), observed(5, b"c", 1)
    assert merge_top([a, b, d, c], 3) == merge_top([c, d, b, a], 3) == [a, c, d]


def test_top_key_has_sizes_puts_and_last_put() -> None:
    state, _, _ = replay([Step([(b"a" * 8, b"v")], rebase=True), Step([(b"b" * 8, b"w" * 3)])])
    first, second = top_keys(state, TopBy.VALUE_BYTES, 9)
    assert first == TopKey(TopBy.VALUE_BYTES, 3, b"b" * 8, 8, 3, 1, 2)
    assert (second.key, second.last_put_version, second.held_bytes) == (b"a" * 8, None, 8)


def test_newest_keys_were_put_last_and_are_short() -> None:
    steps = [
        Step([(b"a" * 8, b"v" * 8), (b"b" * 8, b"v" * 8)]),
        Step([(b"z" * 2000, b""), (b"y" * 8, b"")]),
    ]
    state, _, _ = replay([*steps, Step([(b"y" * 8, None)])])
    assert set(attributes(newest_keys(state, 99), "key")) == {b"a" * 8, b"b" * 8}
    state, _, _ = replay(steps)
    assert attributes(newest_keys(state, 1), "key", "version") == [(b"y" * 8, 2)]
