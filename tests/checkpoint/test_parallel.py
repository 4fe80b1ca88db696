"""Requests side by side: order, bounds, failures."""

import threading

import pytest

from inspector.checkpoint.patience import THREADS, in_parallel
from inspector.exceptions import LimitError


def test_parallel_results_keep_their_order() -> None:
    def call(item: int) -> int:
        if item % 10 == 3:
            raise FileNotFoundError(str(item))
        if item % 10 == 7:
            raise LimitError(str(item))
        return item * 2

    actual = in_parallel(call, range(100))
    for item, result in enumerate(actual):
        expected = {3: FileNotFoundError, 7: LimitError}.get(item % 10, int)
        assert isinstance(result, expected)
        assert result == item * 2 if expected is int else str(item) in str(result)


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
