"""The table of keys, by both kernels."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from inspector.kernel.record_layout import (
    BEFORE_WINDOW,
    COUNTS,
    NO_CLOCK,
    NUMBERS,
    OUTCOMES,
    REBASED,
    ROW,
    SIZES,
    SUMS,
    TIMED,
    TOUCH,
)
from tests.attributes import attributes
from tests.cases import KERNELS
from tests.kernel.support import Kernel, assert_refused, int64s, needs_c

MOST = (1 << 31) - 1


def fresh(keys: int) -> npt.NDArray[Any]:
    return np.zeros(keys, ROW)


class Applied(NamedTuple):
    """Results of applying records."""

    touched: list[Any]
    counts: dict[str, int]
    sums: dict[str, int]
    by_size: list[list[int]]
    largest: int


Put = tuple[int, int, int, int]
"""Id, value size (negative for a removal), hash and clock."""


def apply(  # noqa: PLR0913 - what a version is
    kernel: Kernel,
    table: npt.NDArray[Any],
    records: list[Put],
    *,
    step: int = 0,
    flags: int = 0,
    clocks: bool = True,
    first: int = 0,
    room: int = 64,
) -> Applied:
    columns = np.array(records, np.int64).reshape(-1, 4).T.copy()
    ids, sizes, hashes, times = columns
    touched, counts = np.zeros(len(records), TOUCH), np.zeros(len(COUNTS), np.int64)
    given_clocks = times if clocks else None
    arrays = (ids, ids + 8, sizes, hashes.view(np.uint64), given_clocks)
    sums, by_size = seven(room)
    results = (touched, counts, sums, by_size)
    count, largest = kernel.apply(table, *arrays, step, first, flags, *results)
    return Applied(
        touched[:count].tolist(),
        dict(zip(COUNTS, counts.tolist(), strict=True)),
        dict(zip(SUMS, (sums - 7).tolist(), strict=True)),
        (by_size - 7).tolist(),
        largest,
    )


def seven(room: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the result arrays of a tally, filled with sevens that the tally adds to."""
    return np.full(len(SUMS), 7, np.int64), np.full((len(SIZES), room), 7, np.int64)


def tally(
    kernel: Kernel,
    table: npt.NDArray[Any],
    touched: list[Any],
    *,
    step: int = 0,
    flags: int = 0,
    room: int = 64,
) -> tuple[dict[str, int], list[list[int]], int]:
    sums, by_size = seven(room)
    largest = kernel.tally(table, np.array(touched, TOUCH), step, flags, sums, by_size)
    return dict(zip(SUMS, (sums - 7).tolist(), strict=True)), (by_size - 7).tolist(), largest


def change_columns(
    kernel: Kernel, table: npt.NDArray[Any], touched: list[Any], step: int, flags: int = 0
) -> dict[str, list[Any]]:
    parts = np.array(touched, TOUCH)
    numbers = np.full((len(NUMBERS), len(parts) + 1), 77, np.int64)
    outcomes = np.ones((len(OUTCOMES), len(parts) + 1), np.bool_)
    kernel.change_columns(table, parts, step, flags, 1, numbers, outcomes)
    assert numbers[:, 0].tolist() == [77] * len(NUMBERS)  # columns before ``first`` are unchanged
    assert outcomes[:, 0].all()
    result = dict(zip(NUMBERS, numbers[:, 1:].tolist(), strict=True))
    return result | dict(zip(OUTCOMES, outcomes[:, 1:].tolist(), strict=True))


