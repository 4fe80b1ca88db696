"""The table of keys: one list of cases over both kernels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.decode._table_py import (
    COUNTS,
    FLAGS,
    NUMBERS,
    REBASED,
    ROW,
    SIZES,
    SUMS,
    TIMED,
    TOUCH,
)
from inspector.decode.kernel import ENVIRONMENT, Kernel, load

NAMES = ["python"] if os.environ.get(ENVIRONMENT) == "python" else ["python", "c"]
BOTH = pytest.mark.skipif("c" not in NAMES, reason="only the Python kernel was asked for")
MOST = (1 << 31) - 1


@pytest.fixture(params=NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel in turn; C that was not built fails, unless Python was asked for."""
    return load(request.param)


def int64s(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def fresh(keys: int) -> npt.NDArray[Any]:
    table = np.zeros(keys, ROW)
    table["touch_step"] = -2
    return table


Put = tuple[int, int, int, int]
"""Id, value size (negative: a removal), hash and clock."""


def apply(  # noqa: PLR0913 - what a version is
    kernel: Kernel,
    table: npt.NDArray[Any],
    records: list[Put],
    *,
    step: int = 0,
    flags: int = 0,
    clocks: bool = True,
    first: int = 0,
) -> tuple[list[Any], dict[str, int]]:
    columns = np.array(records, np.int64).reshape(-1, 4).T.copy()
    ids, sizes, hashes, times = columns
    touched, counts = np.zeros(len(records), TOUCH), np.zeros(len(COUNTS), np.int64)
    given_clocks = times if clocks else None
    arrays = (ids, ids + 8, sizes, hashes.view(np.uint64), given_clocks)
    count = kernel.apply(table, *arrays, step, first, flags, touched, counts)
    return touched[:count].tolist(), dict(zip(COUNTS, counts.tolist(), strict=True))


def settle(
    kernel: Kernel, table: npt.NDArray[Any], touched: list[Any], made: int, *, timed: bool = False
) -> dict[str, list[Any]]:
    parts = np.array(touched, TOUCH)
    numbers = np.full((len(NUMBERS), len(parts) + 1), 77, np.int64)
    flags = np.ones((len(FLAGS), len(parts) + 1), np.bool_)
    kernel.settle(table, parts, made, -5, timed, 1, numbers, flags)
    assert numbers[:, 0].tolist() == [77] * len(NUMBERS)  # in front of ``first`` nothing changes
    assert flags[:, 0].all()
    found = dict(zip(NUMBERS, numbers[:, 1:].tolist(), strict=True))
    return found | dict(zip(FLAGS, flags[:, 1:].tolist(), strict=True))


def test_puts_and_removals(kernel: Kernel) -> None:
    table = fresh(3)
    records = [(0, 8, 1, 9), (1, 16, 2, 9), (0, 8, 1, 9), (1, -1, 0, 9), (2, -1, 0, 9)]
    touched, counts = apply(kernel, table, records, step=4, first=10)
    assert [each[0] for each in touched] == [0, 1, 2]
    assert list(counts.values()) == [3, 2, 1, 1, 16, 2, 1]
    assert table["live"].tolist() == [True, False, False]
    assert table["key_size"].tolist() == [8, 9, 10]
    assert table["puts"].tolist() == [2, 1, 0]
    assert table["put_record"].tolist() == [12, 11, 0]
    assert table["put_step"].tolist() == [4, 4, 0]
    found = settle(kernel, table, touched, 4)
    assert (found["ids"], found["was_clock"]) == ([0, 1, 2], [-5, -5, -5])
    assert (found["written"], found["reborn"]) == ([True, False, False], [True, False, False])


def test_a_touched_key_is_told_once_as_it_was(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], step=0)
    first, _ = apply(kernel, table, [(0, 16, 2, 6)], step=1)
    again, _ = apply(kernel, table, [(0, 8, 1, 7)], step=1)
    assert [each[:5] for each in first] == [(0, 1, 5, 8, True)]
    assert again == []
    found = settle(kernel, table, first, 1)
    assert (found["was_size"], found["now_size"], found["was_clock"]) == ([8], [8], [5])
    assert (found["same_state"], found["same_value"], found["reborn"]) == ([True], [True], [False])
    assert settle(kernel, table, first, 1, timed=True)["same_value"] == [False]


