"""Many small requests at once: an object store answers each in 50 ms, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from inspector.exceptions import InspectorError

T = TypeVar("T")
R = TypeVar("R")

THREADS = 32
"""Requests under way at once."""


def in_parallel(
    call: Callable[[T], R], items: Sequence[T], threads: int = THREADS
) -> list[R | OSError | InspectorError]:
    """``call`` of every item, by several threads.

    Args:
        call: waits for answers, mostly.
        items: what it is called with.
        threads: how many; 1 for calls that do not wait, as threads would only take turns.

    Returns:
        The results in the order of the items; where storage or format failed, the error.
    """

    def attempt(item: T) -> R | OSError | InspectorError:
        try:
            return call(item)
        except (OSError, InspectorError) as error:
            return error

    if min(threads, len(items)) <= 1:
        return [attempt(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(attempt, items))
