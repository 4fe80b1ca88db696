"""Sums of the changes of a version, compared with counts key by key."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.records import REMOVED, RecordBlock
from inspector.kernel.record_layout import ChangeSums
from inspector.state.replay import StateMap

sizes = st.sampled_from([0, 8, 16, 64, (1 << 14) - 8, 1 << 14, (1 << 14) + 8])
KEYS = [b"", b"k" * 8, b"l" * 8, b"m" * ((1 << 14) - 8), b"n" * (1 << 14)]

Record = tuple[int, int]
"""Index of a key in :data:`KEYS`, and size of its value. REMOVED removes the key."""

VALUES = b"v" * (1 << 15)


def block(records: list[Record]) -> RecordBlock:
    buffer = b"".join(KEYS) + VALUES
    starts = np.cumsum([0, *map(len, KEYS)])
    choice, values = np.array(records, np.int64).reshape(-1, 2).T.copy()
    lengths = np.array(list(map(len, KEYS)), np.int64)
    offsets = np.full(len(records), starts[-1])
    return RecordBlock(buffer, 0, 0, starts[choice], lengths[choice], offsets, values)


record = st.tuples(st.integers(0, len(KEYS) - 1), st.just(REMOVED) | sizes)


class Counted:
    """A map of value sizes that records the changes of its last version."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}

    def begin(self) -> None:
        self.before = dict(self.live)
        self.touched, self.written, self.reborn = set[int](), set[int](), set[int]()

    def take(self, key: int, size: int) -> None:
        self.touched.add(key)
        if size == REMOVED:
            self.live.pop(key, None)
            self.written.discard(key)
            self.reborn.discard(key)
        else:
            self.reborn |= {key} - self.live.keys()
            self.written.add(key)
            self.live[key] = size

    def rows(self, live: dict[int, int]) -> list[tuple[int, int]]:
        """Return the sizes of key and value of the touched rows."""
        return [(len(KEYS[key]), size) for key, size in live.items() if key in self.touched]

    def check(self, result: ChangeSums) -> None:
        before, live = self.before, self.live
        was, now = self.rows(before), self.rows(live)
        same = {key for key in self.written if before.get(key) == live[key]}
        assert (result.was_rows, result.now_rows) == (len(was), len(now))
        assert (result.was_key_bytes, result.was_value_bytes) == _bytes(was)
        assert (result.now_key_bytes, result.now_value_bytes) == _bytes(now)
        assert result.new_rows == len(live.keys() - before.keys())
        assert result.removed_rows == len(before.keys() - live.keys())
        assert (result.written_rows, result.same_value_rows) == (len(self.written), len(same))
        assert result.changed_rows == len((self.written & before.keys()) - same)
        assert result.written_value_bytes == sum(live[key] for key in self.written)
        assert result.reborn_rows == len(self.reborn)
        assert result.reborn_key_bytes == sum(len(KEYS[key]) for key in self.reborn)
        old, new = sizes_by_part(was), sizes_by_part(now)
        assert result.more_by_size == {
            "key": more_by_size(old["key"], new["key"]),
            "value": more_by_size(old["value"], new["value"]),
            "row": more_by_size(old["row"], new["row"]),
        }


@given(st.lists(st.lists(st.lists(record, max_size=6), max_size=2), max_size=4))
def test_change_counts_equal_counts_key_by_key(versions: list[list[list[Record]]]) -> None:
    state, counted = StateMap(), Counted()
    for version, blocks in enumerate(versions, 1):
        state.begin(version)
        counted.begin()
        for records in blocks:
            state.apply(block(records))
            for key, size in records:
                counted.take(key, size)
        counted.check(state.end().sums)


def sizes_by_part(rows: list[tuple[int, int]]) -> dict[str, Counter[int]]:
    """Return the number of rows by the size of key, value and row."""
    keys, values = ([*zip(*rows, strict=True)]) or ((), ())
    return {"key": Counter(keys), "value": Counter(values), "row": Counter(map(sum, rows))}


def more_by_size(old: Counter[int], new: Counter[int]) -> dict[int, int]:
    """Return how many more rows there are of each size, without sizes of no change."""
    result = new - old
    result.subtract(old - new)
    return dict(result)


def _bytes(rows: list[tuple[int, int]]) -> tuple[int, int]:
    keys, values = np.array(rows, np.int64).reshape(-1, 2).sum(axis=0).tolist()
    return keys, values
