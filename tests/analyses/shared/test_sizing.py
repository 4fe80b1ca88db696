"""Executors that hold a state: tables and sentences for given loads."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.analyses.memory import MemoryOptions, Sizing
from inspector.estimates.sizing import Load

GIB = 1 << 30
USUAL, MOST = [GIB] * 40, [3 * GIB // 2] * 40


def sizing(usual: list[int] = USUAL, maximum: list[int] = MOST, **options: Any) -> Sizing:
    """Return the sizing of partitions whose heap sizes do not depend on the executor."""
    return Sizing(lambda _: Load(usual, maximum), usual, maximum, MemoryOptions(**options))


def shapes(result: Sizing) -> dict[int, Any]:
    """Return the number of executors by the size of their heap in GiB."""
    (table,) = result.tables()
    return {row["executor_heap_bytes"] // GIB: row["executors"] for row in table.rows}


def test_executors_by_heap_size() -> None:
    # 2 GiB leave 0.7 to the state: not one partition. 8 GiB leave 3.1: two, both at work.
    assert shapes(sizing()) == {2: None, 4: None, 8: 20, 16: 10, 32: 5, 64: 3}
    assert "About 20 executors of 8.0 GiB with 4 cores would hold it." in list(sizing().notes())


def test_executors_for_given_heap_and_cores() -> None:
    assert shapes(sizing(heap_bytes=16 * GIB)) == {16: 8}
    assert shapes(sizing(heap_bytes=16 * GIB, cores=4)) == {16: 10}
    assert sizing(heap_bytes=16 * GIB, cores=4).summary["executors_needed"] == 10


def test_one_large_partition_needs_more_executors() -> None:
    usual = [GIB // 8] * 39 + [2 * GIB]
    result = sizing(usual, usual, heap_bytes=8 * GIB)
    (note,) = (note for note in result.notes() if note.startswith("About"))
    assert note == (
        "About 5 executors of 8.0 GiB with 1 core would hold it; 3 if the partitions are "
        "spread evenly."
    )
    assert result.summary["fits_at_worst"] is True


@pytest.mark.parametrize(
    ("executors", "heap_bytes", "start", "end"),
    [
        (1, 8 * GIB, "The executor ", "however it is spread."),
        (4, 16 * GIB, "Each of ", "however it is spread."),
        (10, 16 * GIB, "Each of ", "that fits into a heap of 16.0 GiB."),
        (10, None, "Each of ", "a heap of 11.5 GiB has room for that."),
    ],
)
def test_sentence_for_given_executors(
    executors: int, heap_bytes: int | None, start: str, end: str
) -> None:
    _, note, _ = sizing(executors=executors, heap_bytes=heap_bytes).notes()
    assert note.startswith(start)
    assert note.endswith(end)


def test_state_that_fits_only_if_evenly_spread() -> None:
    usual = [0] * 9 + [2 * GIB]
    result = sizing(usual, usual, executors=10, heap_bytes=4 * GIB)
    assert (result.summary["fits_if_even"], result.summary["fits_at_worst"]) == (True, False)
    assert "only if it is spread evenly" in list(result.notes())[1]


def test_sizing_of_an_empty_state() -> None:
    result = sizing([], [])
    assert list(result.notes()) == []
    assert result.summary["partitions"] == result.summary["largest_partition_estimate_bytes"] == 0
    assert set(shapes(result).values()) == {1}