def test_apply_puts_and_removals(kernel: Kernel) -> None:
    table = fresh(3)
    records = [(0, 8, 1, 9), (1, 16, 2, 9), (0, 8, 1, 9), (1, -1, 0, 9), (2, -1, 0, 9)]
    touched, counts, *_ = apply(kernel, table, records, step=4, first=10)
    ids, *_ = zip(*touched, strict=True)
    assert ids == (0, 1, 2)
    assert list(counts.values()) == [3, 2, 1, 1, 16, 2, 1]
    assert table["live"].tolist() == [True, False, False]
    assert table["key_size"].tolist() == [8, 9, 10]
    assert table["puts"].tolist() == [2, 1, 0]
    assert table["record"].tolist() == [12, 13, 14]
    assert table["put_step"].tolist() == [4, 4, BEFORE_WINDOW]
    assert table["touched"].tolist() == [5, 5, 5]
    result = change_columns(kernel, table, touched, 4)
    assert (result["ids"], result["was_clock"]) == ([0, 1, 2], [NO_CLOCK] * 3)
    assert (result["written"], result["reborn"]) == ([True, False, False], [True, False, False])


def test_touched_key_is_recorded_once_with_its_previous_row(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], step=0)
    first = apply(kernel, table, [(0, 16, 2, 6)], step=1).touched
    again = apply(kernel, table, [(0, 8, 1, 7)], step=1).touched
    (touch,) = first
    assert touch[:5] == (0, 1, 5, 8, True)
    assert again == []
    result = change_columns(kernel, table, first, 1)
    assert (result["was_size"], result["now_size"], result["was_clock"]) == ([8], [8], [5])
    assert (result["same_state"], result["same_value"], result["reborn"]) == (
        [True],
        [True],
        [False],
    )
    assert change_columns(kernel, table, first, 1, TIMED)["same_value"] == [False]


def test_timed_flag_compares_the_clock_separately(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], flags=TIMED)
    assert apply(kernel, table, [(0, 8, 1, 6)], flags=TIMED).counts["same_value_puts"] == 0
    assert apply(kernel, table, [(0, 8, 1, 6)], flags=TIMED).counts["same_value_puts"] == 1
    assert apply(kernel, table, [(0, 8, 1, 9)]).counts["same_value_puts"] == 1


def test_snapshot_counts_no_puts(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], step=3, flags=REBASED)
    assert table[["put_step", "born_step", "puts"]].tolist() == [(-1, -1, 0)]


def test_apply_without_clocks_keeps_stored_clocks(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)], clocks=False)
    assert table["clock"].tolist() == [NO_CLOCK]
    apply(kernel, table, [(0, 8, 1, 5)])
    apply(kernel, table, [(0, 8, 1, 6)], clocks=False)
    assert table["clock"].tolist() == [5]


def test_number_of_puts_does_not_overflow(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 5)])
    table["puts"] = MOST
    apply(kernel, table, [(0, 8, 1, 5)], first=1 << 40)
    assert table[["puts", "record"]].tolist() == [(MOST, 0)]


@pytest.mark.parametrize("key", [-1, 2, 1 << 40, -(1 << 63)])
def test_key_id_without_a_row_is_refused(kernel: Kernel, key: int) -> None:
    with pytest.raises(ValueError, match="without a row"):
        apply(kernel, fresh(2), [(0, 8, 1, 0), (1, 8, 1, 0), (key, 8, 1, 0)])
    touched = [(key, 0, 0, 0, False, b"")]
    with pytest.raises(ValueError, match="without a row"):
        change_columns(kernel, fresh(2), touched, 0)
    with pytest.raises(ValueError, match="without a row"):
        tally(kernel, fresh(2), touched)


