"""Contradictions between the offset log and the commit log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

import pytest

from inspector.checkpoint.log_checks import (
    CHANGED_SOURCES,
    CONTRADICTION,
    LOST_ENTRY,
    conf_checks,
    cross_checks,
    offset_checks,
    without_doubtful,
)
from inspector.model import BatchClock, BatchId
from tests.attributes import attributes


def clocks(*watermarks: tuple[int | None, int | None]) -> dict[BatchId, BatchClock]:
    """Return the clocks of batches from 0 on with this watermark and this next watermark."""
    return {
        BatchId(n): BatchClock(BatchId(n), watermark_ms=began, next_watermark_ms=ended)
        for n, (began, ended) in enumerate(watermarks)
    }


def cross_check(
    offsets: Sequence[int], commits: Sequence[int], *watermarks: tuple[int | None, int | None]
) -> list[tuple[str, str | None]]:
    problems = cross_checks([*map(BatchId, offsets)], [*map(BatchId, commits)], clocks(*watermarks))
    return attributes(problems, "slug", "path")


@pytest.mark.parametrize(
    ("offsets", "commits"),
    [
        ([], []),
        ([0], []),
        ([0, 1, 2], [0, 1]),
        ([3, 4], [2, 3, 4]),  # offsets are purged first
        ([3, 4, 5], [3, 4]),
    ],
)
def test_sound_logs_have_no_problem(offsets: list[int], commits: list[int]) -> None:
    assert cross_check(offsets, commits) == []


@pytest.mark.parametrize(
    ("offsets", "commits", "lost"),
    [
        ([0, 2], [0, 1, 2], [(LOST_ENTRY, "offsets/1")]),
        ([0, 2], [0], [(LOST_ENTRY, "offsets/1")]),
        ([0, 1], [0, 1, 2], [(LOST_ENTRY, "offsets/2")]),
        ([0, 1, 2], [0, 2], [(LOST_ENTRY, "commits/1")]),
        ([0, 1, 2, 3], [0], [(LOST_ENTRY, "commits/1"), (LOST_ENTRY, "commits/2")]),
        ([0, 1, 2], [], [(LOST_ENTRY, "commits")]),
        ([], [5, 6], [(LOST_ENTRY, "offsets")]),
    ],
)
def test_a_lost_entry_is_named(
    offsets: list[int], commits: list[int], lost: list[tuple[str, str]]
) -> None:
    assert cross_check(offsets, commits) == lost


@pytest.mark.parametrize(
    ("offsets", "commits", "message"),
    [
        ([0, 1, 2], [], "expected those of batches 0 to 1 (followed by others)"),
        ([], [5], "expected those of batch 5 (committed)"),
    ],
)
def test_an_empty_log_names_the_batches_that_it_lacks(
    offsets: list[int], commits: list[int], message: str
) -> None:
    (problem,) = cross_checks([*map(BatchId, offsets)], [*map(BatchId, commits)], {})
    assert problem.message == f"got no entries, {message}"


def test_contradicting_watermarks_are_named() -> None:
    (problem,) = cross_checks([], [], clocks((0, 10), (12, 20), (20, None)))
    assert (problem.slug, problem.path, problem.version) == (CONTRADICTION, "offsets/1", 2)
    assert "got batchWatermarkMs 12, commits/0 says 10" in problem.message


def test_falling_watermark_without_commit_is_a_contradiction() -> None:
    assert cross_check([], [], (30, None), (20, None)) == [(CONTRADICTION, "offsets/1")]


@pytest.mark.parametrize(
    ("times", "by_two"),
    [
        ((10, 20, 15, 30, 25, 40), True),
        ((10, 20, 15, 30, 35, 40), False),
        ((10, 20, 15, 30, None, 40), False),
        ((10, 20, 25, 15, 25, 10), False),  # the clock goes back where the watermark does not
    ],
)
def test_alternating_clocks_show_two_queries(
    times: tuple[int | None, ...], *, by_two: bool
) -> None:
    marks = clocks((0, 5), (5, 9), (6, 8), (12, 14), (9, 11), (15, None))
    timed = {n: replace(clock, timestamp_ms=times[n]) for n, clock in marks.items()}
    problems = list(cross_checks([], [], timed))
    assert [(problem.path, "two runs" in problem.message) for problem in problems] == [
        ("offsets/2", by_two),
        ("offsets/3", by_two),
        ("offsets/4", by_two),
        ("offsets/5", by_two),
    ]
    assert "got batchWatermarkMs 6, commits/1 says 9 as nextBatchWatermarkMs" in problems[0].message


def test_unrecorded_watermarks_contradict_nothing() -> None:
    assert cross_check([], [], (None, 10), (None, None), (5, None), (None, 4)) == []


def test_nonadjacent_entries_are_not_compared() -> None:
    apart = {
        BatchId(1): BatchClock(BatchId(1), watermark_ms=9, next_watermark_ms=9),
        BatchId(3): BatchClock(BatchId(3), watermark_ms=7),
    }
    assert list(cross_checks([], [], apart)) == []


def test_contradicting_watermarks_are_unknown() -> None:
    """A next watermark of the batch before contradicts the watermark, or the watermark falls."""
    sound = clocks((0, 10), (10, 20), (20, None))
    assert without_doubtful(sound, {}) == sound
    contradicting = clocks((0, 10), (12, 20), (20, None))
    assert without_doubtful(contradicting, {}) == clocks((0, None), (None, 20), (20, None))
    unknown = clocks((None, None), (None, 20), (20, None))
    assert without_doubtful(clocks((5, None), (4, 20), (20, None)), {}) == unknown
    assert without_doubtful(clocks((5, 4), (4, 20), (20, None)), {}) == unknown


def test_new_data_is_unknown_after_a_changed_offset_format() -> None:
    four = {BatchId(n): BatchClock(BatchId(n), has_new_data=True) for n in range(4)}

    def new_data(*json: bool) -> list[bool | None]:
        shapes = by_batch([{"0": item} for item in json])
        return attributes(without_doubtful(four, shapes).values(), "has_new_data")

    assert new_data(True, False, True, True) == [True, None, None, True]
    assert new_data(False, True, True, True) == [True, None, True, True]
    assert new_data(True, True, True, False) == [True, True, True, None]
    assert new_data(False, False, False, False) == [True] * 4


def test_a_gap_of_a_renamed_entry_is_one_problem() -> None:
    assert cross_check([0, 1, 2**61], [0, 1]) == [(LOST_ENTRY, "offsets/2")]


def test_no_lost_commit_without_a_commit_log() -> None:
    offsets = [BatchId(0), BatchId(1), BatchId(2)]
    assert list(cross_checks(offsets, [], {}, committed=False)) == []


ValueT = TypeVar("ValueT")
PARTITIONS, CODEC = "spark.sql.shuffle.partitions", "spark.sql.streaming.codec"


def by_batch(values: Iterable[ValueT]) -> dict[BatchId, ValueT]:
    """Return values by the batches from 0 on."""
    return dict(zip(map(BatchId, count()), values, strict=False))


def conf_problems(
    *confs: dict[str, str],
    sources: Sequence[tuple[str, ...]] = (),
    appended: Sequence[int] = (),
    control: Sequence[int] = (),
) -> list[str]:
    recorded, named = by_batch(confs), by_batch(sources)
    clocks = {
        BatchId(n): BatchClock(BatchId(n), timestamp_ms=n, appended=n in appended)
        for n in range(len(confs))
    }
    result = list(conf_checks(recorded, named, clocks, [*map(BatchId, control)]))
    assert set(attributes(result, "slug")) <= {CONTRADICTION, CHANGED_SOURCES}
    return [f"{problem.path}: {problem.message}" for problem in result]


def test_changed_conf_is_a_contradiction() -> None:
    assert conf_problems({CODEC: "lz4"}, {CODEC: "lz4", PARTITIONS: "2"}, {PARTITIONS: "2"}) == []
    (problem,) = conf_problems({CODEC: "lz4"}, {CODEC: "lz5"})
    assert problem.startswith("offsets/1: got 'lz5' as spark.sql.streaming.codec, offsets/0 says")


def test_long_conf_values_are_cut() -> None:
    (problem,) = conf_problems({CODEC: "a" * 81}, {CODEC: "b" * 81})
    assert f"got '{'b' * 80}' as spark.sql.streaming.codec, offsets/0 says '{'a' * 80}'," in problem


def test_repartitioning_changes_shuffle_partitions() -> None:
    changed = ({PARTITIONS: "2"}, {PARTITIONS: "4"})
    assert len(conf_problems(*changed)) == 1
    assert conf_problems(*changed, appended=[1]) == []
    assert conf_problems(*changed, control=[1]) == []


def test_conf_absent_between_two_entries_is_a_contradiction() -> None:
    (problem,) = conf_problems({CODEC: "lz4"}, {}, {CODEC: "lz4"})
    assert "offsets/1: got no spark.sql.streaming.codec" in problem


def test_changed_number_of_sources_is_a_problem() -> None:
    confs: list[dict[str, str]] = [{}, {}]
    assert conf_problems(*confs, sources=[("0", "1"), ("0", "1")]) == []
    (problem,) = conf_problems(*confs, sources=[("0", "1"), ("0",)])
    assert "offsets/1: got 1 sources, offsets/0 has 2" in problem
    assert conf_problems(*confs, sources=[("a", "b"), ("a",)]) == []  # sources with names may go


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([{"0": True}, {"0": False}, {"0": True}], ["offsets/1"]),
        ([{"0": True}, {"0": False}], ["offsets/1"]),
        ([{"0": False}, {"0": True}, {"0": True}], ["offsets/0"]),
        ([{"0": False}, {"0": False}], []),  # a source with a text of its own
        ([{}, {"0": False}], []),  # it had no offset yet
    ],
)
def test_source_offset_format_changes_are_problems(
    shapes: list[dict[str, bool]], expected: list[str]
) -> None:
    result = list(offset_checks(by_batch(shapes)))
    assert attributes(result, "path") == expected
    apart = dict(zip(map(BatchId, count(0, 2)), shapes, strict=False))
    assert not list(offset_checks(apart))
