"""Handles of a table index, by both kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from tests.decode.sst.tables import varint
from tests.kernel.support import Kernel, needs_c

MOST = 1 << 61


def handles(
    kernel: Kernel,
    entries: bytes,
    *,
    delta: bool = False,
    first_keys: bool = False,
    room: int = 20,
    trailer: int = 5,
) -> tuple[bool, list[tuple[int, int]]]:
    """Return whether the handles are complete, and the handles."""
    offsets, sizes = np.zeros((2, room), np.int64)
    count, complete = kernel.index_handles(entries, delta, first_keys, trailer, offsets, sizes)
    pairs = zip(offsets[:count].tolist(), sizes[:count].tolist(), strict=True)
    return complete, list(pairs)


def entry(shared: int, key: bytes, value: bytes, *, delta: bool = False) -> bytes:
    length = b"" if delta else varint(len(value))
    return varint(shared) + varint(len(key)) + length + key + value


def handle(offset: int, size: int) -> bytes:
    return varint(offset) + varint(size)


def zigzag(value: int) -> bytes:
    return varint(value << 1 ^ value >> 63)


def test_index_handles_of_plain_values(kernel: Kernel) -> None:
    data = entry(0, b"abc", handle(0, 500)) + entry(2, b"x", handle(505, 300))
    assert handles(kernel, data) == (True, [(0, 500), (505, 300)])
    assert handles(kernel, b"") == (True, [])
    longer = entry(0, b"abc", handle(7, 500) + b"and more")
    assert handles(kernel, longer) == (True, [(7, 500)])


def test_index_handles_of_delta_encoded_values(kernel: Kernel) -> None:
    data = (
        entry(0, b"abc", handle(10, 500), delta=True)
        + entry(1, b"x", zigzag(-200), delta=True)
        + entry(1, b"", zigzag(7), delta=True)
        + entry(0, b"z", handle(5000, 1), delta=True)
    )
    result = [(10, 500), (515, 300), (820, 307), (5000, 1)]
    assert handles(kernel, data, delta=True) == (True, result)


def test_index_first_keys_are_skipped(kernel: Kernel) -> None:
    first = varint(3) + b"key"
    data = entry(0, b"a", handle(0, 9) + first) + entry(0, b"b", handle(14, 9) + first)
    assert handles(kernel, data, first_keys=True) == (True, [(0, 9), (14, 9)])
    data = entry(0, b"a", handle(0, 9) + first, delta=True)
    data += entry(1, b"b", zigzag(0) + first, delta=True)
    assert handles(kernel, data, delta=True, first_keys=True) == (True, [(0, 9), (14, 9)])


@pytest.mark.parametrize(
    "bad",
    [
        b"\x80",
        b"\0\x05abc",
        b"\0\0\x02\x80\x80",  # a handle that does not end within its value
        b"\0\0\x01\x05",  # no size
        entry(4, b"", handle(0, 1)),  # shares more than there is
        entry(0, b"a", handle(MOST + 1, 1)),
        entry(0, b"a", handle(1, MOST + 1)),
        b"\0\0\x7f\0\0",
        varint(0) + varint(1 << 63) + varint(2) + handle(0, 0),
        b"\0" + b"\xff" * 9 + b"\x02" + b"\0",  # more than 64 bits
    ],
)
def test_index_entries_with_impossible_lengths(kernel: Kernel, bad: bytes) -> None:
    good = entry(0, b"abc", handle(0, 500))
    assert handles(kernel, good + bad) == (False, [(0, 500)])


@pytest.mark.parametrize("options", [-501, 1 << 61, -(1 << 63), (1 << 63) - 1])
def test_index_sizes_out_of_range(kernel: Kernel, options: int) -> None:
    data = entry(0, b"abc", handle(0, 500), delta=True) + entry(
        1, b"x", zigzag(options), delta=True
    )
    assert handles(kernel, data, delta=True) == (False, [(0, 500)])
    data = entry(0, b"abc", handle(MOST, MOST), delta=True)
    data += entry(1, b"x", zigzag(0), delta=True)
    assert handles(kernel, data, delta=True) == (False, [(MOST, MOST)])


def test_index_handles_stop_when_the_room_is_full(kernel: Kernel) -> None:
    data = entry(0, b"a", handle(0, 9)) * 3
    assert handles(kernel, data, room=2) == (False, [(0, 9), (0, 9)])
    assert handles(kernel, data, room=3)[0]


def test_index_handles_refuses_wrong_arguments(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="the trailer lies outside of 0 to 64 bytes"):
        handles(kernel, b"", trailer=-1)
    with pytest.raises(ValueError, match="length"):
        kernel.index_handles(b"", False, False, 5, np.zeros(1, np.int64), np.zeros(2, np.int64))


PARTS = st.sampled_from(
    [b"\0", b"\x01", b"\x02", b"\x05", b"abc", b"\x80", b"\xff" * 8, handle(9, 300), zigzag(-3)]
)


@needs_c
@given(
    st.lists(PARTS, max_size=30).map(b"".join) | st.binary(max_size=60),
    st.booleans(),
    st.booleans(),
)
def test_kernels_read_index_handles_alike(data: bytes, delta: bool, first_keys: bool) -> None:
    result = handles(load("c"), data, delta=delta, first_keys=first_keys)
    assert result == handles(load("python"), data, delta=delta, first_keys=first_keys)
