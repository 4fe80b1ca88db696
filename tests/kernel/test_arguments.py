"""Arguments of the wrong kind: every function of both kernels refuses them, and touches nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from inspector.kernel.loader import ENVIRONMENT, load
from inspector.kernel.record_layout import COUNTS, NUMBERS, OUTCOMES, ROW, SPAN, SUMS, TOUCH

if TYPE_CHECKING:
    from inspector.kernel.loader import Kernel

NAMES = ["python"] if os.environ.get(ENVIRONMENT) == "python" else ["python", "c"]


@pytest.fixture(params=NAMES)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """Each kernel in turn; C that was not built fails, unless Python was asked for."""
    return load(request.param)


def int64s(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


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
CALLS = [(name, at) for name, arguments in SOUND.items() for at in range(len(arguments))]


def of_bytes(sound: Any) -> tuple[str, ...]:
    """The wrong kinds that pass for a sound one where any contiguous buffer has bytes."""
    if isinstance(sound, bytes):
        return "floats", "narrow", "swapped", "objects"
    if isinstance(sound, np.ndarray) and sound.dtype != np.int64:
        return "floats", "narrow", "swapped", "objects", "strided"  # told by size, or not at all
    return ()


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [
        argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments
    ]


@pytest.mark.parametrize("name", SOUND)
def test_functions_accept_valid_arguments(kernel: Kernel, name: str) -> None:
    getattr(kernel, name)(*copied(SOUND[name]))


@pytest.mark.parametrize(("name", "at"), CALLS)
def test_functions_refuse_arguments_of_another_kind(kernel: Kernel, name: str, at: int) -> None:
    for kind, wrong in WRONG.items():
        arguments = copied(SOUND[name])
        if kind in of_bytes(arguments[at]):
            continue
        if (name, at, kind) == ("apply", 5, "none"):
            continue  # no clocks
        arguments[at] = wrong
        with pytest.raises((TypeError, ValueError, BufferError)):
            getattr(kernel, name)(*arguments)


@pytest.mark.parametrize(("name", "at"), CALLS)
def test_functions_refuse_arrays_of_another_length(kernel: Kernel, name: str, at: int) -> None:
    sound = SOUND[name][at]
    if not isinstance(sound, np.ndarray) or name == "scan":
        return  # scan takes as many spans as there is room for
    for size in (len(sound) + 1, 1000):
        arguments = copied(SOUND[name])
        arguments[at] = np.zeros(size, sound.dtype)
        if _may_be_longer(name, at):
            continue
        with pytest.raises(ValueError, match=r".+"):
            getattr(kernel, name)(*arguments)
        assert not arguments[at].view(np.uint8).any()
        # What is closed behind a refusal writes to no array.
        assert not any(
            item.view(np.uint8).any()
            for before, item in zip(SOUND[name], arguments, strict=True)
            if isinstance(before, np.ndarray) and not before.view(np.uint8).any()
        )


def _may_be_longer(name: str, at: int) -> bool:
    """Tables and programs have a length of their own, and so has what counts by size."""
    of_any_length = {
        "apply": (0, 9, 12),
        "change_columns": (0, 1),
        "tally": (0, 1, 5),
        **dict.fromkeys(("check_rows", "read_slots", "descents", "row_hashes"), (3,)),
    }
    return at in of_any_length.get(name, ())


@pytest.mark.parametrize("name", SOUND)
def test_functions_refuse_a_wrong_number_of_arguments(kernel: Kernel, name: str) -> None:
    for arguments in ((), SOUND[name][:-1], (*SOUND[name], 1)):
        with pytest.raises(TypeError):
            getattr(kernel, name)(*arguments)


@pytest.mark.parametrize("wrong", [None, 5, "text", 1.5, [b"key"]])
def test_interner_refuses_arguments_of_another_kind(kernel: Kernel, wrong: Any) -> None:
    interner = kernel.Interner()
    interner.intern(*SPANS, int64s(0, 0))
    sound = (*SPANS, int64s(0, 0))
    intern: Any = interner.intern
    calls: list[Callable[[], object]] = [
        lambda: interner.find(wrong),
        lambda: interner.gather(wrong, int64s(0, 0)),
        lambda: interner.gather(int64s(0), wrong),
        *(partial(intern, *sound[:n], wrong, *sound[n + 1 :]) for n in range(4)),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError, BufferError)):
            call()
    assert len(interner) == 1  # of two equal keys, and it is busy no more