def test_a_clock_that_is_compared_apart(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], flags=TIMED)
    assert apply(kernel, table, [(0, 8, 1, 6)], flags=TIMED)[1]["same_value_puts"] == 0
    assert apply(kernel, table, [(0, 8, 1, 6)], flags=TIMED)[1]["same_value_puts"] == 1
    assert apply(kernel, table, [(0, 8, 1, 9)])[1]["same_value_puts"] == 1


def test_a_snapshot_makes_no_puts_of_its_version(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], step=3, flags=REBASED)
    assert table[["put_step", "born_step", "puts"]].tolist() == [(-1, -1, 0)]


def test_without_clocks_the_table_keeps_its_own(kernel: Kernel) -> None:
    table = fresh(1)
    table["clock"] = 3
    apply(kernel, table, [(0, 8, 1, 5)], clocks=False)
    assert table["clock"].tolist() == [3]


def test_puts_do_not_overflow(kernel: Kernel) -> None:
    table = fresh(1)
    table["puts"] = MOST
    apply(kernel, table, [(0, 8, 1, 5)], first=1 << 40)
    assert table[["puts", "put_record"]].tolist() == [(MOST, 0)]


@pytest.mark.parametrize("key", [-1, 2, 1 << 40, -(1 << 63)])
def test_an_id_without_a_row_is_refused(kernel: Kernel, key: int) -> None:
    with pytest.raises(ValueError, match="without a row"):
        apply(kernel, fresh(2), [(0, 8, 1, 0), (1, 8, 1, 0), (key, 8, 1, 0)])
    touched = [(key, 0, 0, 0, False, b"")]
    with pytest.raises(ValueError, match="without a row"):
        settle(kernel, fresh(2), touched, 0)


