"""Blocks made by a second thread: the same, in their order, errors where they were."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from inspector.exceptions import DecodeError
from inspector.passes.ahead import MOST_AHEAD, make_ahead, make_rounds_ahead


def threads(patience_s: float = 10) -> int:
    """Those that are there, for some seconds too: on a busy machine one takes its time to end."""
    until = time.monotonic() + patience_s
    while True:
        count = sum(thread.name == "inspector-ahead" for thread in threading.enumerate())
        if not count or time.monotonic() > until:
            return count
        time.sleep(0.01)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_items_come_in_their_order(count: int) -> None:
    assert list(make_ahead(range(count))) == list(range(count))
    assert threads() == 0


def test_an_error_comes_behind_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise DecodeError("cut short", offset=7)

    taken = make_ahead(items())
    assert [next(taken), next(taken)] == [1, 2]
    with pytest.raises(DecodeError, match="cut short"):
        next(taken)
    assert threads() == 0


def test_only_a_few_are_made_before_their_turn() -> None:
    made = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    taken = make_ahead(items())
    assert next(taken) == 0
    time.sleep(0.05)
    assert len(made) <= 1 + MOST_AHEAD + 1, "one taken, some in the queue, one waits for room"
    taken.close()  # type: ignore[attr-defined]
    assert threads() == 0
    assert len(made) < 100


def test_another_thread_makes_them() -> None:
    def items() -> Iterator[str]:
        yield threading.current_thread().name

    assert list(make_ahead(items())) == ["inspector-ahead"]


def test_who_breaks_off_does_not_wait_for_a_storage_that_is_silent() -> None:
    answered = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        answered.wait(20)
        yield 2

    taken = make_ahead(items())
    assert next(taken) == 1
    taken.close()  # type: ignore[attr-defined]
    assert threads(0) == 1, "it still waits"
    answered.set()
    for thread in threading.enumerate():
        if thread.name == "inspector-ahead":
            thread.join(20)
    assert threads() == 0


def test_several_are_made_in_turns_by_one_other_thread() -> None:
    def items(count: int) -> Iterator[tuple[int, str]]:
        for number in range(count):
            yield number, threading.current_thread().name

    counts = [3, 0, 20]
    taken: list[list[tuple[int, str]]] = [[] for _ in counts]
    sources = make_rounds_ahead([items(count) for count in counts])
    going = list(range(len(sources)))
    while going:
        for number in [*going]:
            try:
                taken[number].append(next(sources[number]))
            except StopIteration:  # noqa: PERF203 - each ends once
                going.remove(number)
    assert taken == [[(i, "inspector-ahead") for i in range(count)] for count in counts]
    del sources
    assert threads() == 0


def test_an_error_ends_one_of_several() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    broken, whole = make_rounds_ahead([items(), iter(range(5))])
    assert next(broken) == 1
    with pytest.raises(ValueError, match="broken"):
        next(broken)
    assert list(whole) == list(range(5))


def test_who_breaks_off_several_ends_their_thread() -> None:
    first, second = make_rounds_ahead([iter(range(100)), iter(range(100))])
    assert (next(first), next(second)) == (0, 0)
    del first, second
    assert threads() == 0
