"""Number of executors that hold a state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.estimates.sizing import (
    RESERVED_BYTES,
    SHAPES,
    Load,
    heap_bytes_for,
    room_bytes,
)
from tests.attributes import attributes

GIB = 1 << 30
sizes = st.lists(st.integers(0, 10**6), max_size=12)


def test_executor_load_is_even_share_or_worst_case() -> None:
    usual, maximum = [10, 10, 10, 50], [15, 15, 15, 90]
    load = Load(usual, maximum)
    assert load.partitions == 4
    assert load.spread(executors=2, cores=1) == (40 + 13, 60 + 40)
    assert load.spread(executors=1, cores=8) == (80 + 55, 80 + 55)
    assert Load([], []).spread(executors=3, cores=4) == (0, 0)


def test_peak_below_usual_size_adds_nothing() -> None:
    assert Load([10, 10], [5, 5]).spread(1, 2) == (20, 20)


@given(sizes, st.integers(0, 10**7), st.integers(1, 9), st.booleans())
def test_smallest_number_of_executors_that_hold_the_state(
    usual: list[int], room: int, cores: int, evenly: bool
) -> None:
    load = Load(usual, [2 * size for size in usual])
    needs = [load.spread(n, cores) for n in range(1, max(1, len(usual)) + 1)]
    enough = [n for n, need in enumerate(needs, 1) if (need.even if evenly else need.worst) <= room]
    assert load.executors_for(room, cores, evenly=evenly) == min(enough, default=None)


@pytest.mark.parametrize("percent", [None, 1, 40, 100])
@given(room=st.integers(1, 1 << 40))
def test_smallest_heap_with_enough_room(percent: int | None, room: int) -> None:
    heap = heap_bytes_for(room, percent)
    assert room_bytes(heap, percent) >= room
    assert room_bytes(heap - 1, percent) < room


def test_usable_heap_share_of_spark() -> None:
    assert room_bytes(RESERVED_BYTES // 2) == 0
    assert room_bytes(8 * GIB) == (8 * GIB - RESERVED_BYTES) * 4 // 10
    assert attributes(SHAPES, "heap_bytes", "cores") == [
        *((2 * GIB, 1), (4 * GIB, 2), (8 * GIB, 4)),
        *((16 * GIB, 4), (32 * GIB, 8), (64 * GIB, 16)),
    ]