def test_apply_refuses_arrays_of_different_length(kernel: Kernel) -> None:
    item, two, counts = int64s(0), int64s(0, 0), np.zeros(len(COUNTS), np.int64)
    hashes, touched = np.zeros(1, np.uint64), np.zeros(1, TOUCH)
    numbers, outcomes = np.zeros(len(NUMBERS), np.int64), np.zeros(len(OUTCOMES), np.bool_)
    sums, by_size = np.zeros(len(SUMS), np.int64), np.zeros(6, np.int64)
    table = fresh(1)
    put = (table, item, item, item, hashes, None, 0, 0, 0)
    assert_refused(
        lambda: kernel.apply(
            table, item, two, item, hashes, item, 0, 0, 0, touched, counts, sums, by_size
        ),
        lambda: kernel.apply(
            table, item, item, item, hashes, two, 0, 0, 0, touched, counts, sums, by_size
        ),
        lambda: kernel.apply(*put, touched, item, sums, by_size),
        lambda: kernel.apply(*put, touched[:0], counts, sums, by_size),
        lambda: kernel.apply(*put, touched, counts, sums[1:], by_size),
        lambda: kernel.apply(*put, touched, counts, sums, by_size[1:]),
        lambda: kernel.change_columns(table, touched, 0, 0, 1, numbers, outcomes),
        lambda: kernel.change_columns(table, touched, 0, 0, -1, numbers, outcomes),
        lambda: kernel.change_columns(table, touched, 0, 0, 0, item, outcomes),
        lambda: kernel.change_columns(table, touched, 0, 0, 0, numbers, outcomes[:5]),
        lambda: kernel.tally(table, touched, 0, 0, sums[1:], by_size),
        lambda: kernel.tally(table, touched, 0, 0, sums, by_size[1:]),
        match=r"differ in length|no room",
    )
    results = (touched, counts, sums, by_size)
    assert_refused(
        lambda: kernel.apply(bytes(48), item, item, item, hashes, item, 0, 0, 0, *results),
        lambda: kernel.apply(table, item, item, item, item * 1.0, item, 0, 0, 0, *results),
        lambda: kernel.tally(table, touched, 0, 0, sums, bytes(48)),
    )


def test_sums_of_changed_keys(kernel: Kernel) -> None:
    table = fresh(5)  # keys of 8 bytes to 12
    apply(kernel, table, [(0, 16, 1, 0), (1, 16, 1, 0), (2, 32, 1, 0)])
    records = [(0, 16, 1, 0), (1, 24, 2, 0), (2, -1, 0, 0), (3, 8, 1, 0), (4, -1, 0, 0)]
    result = apply(kernel, table, records, step=1)
    assert result.sums == {
        "was_rows": 3,
        "now_rows": 3,
        "new_rows": 1,
        "removed_rows": 1,
        "written_rows": 3,
        "reborn_rows": 1,
        "changed_rows": 1,
        "same_value_rows": 1,
        "was_key_bytes": 8 + 9 + 10,
        "now_key_bytes": 8 + 9 + 11,
        "was_value_bytes": 16 + 16 + 32,
        "now_value_bytes": 16 + 24 + 8,
        "reborn_key_bytes": 11,
        "written_value_bytes": 16 + 24 + 8,
    }
    more_rows = np.zeros((len(SIZES), 64), np.int64)
    keys, values, rows = more_rows
    keys[[10, 11]] = -1, 1
    values[[8, 16, 24, 32]] = 1, -1, 1, -1
    rows[[19, 25, 33, 42]] = 1, -1, 1, -1
    assert result.by_size == more_rows.tolist()
    assert result.largest == 42
    assert tally(kernel, table, result.touched, step=1) == (result.sums, result.by_size, 42)


def test_tally_of_a_key_with_several_records(kernel: Kernel) -> None:
    table = fresh(1)
    apply(kernel, table, [(0, 8, 1, 0)])
    result = apply(kernel, table, [(0, -1, 0, 0), (0, 16, 2, 0)], step=1)
    assert result.sums["removed_rows"] == 1  # the sum after the first record
    sums, by_size, largest = tally(kernel, table, result.touched, step=1)
    assert (sums["removed_rows"], sums["changed_rows"], sums["reborn_rows"]) == (0, 1, 1)
    assert (by_size[1][8], by_size[1][16], largest) == (-1, 1, 24)


def test_sizes_beyond_the_room_are_reported(kernel: Kernel) -> None:
    result = apply(kernel, fresh(1), [(0, 64, 1, 0)])
    assert np.sum(result.by_size, axis=1).tolist() == [1, 0, 0]
    assert result.largest == 72
    table = fresh(1)
    apply(kernel, table, [(0, 64, 1, 0)])
    assert apply(kernel, table, [(0, 64, 2, 0)], step=1).largest == 0  # as many as before


records = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([-1, 0, 1, MOST]),
        st.integers(0, 1),
        st.sampled_from([0, 1, NO_CLOCK]),
    ),
    max_size=40,
)


@needs_c
@given(st.lists(st.tuples(records, st.integers(0, 3)), max_size=4), st.booleans())
def test_kernels_apply_records_alike(versions: list[tuple[list[Put], int]], clocks: bool) -> None:
    tables = [fresh(4), fresh(4)]
    for step, (item, flags) in enumerate(versions):
        result = []
        for name, table in zip(KERNELS, tables, strict=True):
            applied = apply(load(name), table, item, step=step, flags=flags, clocks=clocks)
            changed = change_columns(load(name), table, applied.touched, step, flags)
            again = tally(load(name), table, applied.touched, step=step, flags=flags, room=8)
            result.append((applied, changed, again, table.tolist()))
        assert result[0] == result[1]


@given(st.lists(records, min_size=1, max_size=5), st.integers(0, 3))
@pytest.mark.parametrize("name", KERNELS)
def test_several_versions_in_one_call_equal_single_calls(
    name: str, versions: list[list[Put]], flags: int
) -> None:
    kernel, alone, together = load(name), fresh(4), fresh(4)
    expected: list[Applied] = []
    for step, version in enumerate(versions):
        expected.append(apply(kernel, alone, version, step=step, flags=flags))
        if len(expected[-1].touched) < len(version):
            break  # records after a repeated key are not applied
    flat = np.array(list(chain(*versions)), np.int64).reshape(-1, 4)
    ids, sizes, hashes, times = flat.T.copy()
    ends = np.cumsum(list(map(len, versions)), dtype=np.int64)
    touched = np.zeros(len(ids), TOUCH)
    counts, sums, by_size = (
        np.zeros((len(versions), len(COUNTS)), np.int64),
        np.full((len(versions), len(SUMS)), 7, np.int64),
        np.full((len(SIZES), 64), 7, np.int64),
    )
    arrays = (ids, ids + 8, sizes, hashes.view(np.uint64), times)
    results = (touched, counts, sums, by_size)
    count, largest = kernel.apply(together, *arrays, 0, 0, flags, *results, ends)
    assert (together == alone).all()
    assert touched[:count].tolist() == list(chain(*attributes(expected, "touched")))
    nothing = dict.fromkeys(COUNTS, 0), dict.fromkeys(SUMS, 0)
    result = attributes(expected, "counts", "sums")
    result += [nothing] * (len(versions) - len(expected))
    assert result == [
        (dict(zip(COUNTS, of_counts, strict=True)), dict(zip(SUMS, of_sums, strict=True)))
        for of_counts, of_sums in zip(counts.tolist(), (sums - 7).tolist(), strict=True)
    ]
    assert largest == max(attributes(expected, "largest"))
    assert (by_size - 7).tolist() == np.sum(attributes(expected, "by_size"), axis=0).tolist()


@pytest.mark.parametrize("ends", [(1, 0), (-1, 2), (1, 3)])
def test_version_ends_outside_of_the_records_are_refused(
    kernel: Kernel, ends: tuple[int, int]
) -> None:
    two, hashes = int64s(0, 1), np.zeros(2, np.uint64)
    results = (np.zeros(2, TOUCH), np.zeros(14, np.int64), np.zeros(28, np.int64), int64s(0, 0, 0))
    with pytest.raises(ValueError, match="ends outside"):
        kernel.apply(fresh(2), two, two, two, hashes, None, 0, 0, 0, *results, int64s(*ends))
    with pytest.raises(ValueError, match="differ in length"):
        kernel.apply(fresh(2), two, two, two, hashes, None, 0, 0, 0, *results, int64s(1))
