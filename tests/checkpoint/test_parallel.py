"""Parallel requests: their order, number and failures."""

import threading

import pytest

from inspector.checkpoint.patience import THREADS, in_parallel
from inspector.exceptions import LimitError


def test_parallel_results_keep_their_order() -> None:
    missing, too_large = FileNotFoundError("3"), LimitError("7")

    def call(item: int) -> int:
        if item == 3:
            raise missing
        if item == 7:
            raise too_large
        return item * 2

    assert in_parallel(call, range(9)) == [0, 2, 4, missing, 8, 10, 12, too_large, 16]


def test_parallel_calls_are_bounded() -> None:
    lock, running, maximum = threading.Lock(), set[int](), 0
    together = threading.Barrier(THREADS)

    def call(item: int) -> None:
        nonlocal maximum
        with lock:
            running.add(item)
            maximum = max(maximum, len(running))
        together.wait(timeout=300)
        with lock:
            running.discard(item)

    in_parallel(call, range(2 * THREADS))
    assert maximum == THREADS


@pytest.mark.parametrize("items", [[1], [1, 2, 3]])
def test_programming_error_is_raised(items: list[int]) -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel(lambda item: item // 0, items)


def test_parallel_calls_of_no_items() -> None:
    assert in_parallel(str, []) == []
