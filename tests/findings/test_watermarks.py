"""SS206: a watermark that stands still."""

from __future__ import annotations

from inspector.findings.watermarks import flat_end, judge_watermark
from inspector.model import BatchClock, BatchId


def clocks(*marks: int, data: bool = True) -> dict[int, BatchClock]:
    return {n: BatchClock(BatchId(n), 10_000 * n, mark, True, data) for n, mark in enumerate(marks)}


def test_batches_with_data_that_do_not_move_it_are_told_with_all_three_clocks() -> None:
    (found,) = judge_watermark(clocks(0, 1000, 5000, 5000, 5000, 5000), 5, [7000, 9000])
    assert found.kind.id == "SS206"
    assert "batches 2 to 5 all had the watermark 1970-01-01T00:00:05.000Z" in found.evidence
    assert "3 of them brought new data" in found.evidence
    assert "the batch clock went on by 30 s" in found.evidence
    assert "newest event time in state is 1970-01-01T00:00:09.000Z" in found.evidence


def test_it_is_none_without_data_or_a_watermark_or_operators_that_wait() -> None:
    flat = (5000, 5000, 5000, 5000, 5000)
    assert not list(judge_watermark(clocks(*flat, data=False), 4, [9000]))
    assert not list(judge_watermark(clocks(*flat), 4, []))
    assert not list(judge_watermark(clocks(0, 0, 0, 0, 0), 4, [9000]))
    assert not list(judge_watermark(clocks(1000, 2000, 3000, 3000), 3, [9000]))
    assert not list(judge_watermark(clocks(*flat), 9, [9000]))


def test_a_gap_in_the_log_ends_the_run() -> None:
    known = clocks(5000, 5000, 5000, 5000)
    del known[1]
    flat = flat_end(known, 3)
    assert flat is not None
    assert (flat.first.batch_id, flat.with_data) == (2, 1)
