"""Blocks made ahead by a second thread: order, errors, and the end of the thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

import pytest

from inspector.exceptions import DecodeError
from inspector.passes.ahead import MOST_AHEAD, make_ahead, make_rounds_ahead
from tests.attributes import attributes

T = TypeVar("T")

PATIENCE_S = 300.0
"""Seconds to wait for a thread: many times what it takes, so that only a hang fails."""


class MakerThreads:
    """Threads in which the recorded items of one test were made."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def record(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and remember the thread that takes them from this iterator."""
        self._threads.append(threading.current_thread())
        yield from items

    @property
    def names(self) -> list[str]:
        """Names of the threads, one for each recorded iterator."""
        return attributes(self._threads, "name")

    def wait_for_end(self) -> bool:
        """Wait for the threads to end, and return True if at least one ran and all have ended."""
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return bool(self._threads) and not any(thread.is_alive() for thread in self._threads)


@pytest.fixture
def makers() -> MakerThreads:
    return MakerThreads()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_items_keep_their_order(makers: MakerThreads, count: int) -> None:
    assert list(make_ahead(makers.record(range(count)))) == list(range(count))
    assert makers.wait_for_end()


def test_error_follows_the_items_before_it(makers: MakerThreads) -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise DecodeError("cut short", offset=7)

    blocks = make_ahead(makers.record(items()))
    assert [next(blocks), next(blocks)] == [1, 2]
    with pytest.raises(DecodeError, match="cut short"):
        next(blocks)
    assert makers.wait_for_end()


def test_few_items_are_made_ahead(makers: MakerThreads) -> None:
    numbers = []
    maker_is_full = threading.Event()

    def items() -> Iterator[int]:
        for number in range(100):
            numbers.append(number)
            if len(numbers) == 1 + MOST_AHEAD + 1:
                maker_is_full.set()
            yield number

    blocks = make_ahead(makers.record(items()))
    assert next(blocks) == 0
    assert maker_is_full.wait(PATIENCE_S)
    # One item is taken, MOST_AHEAD are in the queue, and one waits for room.
    assert len(numbers) == 1 + MOST_AHEAD + 1
    blocks.close()  # type: ignore[attr-defined]
    assert makers.wait_for_end()
    assert len(numbers) < 100


def test_another_thread_makes_the_items(makers: MakerThreads) -> None:
    list(make_ahead(makers.record([1])))
    assert makers.names == ["inspector-ahead"]


def test_close_does_not_wait_for_a_silent_storage(makers: MakerThreads) -> None:
    answer = threading.Event()
    was_waiting: list[bool] = []

    def items() -> Iterator[int]:
        yield 1
        was_waiting.append(answer.wait(PATIENCE_S))
        yield 2

    blocks = make_ahead(makers.record(items()))
    assert next(blocks) == 1
    blocks.close()  # type: ignore[attr-defined]
    # The storage has not answered yet, so this line is reached only if close() did not wait for it.
    answer.set()
    assert makers.wait_for_end()
    assert was_waiting in ([True], [])  # empty if the thread saw the close before it read on


def test_one_thread_makes_several_sources_in_turns(makers: MakerThreads) -> None:
    ranges = [range(3), range(0), range(20)]
    result: list[list[int]] = [[], [], []]
    sources = make_rounds_ahead([makers.record(numbers) for numbers in ranges])
    unfinished = [0, 1, 2]
    while unfinished:
        for number in [*unfinished]:
            try:
                result[number].append(next(sources[number]))
            except StopIteration:  # noqa: PERF203 - each ends once
                unfinished.remove(number)
    assert result == [[0, 1, 2], [], list(range(20))]
    assert makers.names == ["inspector-ahead", "inspector-ahead", "inspector-ahead"]
    del sources
    assert makers.wait_for_end()


def test_error_ends_only_its_own_source() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    broken, complete = make_rounds_ahead([items(), iter(range(5))])
    assert next(broken) == 1
    with pytest.raises(ValueError, match="broken"):
        next(broken)
    assert list(complete) == list(range(5))


def test_dropping_several_sources_ends_their_thread(makers: MakerThreads) -> None:
    first, second = make_rounds_ahead([makers.record(range(100)), makers.record(range(100))])
    assert (next(first), next(second)) == (0, 0)
    del first, second
    assert makers.wait_for_end()
