"""Arguments of the wrong kind. Every function of both kernels refuses them and writes nothing."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest

from inspector.kernel.record_layout import COUNTS, NUMBERS, OUTCOMES, ROW, SPAN, SUMS, TOUCH
from tests.kernel.support import Kernel, assert_refused, int64s

SPANS = (bytes(64), int64s(0, 16), int64s(16, 16))
TWO = np.zeros(2, np.uint8)
TABLE, TOUCHED = np.zeros(2, ROW), np.zeros(2, TOUCH)
SUMMED = (np.zeros(len(SUMS), np.int64), np.zeros(3 * 8, np.int64))

SOUND: dict[str, tuple[Any, ...]] = {
    "scan": (bytes(64), 0, np.zeros((3, SPAN), np.int64), 100),
    "hash64": (*SPANS, -1, np.zeros(2, np.uint64)),
    "gather": SPANS,
    "apply": (
        *(TABLE, int64s(0, 1), int64s(8, 8), int64s(8, -1), np.zeros(2, np.uint64), int64s(1, 2)),
        *(0, 0, 0, TOUCHED, np.zeros(len(COUNTS), np.int64), *SUMMED),
    ),
    "change_columns": (
        *(TABLE, TOUCHED, 0, 0, 0, np.zeros(len(NUMBERS) * 2, np.int64)),
        np.zeros(len(OUTCOMES) * 2, np.uint8),
    ),
    "tally": (TABLE, TOUCHED, 0, 0, *SUMMED),
    "check_rows": (*SPANS, int64s(1, 0), TWO),
    "read_slots": (*SPANS, int64s(1, 0), int64s(0, 0), TWO),
    "descents": (*SPANS, int64s(1, 8), TWO),
    "row_hashes": (*SPANS, int64s(1, 1, 8), int64s(0, 0), TWO),
}
"""Arguments with which each function does what it is for."""

WRONG: dict[str, Any] = {
    "none": None,
    "text": "text",
    "fraction": 1.5,
    "list": [1, 2],
    "floats": np.zeros(2, np.float64),
    "narrow": np.zeros(2, np.int32),
    "strided": np.zeros(64, np.int64)[::2],
    "swapped": np.zeros(2, ">i8"),
    "objects": np.zeros(2, object),
}


def accepted_kinds(valid: Any) -> tuple[str, ...]:
    """Return the wrong kinds that are accepted in place of a valid argument.

    Parameters of bytes accept every contiguous buffer.
    """
    if isinstance(valid, bytes):
        return "floats", "narrow", "swapped", "objects"
    if isinstance(valid, np.ndarray) and valid.dtype != np.int64:
        return "floats", "narrow", "swapped", "objects", "strided"  # only the size is checked
    return ()


ALSO_ACCEPTED = {("apply", 5): {"none"}}  # None is valid for clocks
CALLS = [(name, at) for name, arguments in SOUND.items() for at in range(len(arguments))]


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return copy.deepcopy(list(arguments))


@pytest.mark.parametrize("name", SOUND)
def test_functions_accept_valid_arguments(kernel: Kernel, name: str) -> None:
    getattr(kernel, name)(*copied(SOUND[name]))


@pytest.mark.parametrize(("name", "at"), CALLS)
def test_functions_refuse_arguments_of_another_kind(kernel: Kernel, name: str, at: int) -> None:
    wrong = WRONG.keys() - accepted_kinds(SOUND[name][at]) - ALSO_ACCEPTED.get((name, at), set())
    before, after = copied(SOUND[name][:at]), copied(SOUND[name][at + 1 :])
    function = partial(getattr(kernel, name), *before)
    assert_refused(*(partial(function, WRONG[kind], *after) for kind in wrong))


OF_FIXED_LENGTH = [
    *(("hash64", 1), ("hash64", 2), ("hash64", 4), ("gather", 1), ("gather", 2)),
    *(("apply", 1), ("apply", 2), ("apply", 3), ("apply", 4), ("apply", 5)),
    *(("apply", 10), ("apply", 11), ("change_columns", 5), ("change_columns", 6), ("tally", 4)),
    *(("check_rows", 1), ("check_rows", 2), ("check_rows", 4)),
    *(("read_slots", 1), ("read_slots", 2), ("read_slots", 4), ("read_slots", 5)),
    *(("descents", 1), ("descents", 2), ("descents", 4)),
    *(("row_hashes", 1), ("row_hashes", 2), ("row_hashes", 4), ("row_hashes", 5)),
]
"""Positions of arrays, except tables, programs and counts by size, whose length is free."""


@pytest.mark.parametrize("more", [1, 998])
@pytest.mark.parametrize(("name", "at"), OF_FIXED_LENGTH)
def test_functions_refuse_arrays_of_another_length(
    kernel: Kernel, name: str, at: int, more: int
) -> None:
    arguments = copied(SOUND[name])
    arguments[at] = np.zeros(len(SOUND[name][at]) + more, arguments[at].dtype)
    before = copied(tuple(arguments))
    with pytest.raises(ValueError, match=r".+"):
        getattr(kernel, name)(*arguments)
    np.testing.assert_equal(arguments, before)  # nothing was written


@pytest.mark.parametrize("name", SOUND)
def test_functions_refuse_a_wrong_number_of_arguments(kernel: Kernel, name: str) -> None:
    function = getattr(kernel, name)
    assert_refused(
        function,
        lambda: function(*SOUND[name][:-1]),
        lambda: function(*SOUND[name], 1),
    )


@pytest.mark.parametrize("wrong", [None, 5, "text", 1.5, [b"key"]])
def test_interner_refuses_arguments_of_another_kind(kernel: Kernel, wrong: Any) -> None:
    interner = kernel.Interner()
    interner.intern(*SPANS, int64s(0, 0))
    sound = (*SPANS, int64s(0, 0))
    intern: Any = interner.intern
    assert_refused(
        lambda: interner.find(wrong),
        lambda: interner.gather(wrong, int64s(0, 0)),
        lambda: interner.gather(int64s(0), wrong),
        partial(intern, wrong, *sound[1:]),
        partial(intern, sound[0], wrong, *sound[2:]),
        partial(intern, *sound[:2], wrong, sound[3]),
        partial(intern, *sound[:3], wrong),
    )
    assert len(interner) == 1  # the interner is not locked after a refusal
