"""Ranges of keys: one list of cases over both kernels."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import ENVIRONMENT, load

if TYPE_CHECKING:
    from inspector.kernel.loader import Kernel

NAMES = ["python"] if os.environ.get(ENVIRONMENT) == "python" else ["python", "c"]
BOTH = pytest.mark.skipif("c" not in NAMES, reason="only the Python kernel was asked for")


@pytest.fixture(params=NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel in turn; C that was not built fails, unless Python was asked for."""
    return load(request.param)


def int64s(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def chosen(
    kernel: Kernel, keys: list[bytes], ranges: int, number: int, masks: tuple[int, ...] = ()
) -> list[int]:
    lengths = int64s(*map(len, keys))
    offsets = np.cumsum(lengths) - lengths
    rows = np.full(len(keys), -9, np.int64)
    data = b"".join(keys)
    count = kernel.rows_of_range(data, offsets, lengths, int64s(*masks), 5, ranges, number, rows)
    assert (rows[count:] == -9).all()
    result: list[int] = rows[:count].tolist()
    return result


def test_every_key_is_in_one_range(kernel: Kernel) -> None:
    keys = [b"%d" % i for i in range(500)]
    result = [chosen(kernel, keys, 7, number) for number in range(7)]
    assert sorted(row for rows in result for row in rows) == list(range(500))
    assert all(40 < len(rows) < 110 and rows == sorted(rows) for rows in result)
    assert chosen(kernel, keys, 1, 0) == list(range(500))


def test_masked_words_do_not_choose_the_range(kernel: Kernel) -> None:
    """A word without bits is passed over wherever it stands, one with some counts by those."""
    keys = [struct.pack("<3Q", i, 6, 0xAA00 | i) for i in range(64)] + [struct.pack("<2Q", 6, 0xAA)]
    for number in range(3):
        assert len(chosen(kernel, keys[:64], 3, number, (0, -1, 0xFF00))) in (0, 64)
    short = chosen(kernel, [struct.pack("<Q", 6) + b"tail"], 1 << 31, 0, (-1,))
    second = chosen(kernel, [struct.pack("<2Q", 9, 6) + b"tail"], 1 << 31, 0, (0, -1))
    assert short == second


def test_rows_of_range_refuses_wrong_arguments(kernel: Kernel) -> None:
    item = int64s(0)
    for ranges, number in ((0, 0), (2, 2), (2, -1), ((1 << 31) + 1, 0)):
        with pytest.raises(ValueError, match="no such range"):
            kernel.rows_of_range(b"", item, item, int64s(), 0, ranges, number, item.copy())
    with pytest.raises(ValueError, match="outside"):
        kernel.rows_of_range(b"", item, int64s(1), int64s(), 0, 1, 0, item.copy())
    with pytest.raises(ValueError, match="differ in length"):
        kernel.rows_of_range(b"", item, item, int64s(), 0, 1, 0, int64s())


@BOTH
@given(
    st.lists(st.binary(max_size=70), max_size=20),
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=6),
    st.integers(1, 9),
    st.data(),
)
def test_kernels_choose_ranges_alike(
    keys: list[bytes], masks: list[int], ranges: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, ranges - 1))
    python, c = (chosen(load(name), keys, ranges, number, tuple(masks)) for name in NAMES)
    assert python == c
