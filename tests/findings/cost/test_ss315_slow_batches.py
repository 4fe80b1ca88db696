"""SS315: batches that take longer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from inspector.checkpoint.logs import COMMITS, OFFSETS, Logs
from inspector.findings.cost.ss315_slow_batches import SlowBatches
from inspector.findings.finding import Finding
from inspector.findings.rule import parse_thresholds
from inspector.light_dataclasses import replace
from inspector.model import BatchClock, BatchId, Certainty
from tests.store_views import checkpoint_view

FIRST_MS = 1_700_000_000_000


def logs(
    durations: Sequence[int],
    *,
    wait_ms: int = 3_000,
    new_data: Sequence[bool] | None = None,
    has_times: bool = True,
) -> Logs:
    clock = FIRST_MS
    clocks, begun, ended = {}, {}, {}
    for number, took in enumerate(durations):
        batch = BatchId(number)
        has_data = (new_data or [True] * len(durations))[number]
        clocks[batch] = BatchClock(batch, clock, 0, committed=True, has_new_data=has_data)
        begun[batch], ended[batch] = clock + 10, clock + 10 + took
        clock += took + wait_ms
    written = {OFFSETS: begun, COMMITS: ended} if has_times else {}
    return Logs(clocks=clocks, written_ms=written)


def judged(of: Logs, **thresholds: float) -> list[Finding]:
    view = checkpoint_view({}, clocks=dict(of.clocks.items()))
    view.checkpoint = replace(view.checkpoint, logs=of)
    vars(view.checkpoint)["newest_version"] = view.version
    return list(SlowBatches(parse_thresholds(thresholds)).findings(view))


def test_newest_batches_are_compared_with_earlier_batches() -> None:
    (finding,) = judged(logs([2_000] * 9 + [21_000] * 3))
    assert finding.cause == "Batches take 21 s, 2 s until 2023-11-14T22:14:00.000Z."
    assert finding.certainty is Certainty.PROVEN
    assert "batches 0 to 8: 2 s to 2 s; batches 9 to 11: 21 s to 21 s" in finding.evidence


@pytest.mark.parametrize(
    "durations",
    [
        [2_000] * 12,
        [2_000] * 11 + [60_000],  # one slow batch
        [21_000] * 3 + [2_000] * 9,  # they became faster
        [100] * 9 + [900] * 3,  # by less than two seconds
        [2_000, 21_000],  # too few
        [2_000, 21_000] * 6,  # by turns, as of batches of two kinds
    ],
)
def test_batches_without_lasting_slowdown_have_no_finding(durations: list[int]) -> None:
    assert not judged(logs(durations))


def test_batches_without_new_data_are_not_compared() -> None:
    durations = [100, 2_000] * 6 + [100, 21_000] * 2
    result = judged(logs(durations, new_data=[False, True] * 8))
    (finding,) = result
    assert finding.cause.startswith("Batches take 21 s, 2 s until")


def test_no_data_batch_clock_ends_previous_batch() -> None:
    durations = [2_000, 100] * 6 + [21_000, 100] * 2
    of_copy = logs(durations, wait_ms=0, new_data=[True, False] * 8, has_times=False)
    (finding,) = judged(of_copy)
    assert finding.cause.startswith("Batches take 21 s, 2 s until ")
    assert finding.certainty is Certainty.INFERRED
    assert not judged(logs(durations, wait_ms=0, has_times=False))


def test_thresholds_set_the_slowdown() -> None:
    of = logs([2_000] * 9 + [5_000] * 3)
    assert not judged(of)
    assert judged(of, slow_ratio=2)
    assert judged(of, slow_ratio=2.5)  # 5 s, 2 s before
    assert not judged(of, slow_ratio=2, slow_seconds=4)
