"""Sums over what a version changed, against counting one key after the other."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.decode._table_py import FLAGS, NUMBERS
from inspector.state.change import Adder, ChangeSums


class Key(NamedTuple):
    """A key that a version touched; flags are those that Spark's map can bring about."""

    size: int
    was: int | None
    now: int | None
    written: bool
    reborn: bool
    same: bool


sizes = st.sampled_from([0, 8, 16, 64, (1 << 14) - 8, 1 << 14, (1 << 14) + 8, 1 << 20])


@st.composite
def keys(draw: st.DrawFn) -> Key:
    was, now = draw(st.none() | sizes), draw(st.none() | sizes)
    written = now is not None and (was != now or draw(st.booleans()))
    reborn = written and (was is None or draw(st.booleans()))
    same = written and was == now and draw(st.booleans())
    return Key(draw(sizes), was, now, written, reborn, same)


def sums_of(adder: Adder, touched: list[Key]) -> ChangeSums:
    numbers = np.zeros((len(NUMBERS), len(touched)), np.int64)
    flags = np.zeros((len(FLAGS), len(touched)), np.bool_)
    for i, key in enumerate(touched):
        numbers[:, i] = (i, key.size, key.was or 0, key.now or 0, 0)
        lives = (key.was is not None, key.now is not None)
        flags[:, i] = (*lives, key.written, key.reborn, key.same, key.same)
    return adder.sums(numbers, flags)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(keys(), max_size=12), max_size=3))
def test_they_are_those_of_the_keys_one_by_one(versions: list[list[Key]]) -> None:
    adder = Adder()
    for touched in versions:
        found = sums_of(adder, touched)
        was = [(key.size, key.was) for key in touched if key.was is not None]
        now = [(key.size, key.now) for key in touched if key.now is not None]
        assert (found.was_rows, found.now_rows) == (len(was), len(now))
        assert (found.was_key_bytes, found.was_value_bytes) == _bytes(was)
        assert (found.now_key_bytes, found.now_value_bytes) == _bytes(now)
        assert found.new_rows - found.removed_rows == len(now) - len(was)
        assert found.removed_rows == sum(key.now is None for key in touched if key.was is not None)
        assert found.written_rows == sum(key.written for key in touched)
        assert found.same_value_rows == sum(key.same for key in touched)
        assert found.changed_rows == sum(
            key.written and key.was is not None and not key.same for key in touched
        )
        assert found.written_value_bytes == sum(key.now or 0 for key in touched if key.written)
        assert found.reborn_key_bytes == sum(key.size for key in touched if key.reborn)
        assert found.reborn_rows == sum(key.reborn for key in touched)
        for kind, size_of in (
            ("key", lambda row: row[0]),
            ("value", lambda row: row[1]),
            ("row", lambda row: row[0] + row[1]),
        ):
            more = Counter(map(size_of, now))
            more.subtract(map(size_of, was))
            assert found.more_by_size[kind] == {size: n for size, n in more.items() if n}


def _bytes(rows: list[tuple[int, int]]) -> tuple[int, int]:
    return sum(key for key, _ in rows), sum(value for _, value in rows)
