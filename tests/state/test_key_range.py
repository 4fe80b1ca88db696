"""Ranges of keys: every record is in one, and keys with a common part are in the same."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from inspector.model import KeyRange
from inspector.state.key_range import RangeFilter, common_part
from inspector.state.replay import StateMap, Tracking
from tests.cases import block

ENTRIES = [(b"key %d" % (i % 40), None if i % 9 == 8 else b"%08d" % i) for i in range(100)]


def filters(count: int) -> list[RangeFilter]:
    return [RangeFilter(KeyRange(number, count, 77)) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_ranges_of_a_block_partition_its_records(count: int) -> None:
    complete = block(ENTRIES, first_record=50)
    parts = [item.of(complete) for item in filters(count)]
    assert sorted(n for part in parts for n in part.ordinals.tolist()) == list(range(50, 150))
    for part in parts:
        for i, ordinal in enumerate(part.ordinals.tolist()):
            assert part.key_offset[i] == complete.key_offset[ordinal - 50]
            assert part.value_length[i] == complete.value_length[ordinal - 50]


def test_nested_block_parts_keep_record_ordinals() -> None:
    part = block(ENTRIES).part(np.array([3, 5, 8])).part(np.array([0, 2]))
    assert part.ordinals.tolist() == [3, 8]


def states(count: int) -> list[StateMap]:
    states = []
    for item in filters(count):
        state = StateMap(Tracking(keys=item))
        for version, sample in enumerate((ENTRIES[:60], ENTRIES[60:]), 1):
            state.begin(version)
            for start in (0, 25):
                state.apply(block(sample[start : start + 25], first_record=start))
            state.end()
            assert state.records == min(len(sample), 50)
        states.append(state)
    return states


@pytest.mark.parametrize("count", [2, 7])
def test_maps_of_key_ranges_partition_the_map(count: int) -> None:
    complete, parts = states(1)[0], states(count)
    assert complete.rows == sum(part.rows for part in parts)
    assert complete.value_bytes == sum(part.value_bytes for part in parts)
    assert sum(map(len, parts)) == len(complete)
    result = {}
    for part in parts:
        ids = np.arange(len(part))
        places, records = part.appearance(ids).tolist(), part.record[ids].tolist()
        result.update(dict(zip(part.keys(ids), zip(places, records, strict=True), strict=True)))
    ids = np.arange(len(complete))
    assert sorted(result, key=result.__getitem__) == complete.keys(ids)
    assert [result[key][1] for key in complete.keys(ids)] == complete.record[ids].tolist()


def test_join_row_and_counter_are_in_the_same_range() -> None:
    """The index stands behind the key's fields, so that variable parts lie 8 bytes further."""
    counters, rows = common_part([True, False], 2), common_part([True, False], 3)
    for i in range(50):
        name = b"user %03d" % i
        key = struct.pack("<3Q", 0, i, 24 << 32 | 8) + name
        row = struct.pack("<4Q", 0, i, 32 << 32 | 8, i * 3) + name
        for number in range(5):
            range_ = KeyRange(number, 5, 9)
            first = RangeFilter(range_, counters).of(block([(key, b"12345678")]))
            second = RangeFilter(range_, rows).of(block([(row, b"12345678")]))
            assert first.count == second.count
