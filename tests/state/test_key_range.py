"""Ranges of keys. Every record is in one range, and keys with a common part in the same."""

from __future__ import annotations

import struct
from itertools import chain, cycle, islice

import numpy as np
import pytest

from inspector.model import KeyRange
from inspector.state.key_range import RangeFilter, common_part
from inspector.state.replay import StateMap, Tracking
from tests.attributes import attributes
from tests.cases import block

KEYS = [b"key %d" % number for number in range(40)]
VALUES = (*[b"v" * 8] * 8, None)
ENTRIES = list(islice(zip(cycle(KEYS), cycle(VALUES), strict=False), 100))


def filters(count: int) -> list[RangeFilter]:
    return [RangeFilter(KeyRange(number, count, 77)) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_ranges_of_a_block_partition_its_records(count: int) -> None:
    complete = block(ENTRIES, first_record=50)
    parts = [item.of(complete) for item in filters(count)]
    ordinals = np.concatenate(attributes(parts, "ordinals"))
    assert sorted(ordinals.tolist()) == list(range(50, 150))
    offsets = np.concatenate(attributes(parts, "key_offset"))
    assert (offsets == complete.key_offset[ordinals - 50]).all()
    lengths = np.concatenate(attributes(parts, "value_length"))
    assert (lengths == complete.value_length[ordinals - 50]).all()


def test_nested_block_parts_keep_record_ordinals() -> None:
    part = block(ENTRIES).part(np.array([3, 5, 8])).part(np.array([0, 2]))
    assert part.ordinals.tolist() == [3, 8]


def state_of(key_range: RangeFilter) -> StateMap:
    """Return the map of one range of keys after two versions."""
    state = StateMap(Tracking(keys=key_range))
    state.begin(1)
    state.apply(block(ENTRIES[:25]))
    state.apply(block(ENTRIES[25:50], first_record=25))
    state.end()
    assert state.records == 50
    state.begin(2)
    state.apply(block(ENTRIES[60:]))
    state.end()
    assert state.records == 40
    return state


@pytest.mark.parametrize("count", [2, 7])
def test_maps_of_key_ranges_partition_the_map(count: int) -> None:
    (complete,), parts = map(state_of, filters(1)), list(map(state_of, filters(count)))
    assert complete.rows == sum(attributes(parts, "rows"))
    assert complete.value_bytes == sum(attributes(parts, "value_bytes"))
    assert sorted(chain(*map(keys_of, parts))) == keys_of(complete)


def keys_of(state: StateMap) -> list[tuple[int, int, bytes]]:
    """Return position of first appearance, position of the last record, and key of all keys."""
    ids = np.arange(len(state))
    columns = state.appearance(ids).tolist(), state.record[ids].tolist(), state.keys(ids)
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_join_row_and_counter_are_in_the_same_range(number: int) -> None:
    """The index follows the key's fields, so variable parts are 8 bytes further."""
    keys = [struct.pack("<3Q", 0, i, 24 << 32 | 8) + b"user %03d" % i for i in range(50)]
    rows = [struct.pack("<4Q", 0, i, 32 << 32 | 8, i) + b"user %03d" % i for i in range(50)]
    counters_of, rows_of = common_part([True, False], 2), common_part([True, False], 3)
    key_range = KeyRange(number, 5, 9)
    first = RangeFilter(key_range, counters_of).of(block(list(dict.fromkeys(keys, b"").items())))
    second = RangeFilter(key_range, rows_of).of(block(list(dict.fromkeys(rows, b"").items())))
    assert first.ordinals.tolist() == second.ordinals.tolist()