def test_arrays_that_do_not_fit_together_are_refused(kernel: Kernel) -> None:
    one, two, counts = int64s(0), int64s(0, 0), np.zeros(len(COUNTS), np.int64)
    hashes, touched = np.zeros(1, np.uint64), np.zeros(1, TOUCH)
    numbers, flags = np.zeros(len(NUMBERS), np.int64), np.zeros(len(FLAGS), np.bool_)
    table = fresh(1)
    calls: list[Any] = [
        lambda: kernel.apply(table, one, two, one, hashes, one, 0, 0, 0, touched, counts),
        lambda: kernel.apply(table, one, one, one, hashes, two, 0, 0, 0, touched, counts),
        lambda: kernel.apply(table, one, one, one, hashes, None, 0, 0, 0, touched, one),
        lambda: kernel.apply(table, one, one, one, hashes, None, 0, 0, 0, touched[:0], counts),
        lambda: kernel.settle(table, touched, 0, 0, False, 1, numbers, flags),
        lambda: kernel.settle(table, touched, 0, 0, False, -1, numbers, flags),
        lambda: kernel.settle(table, touched, 0, 0, False, 0, one, flags),
        lambda: kernel.settle(table, touched, 0, 0, False, 0, numbers, flags[:5]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"differ in length|no room"):
            call()
    for call in (
        lambda: kernel.apply(bytes(48), one, one, one, hashes, one, 0, 0, 0, touched, counts),
        lambda: kernel.apply(table, one, one, one, one * 1.0, one, 0, 0, 0, touched, counts),
    ):
        with pytest.raises((TypeError, BufferError, ValueError)):
            call()


Row = tuple[int, int, int, bool, bool, bool, bool, bool]
"""Sizes of a key, of its value before and now; live before, live now, written, reborn, same."""


def tally(
    kernel: Kernel, rows: list[Row], room: int = 64
) -> tuple[dict[str, int], list[list[int]], int]:
    numbers, flags = np.zeros((len(NUMBERS), len(rows)), np.int64), np.zeros((6, len(rows)), bool)
    columns = list(zip(*rows, strict=True)) or [()] * 8
    numbers[1:4] = np.array(columns[:3], np.int64).reshape(3, -1)
    flags[[0, 1, 2, 3, 5]] = np.array(columns[3:], bool).reshape(5, -1)
    sums, by_size = np.full(len(SUMS), 7, np.int64), np.full((len(SIZES), room), 7, np.int64)
    largest = kernel.tally(numbers, flags, sums, by_size)
    return dict(zip(SUMS, (sums - 7).tolist(), strict=True)), (by_size - 7).tolist(), largest


def test_sums_over_what_became_of_keys(kernel: Kernel) -> None:
    kept_value = (8, 16, 16, True, True, True, False, True)
    larger = (8, 16, 24, True, True, True, True, False)
    gone = (8, 32, 32, True, False, False, False, False)
    fresh_row = (16, 0, 8, False, True, True, True, False)
    never = (16, 0, 0, False, False, False, False, False)
    sums, by_size, largest = tally(kernel, [kept_value, larger, gone, fresh_row, never])
    assert sums == {
        "was_rows": 3,
        "now_rows": 3,
        "new_rows": 1,
        "removed_rows": 1,
        "written_rows": 3,
        "reborn_rows": 2,
        "changed_rows": 1,
        "same_value_rows": 1,
        "was_key_bytes": 24,
        "now_key_bytes": 32,
        "was_value_bytes": 64,
        "now_value_bytes": 48,
        "reborn_key_bytes": 24,
        "written_value_bytes": 48,
    }
    more = [{size: n for size, n in enumerate(counts) if n} for counts in by_size]
    # 24 bytes: a row that was 8 + 16, and one that is 16 + 8.
    assert more == [{8: -1, 16: 1}, {8: 1, 16: -1, 24: 1, 32: -1}, {32: 1, 40: -1}]
    assert largest == 40


def test_sizes_without_room_are_left_out_and_told(kernel: Kernel) -> None:
    row = (8, 0, 64, False, True, True, True, False)
    _, by_size, largest = tally(kernel, [row])
    assert [sum(counts) for counts in by_size] == [1, 0, 0]
    assert largest == 72
    assert tally(kernel, [(8, 64, 64, True, True, True, False, True)])[2] == 0


def test_columns_that_do_not_fit_together_are_refused(kernel: Kernel) -> None:
    numbers, flags = np.zeros(len(NUMBERS), np.int64), np.zeros(len(FLAGS), np.bool_)
    sums, by_size = np.zeros(len(SUMS), np.int64), np.zeros(6, np.int64)
    for columns in (
        (numbers[1:], flags, sums, by_size),
        (numbers, flags[1:], sums, by_size),
        (numbers, flags, sums[1:], by_size),
        (numbers, flags, sums, by_size[1:]),
        (numbers, np.zeros(12, np.bool_), sums, by_size),
    ):
        with pytest.raises(ValueError, match="differ in length"):
            kernel.tally(*columns)
    with pytest.raises((TypeError, BufferError)):
        kernel.tally(numbers, flags, sums, bytes(48))


any_size = st.one_of(st.integers(0, 70), st.integers(-(1 << 63), (1 << 63) - 1))
any_rows = st.lists(st.tuples(any_size, any_size, any_size, *[st.booleans()] * 5), max_size=30)


@BOTH
@settings(max_examples=200, deadline=None)
@given(any_rows)
def test_sums_are_the_same_in_both(rows: list[Row]) -> None:
    one, other = (tally(load(name), rows) for name in NAMES)
    assert one == other


records = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-1, 1), st.integers(0, 1), st.integers(0, 1)),
    max_size=40,
)


@BOTH
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(records, st.integers(0, 3)), max_size=4), st.booleans())
def test_tables_are_the_same_in_both(versions: list[tuple[list[Put], int]], clocks: bool) -> None:
    tables = [fresh(4), fresh(4)]
    for step, (each, flags) in enumerate(versions):
        found = []
        for name, table in zip(NAMES, tables, strict=True):
            told = apply(load(name), table, each, step=step, flags=flags, clocks=clocks)
            changed = settle(load(name), table, told[0], step, timed=bool(flags & TIMED))
            found.append((told, changed, table.tolist()))
        assert found[0] == found[1]
