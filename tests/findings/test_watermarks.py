"""SS211 and SS225: a watermark that is far from the clock, or follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import OffsetEntry, SourceOffset, source_offsets
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule_inputs import LateRows
from inspector.findings.thresholds import Thresholds
from inspector.findings.views.event_times import NewestTime
from inspector.findings.views.flat_batches import flat_batches
from inspector.findings.watermarks import judge_watermark
from inspector.model import BatchClock, BatchId

HOUR = 3_600_000
EVENTS = [NewestTime(7000, "event time"), NewestTime(9000, "window end")]


def clocks(*marks: int, data: bool = True, start: int = 0) -> dict[int, BatchClock]:
    return {
        n: BatchClock(BatchId(n), start + 10_000 * n, mark, True, data)
        for n, mark in enumerate(marks)
    }


def judged(
    marks: Sequence[int], newest: Sequence[NewestTime] = EVENTS, **more: Any
) -> list[Finding]:
    return list(judge_watermark(clocks(*marks), len(marks) - 1, newest, **more))


def test_a_gap_in_the_log_ends_the_run() -> None:
    known = clocks(5000, 5000, 5000, 5000)
    del known[1]
    flat = flat_batches(known, 3)
    assert flat is not None
    assert (flat.first.batch_id, flat.with_data) == (2, 1)


def test_a_watermark_beyond_the_year_9999_is_said_in_numbers() -> None:
    (found,) = judged((10**15,) * 5, thresholds=Thresholds(ahead_hours=1e12))
    assert "+33658-09-27T01:46:40.000Z" in found.evidence


# --- which source ----------------------------------------------------------------------------

FLAT = (0, 5000, 5000, 5000, 5000)


def offsets(*of_batches: Sequence[str | None]) -> dict[int, tuple[SourceOffset, ...]]:
    found: dict[int, tuple[SourceOffset, ...]] = {}
    before: OffsetEntry | None = None
    for batch, texts in enumerate(of_batches):
        now = OffsetEntry(sources={str(place): text for place, text in enumerate(texts)})
        found[batch] = source_offsets(now, before)
        before = now
    return found


def test_by_the_fastest_of_several_none_holds_it_back() -> None:
    sources = offsets(*([str(n), "a"] for n in range(5)))
    (policy,) = judged(FLAT, sources=sources, by_slowest=False, delay_ms=60_000)
    assert (policy.kind.id, policy.severity) == ("SS220", Severity.INFO)
    assert policy.cause == (
        "By multipleWatermarkPolicy=max the fastest of 2 sources sets the watermark, if each has "
        "its own: what another brings more than a delay of 1 min behind it is dropped as late, and "
        "never stored."
    )


def test_the_fastest_source_matters_where_rows_go_by_the_watermark() -> None:
    sources = offsets(*([str(n), str(n)] for n in range(3)))
    rising: Any = (1000, 2000, 3000)
    assert judged(rising, sources=sources, by_slowest=False)
    assert not judged(rising, sources=sources)
    assert not judged(rising, [], sources=sources, by_slowest=False)
    assert not judged((0, 0, 0), sources=sources, by_slowest=False)


# --- ahead of the clock ----------------------------------------------------------------------


def test_a_watermark_in_the_future_is_a_cause_of_its_own() -> None:
    (found,) = judged((0, 1000, *(1000 * HOUR,) * 2))
    assert (found.kind.id, found.severity) == ("SS211", Severity.WARNING)
    assert "the data of batch 1 brought it there" in found.evidence
    assert "it never goes back" in found.cause
    assert "42 d ahead" in found.cause
    assert "before withWatermark" in found.next_step


def test_it_is_an_error_once_data_does_not_move_it() -> None:
    (found,) = judged((0, 1000, *(1000 * HOUR,) * 4))
    assert (found.kind.id, found.severity) == ("SS211", Severity.ERROR)
    assert "3 batches with new data since then did not move it" in found.evidence
    assert [one.kind.id for one in judged((0, 1000, *(1000 * HOUR,) * 4), [])] == ["SS211"]


def test_the_last_batch_may_have_brought_it_there() -> None:
    known = clocks(0, 1000, 2000)
    last = known[2]
    known[2] = BatchClock(last.batch_id, last.timestamp_ms, 2000, True, True, 1000 * HOUR)
    (found,) = judge_watermark(known, 2, EVENTS)
    assert "the data of batch 2 brought it there" in found.evidence


@pytest.mark.parametrize("ahead", [-1000, 0, 14, 23.9])
def test_time_zones_and_replays_are_no_warning(ahead: float) -> None:
    marks = [round(n * 1000 + 1e9 + ahead * HOUR) for n in range(5)]
    known = clocks(*marks, start=10**9)
    result = list(judge_watermark(known, 4, EVENTS))
    assert [(one.kind.id, one.severity) for one in result] == [("SS211", Severity.INFO)] * (
        ahead > 1
    )
    assert all("or of another time zone" in one.cause for one in result)
    lower = Thresholds(ahead_hours=0.0, ahead_noted=0.0)
    found = [one.kind.id for one in judge_watermark(known, 4, EVENTS, thresholds=lower)]
    assert found == ["SS211"] * (ahead > 0.1)


def test_a_clock_that_is_hours_ahead_is_warned_about_once_data_does_not_move_it() -> None:
    marks = (0, 1000, *(11 * HOUR,) * 4)
    (finding,) = judge_watermark(clocks(*marks), 5, EVENTS)
    assert (finding.kind.id, finding.severity) == ("SS211", Severity.WARNING)
    assert "the data of batch 1 brought it there" in finding.evidence


def test_a_clock_that_went_back_is_not_put_down_to_event_times() -> None:
    known = clocks(0, 1000, 2000, 3000, start=200 * HOUR)
    for batch in (2, 3):
        known[batch] = replace(known[batch], timestamp_ms=100 * HOUR)
        known[batch] = replace(known[batch], watermark_ms=200 * HOUR)
    (finding,) = judge_watermark(known, 3, EVENTS)
    assert (finding.kind.id, finding.severity) == ("SS211", Severity.WARNING)
    assert "went back 4 d 4 h after batch 1" in finding.cause


def test_where_it_was_ahead_all_along_nothing_is_said_of_when() -> None:
    (found,) = judged((1000 * HOUR,) * 3)
    assert "brought it there" not in found.evidence
    known = clocks(0, 1000 * HOUR)
    known[1] = BatchClock(BatchId(1), None, 1000 * HOUR)
    assert not list(judge_watermark(known, 1, []))


@pytest.mark.parametrize(
    ("watermark", "words"),
    [
        (1_780_000_000, "The watermark is 1970-01-21T14:26:40.001Z: seconds were taken for milli"),
        (1_780_000_000, "or milliseconds for microseconds, so windows and delays last 1,000 times"),
        (1_780_000, "1970-01-01T00:29:40.001Z: seconds were taken for microseconds"),
        (1_780_000_000_000_000, "years ahead of the batch clock: milliseconds were taken for sec"),
    ],
)
def test_a_watermark_of_another_unit_is_known_by_the_clock(watermark: int, words: str) -> None:
    known = clocks(watermark, watermark + 1, start=1_790_000_000_000)
    (finding,) = judge_watermark(known, 1, EVENTS)
    assert (finding.kind.id, finding.severity) == ("SS211", Severity.WARNING)
    assert words in finding.cause
    assert "timestamp_millis" in finding.next_step


def test_a_unit_is_known_where_the_delay_is_most_of_the_event_time() -> None:
    known = clocks(60_000, 60_001, start=1_790_000_000_000)
    assert not list(judge_watermark(known, 1, EVENTS))
    (finding,) = judge_watermark(known, 1, EVENTS, delay_ms=1_700_000)
    assert "seconds were taken for microseconds" in finding.cause


def test_an_event_of_the_future_that_a_slower_source_holds_back_is_named_by_its_batch() -> None:
    known = {0: BatchClock(BatchId(0), 100 * HOUR, 99 * HOUR, True, True, 99 * HOUR)}
    latest = NewestTime(5000 * HOUR, "event time", 5000 * HOUR, "default", 5)
    (finding,) = judge_watermark(known, 0, [latest], delay_ms=HOUR)
    assert (finding.kind.id, finding.severity) == ("SS211", Severity.INFO)
    assert finding.cause.startswith("An event of batch 4 lies 204 d in the future (1970-07-28T")
    near = latest._replace(millis=123 * HOUR, event_ms=123 * HOUR)
    assert list(judge_watermark(known, 0, [near], delay_ms=HOUR)) == []


LATE = LateRows(2, 20, 30, 256 * 60_000)


@pytest.mark.parametrize(
    ("late", "severity"),
    [([LATE], Severity.WARNING), ([], Severity.INFO), ([LATE._replace(least_ms=60_000)], 0)],
)
def test_where_some_event_times_are_of_another_zone_the_others_are_lost(
    late: list[LateRows], severity: int
) -> None:
    known = clocks(107 * HOUR, 108 * HOUR, 108 * HOUR, start=100 * HOUR)
    (finding,) = judge_watermark(known, 2, EVENTS, late=late)
    assert (finding.kind.id, finding.severity) == ("SS211", severity or Severity.INFO)
    assert ("rows like 20 of the 30 of batch 2, with correct times" in finding.cause) == (
        finding.severity is Severity.WARNING
    )


def test_what_the_fastest_source_leaves_behind_is_counted() -> None:
    known, sources = clocks(0, 5000, 6000), offsets(["0", "0"], ["1", "1"], ["2", "2"])
    more: Any = {"late": [LATE], "by_slowest": False}
    (finding,) = judge_watermark(known, 2, EVENTS, sources, **more)
    assert (finding.kind.id, finding.severity) == ("SS220", Severity.WARNING)
    assert finding.cause.startswith("By multipleWatermarkPolicy=max the fastest source sets the wa")
    assert "20 of the 30 rows of batch 2, 4 h 16 min or more behind it" in finding.cause
    assert not list(judge_watermark(known, 2, EVENTS, offsets(["0"], ["1"], ["2"]), **more))
    assert not list(judge_watermark(known, 2, EVENTS, sources, late=[LATE]))


# --- a watermark of the batch clock ----------------------------------------------------------


def of_clock(*behind: int, start: int = 7, delay_ms: int | None = None) -> list[Finding]:
    known = {
        n: BatchClock(BatchId(n), now, n + 1, True, True, now - ms)
        for n, ms in enumerate(behind)
        for now in [start + 10_000 * (n + 1)]
    }
    return list(judge_watermark(known, len(known) - 1, EVENTS, delay_ms=delay_ms))


def test_a_watermark_that_is_the_batch_clock_less_always_the_same_is_information() -> None:
    (found,) = of_clock(*(600,) * 5)
    assert (found.kind.id, found.severity) == ("SS225", Severity.INFO)
    assert "The watermark is the batch clock less 600 ms in each of 5 batches" in found.cause


def test_one_batch_with_another_distance_is_enough_that_it_is_not() -> None:
    assert of_clock(600, 600, 600, 600, 601) == []
    assert of_clock(*(600,) * 4) == []
    assert len(of_clock(*(600,) * 5, delay_ms=600)) == 1
    assert of_clock(*(600,) * 5, delay_ms=500) == []  # event times are always 100 ms old
    assert of_clock(*(600,) * 5, start=0) == []  # of whole seconds event times may be as well
