"""Merging of several tables, by both kernels."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.kernel.loader import load
from inspector.kernel.record_layout import BAD_ORDER, FULL, MORE
from tests.cases import KERNELS
from tests.kernel.support import Kernel, int64s, needs_c, spans_of

PUT, MERGE, DELETION, SINGLE = 1, 2, 0, 7

Run = list[tuple[bytes, int, int]]
"""Keys, sequence numbers and types."""
Range = tuple[bytes, bytes, int]


def call(
    kernel: Kernel,
    runs: list[Run],
    ranges: list[Range],
    *,
    room: tuple[int, int] = (99, 99),
    first: int = 0,
) -> Any:
    """Return status, state, the entries of the value of each live key, and the used room."""
    entries = list(chain(*runs))
    tags = int64s(*(sequence << 8 | kind for _, sequence, kind in entries))
    ends = np.cumsum([0, *map(len, runs)])
    state, order, pieces = (
        int64s(first, 0),
        np.zeros(room[0], np.int64),
        np.zeros(room[1], np.int64),
    )
    bounds = [bound for start, end, _ in ranges for bound in (start, end)]
    status, keys, used = kernel.table_live(
        *spans_of([key for key, _, _ in entries]),
        tags,
        ends,
        *spans_of(bounds),
        int64s(*(sequence for _, _, sequence in ranges)),
        state,
        order,
        pieces,
    )
    cuts = [0, *np.cumsum(pieces[:keys]).tolist()]
    return status, state.tolist(), [order[a:b].tolist() for a, b in pairwise(cuts)], used


def live(kernel: Kernel, *runs: Run, ranges: tuple[Range, ...] = ()) -> list[list[int]]:
    status, _, result, used = call(kernel, list(runs), list(ranges))
    assert (status, used) == (MORE, sum(map(len, result)))
    return list(result)


def test_newest_entry_decides(kernel: Kernel) -> None:
    old = [(b"a", 1, PUT), (b"b", 2, PUT), (b"c", 3, PUT), (b"d", 4, PUT)]
    new = [(b"b", 7, PUT), (b"c", 6, DELETION), (b"d", 5, SINGLE)]
    assert live(kernel, old, new) == [[0], [4]]
    assert live(kernel, new, old) == [[3], [0]]
    assert live(kernel, []) == []
    assert live(kernel) == []


def test_merge_operands_apply_to_the_newest_base(kernel: Kernel) -> None:
    run = [(b"a", 9, MERGE), (b"a", 8, MERGE), (b"a", 7, PUT), (b"a", 6, MERGE), (b"b", 1, MERGE)]
    assert live(kernel, run) == [[2, 1, 0], [4]]
    deleted = [(b"a", 9, MERGE), (b"a", 8, DELETION), (b"a", 7, PUT)]
    assert live(kernel, deleted) == [[0]]
    assert live(kernel, [(b"a", 9, MERGE)], [(b"a", 2, PUT)], [(b"a", 5, MERGE)]) == [[1, 2, 0]]


def test_range_deletions_remove_older_entries(kernel: Kernel) -> None:
    run = [(b"a", 5, PUT), (b"b", 5, PUT), (b"b", 4, PUT), (b"c", 3, PUT), (b"d", 2, PUT)]
    assert live(kernel, run, ranges=((b"b", b"d", 4),)) == [[0], [1], [4]]
    assert live(kernel, run, ranges=((b"b", b"c", 6), (b"c", b"e", 3))) == [[0], [3]]
    operands = [(b"b", 9, MERGE), (b"b", 5, PUT)]
    assert live(kernel, operands, ranges=((b"a", b"c", 7),)) == [[0]]


def test_range_position_is_kept_between_calls(kernel: Kernel) -> None:
    ranges: list[Range] = [(b"a", b"b", 9), (b"c", b"d", 9), (b"e", b"f", 9)]
    assert call(kernel, [[(b"c", 1, PUT)]], ranges)[1:3] == ([1, 0], [])
    assert call(kernel, [[(b"c", 1, PUT)]], ranges, first=2)[1:3] == ([2, 0], [[0]])
    assert call(kernel, [[(b"z", 1, PUT)]], ranges)[1:3] == ([3, 0], [[0]])


def test_duplicate_sequence_number_is_refused(kernel: Kernel) -> None:
    status, state, result, _ = call(
        kernel, [[(b"a", 1, PUT), (b"b", 1, PUT)], [(b"b", 1, MERGE)]], []
    )
    assert (status, result) == (BAD_ORDER, [[0]])
    assert state[1] == 1  # the entry with the lower type is second


def test_table_live_stops_when_the_room_is_full(kernel: Kernel) -> None:
    run = [(b"a", 2, MERGE), (b"a", 1, PUT), (b"b", 1, PUT)]
    assert call(kernel, [run], [], room=(3, 2))[0] == MORE
    assert call(kernel, [run], [], room=(2, 2))[0] == FULL
    assert call(kernel, [run], [], room=(3, 1))[0] == FULL


def test_table_live_refuses_wrong_arguments(kernel: Kernel) -> None:
    nothing, key = spans_of([]), spans_of([b"a"])
    first, two = int64s(1), int64s(0, 0)

    def refused(**second: Any) -> None:
        arguments: dict[str, Any] = {
            "keys": key,
            "tags": first,
            "bounds": nothing,
            "sequences": int64s(),
            "state": two,
        }
        inputs = arguments | {"runs": int64s(0, 1)} | second
        call_it: Any = kernel.table_live
        spans_of_keys = (*inputs["keys"], inputs["tags"], inputs["runs"])
        remainder = (*inputs["bounds"], inputs["sequences"], inputs["state"], int64s(0), int64s(0))
        with pytest.raises(ValueError, match=r"outside|length"):
            call_it(*spans_of_keys, *remainder)

    refused(keys=(b"a", int64s(0), int64s(2)))
    refused(tags=int64s(1, 1))
    refused(sequences=first)
    refused(bounds=spans_of([b"a"]))
    refused(state=int64s(0))
    refused(state=int64s(-1, 0))
    refused(runs=int64s(0, 2))
    refused(runs=int64s(-1, 1))
    refused(runs=int64s(1, 0))


KEYS = st.sampled_from([b"", b"a", b"aa", b"b", b"c"])
ENTRIES = st.lists(
    st.tuples(KEYS, st.integers(0, 9), st.sampled_from([0, 1, 1, 2, 2, 7])), max_size=8
)


@needs_c
@given(
    st.lists(ENTRIES, max_size=4),
    st.lists(st.integers(0, 9), max_size=4),
    st.sampled_from([(99, 99), (2, 99), (99, 1)]),
    st.integers(0, 5),
)
def test_kernels_find_live_entries_alike(
    runs: list[Run], sequences: list[int], room: tuple[int, int], first: int
) -> None:
    ordered = [sorted(run, key=lambda item: (item[0], -item[1], -item[2])) for run in runs]
    bounds = [(b"", b"a"), (b"a", b"aa"), (b"b", b"bb"), (b"c", b"d")]
    ranges = [(start, end, seq) for (start, end), seq in zip(bounds, sequences, strict=False)]
    result = call(load("c"), ordered, ranges, room=room, first=first)
    assert result == call(load("python"), ordered, ranges, room=room, first=first)


@pytest.mark.parametrize("name", KERNELS)
@given(
    runs=st.lists(ENTRIES, max_size=3),
    ranges=st.lists(st.tuples(KEYS, KEYS, st.integers(0, 9)), max_size=3),
)
def test_unordered_runs_and_ranges_do_not_crash(
    name: str, runs: list[Run], ranges: list[Range]
) -> None:
    call(load(name), runs, ranges)
