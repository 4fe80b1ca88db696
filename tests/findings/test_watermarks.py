"""SS206 and SS211: a watermark that stands still, or that is ahead of the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import OffsetEntry, SourceOffset, source_offsets
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule_inputs import LateRows, NewestTime
from inspector.findings.thresholds import Thresholds
from inspector.findings.watermarks import flat_end, judge_watermark
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


def test_batches_with_data_that_do_not_move_it_are_reported_with_all_three_clocks() -> None:
    (found,) = judged((0, 1000, 5000, 5000, 5000, 5000))
    assert found.kind.id == "SS206"
    assert "batches 2 to 5 all had the watermark 1970-01-01T00:00:05.000Z" in found.evidence
    assert "3 of them brought new data" in found.evidence
    assert "30 s passed meanwhile" in found.evidence
    assert "the newest window end in the state is 1970-01-01T00:00:09.000Z" in found.evidence
    assert "no event time in it is newer than those before, so the watermark" in found.cause


@pytest.mark.parametrize(
    ("event_ms", "told"), [(8000, "1970-01-01T00:00:08.000Z"), (7999, "those")]
)
def test_the_newest_event_time_of_all_is_told_where_a_row_has_it(event_ms: int, told: str) -> None:
    newest = [NewestTime(event_ms, "event time", event_ms)]
    (found,) = judged((0, 1000, 5000, 5000, 5000, 5000), newest, delay_ms=3000)
    assert f"no event time in it is newer than {told}" in found.cause


def test_a_source_that_gives_its_newest_files_first_is_named() -> None:
    steps = (0, 1000, 5000, 5000, 5000, 5000)
    (found,) = judged(steps, newest_first=lambda: ["source 0"])
    assert found.cause.startswith("Source 0 most likely gives its newest files first (latestFir")
    assert found.next_step.startswith("leave latestFirst out")


def test_it_is_none_without_data_or_a_watermark_or_operators_that_wait() -> None:
    flat = (5000, 5000, 5000, 5000, 5000)
    assert not list(judge_watermark(clocks(*flat, data=False), 4, EVENTS))
    assert not judged(flat, [])
    assert not judged((0, 0, 0, 0, 0))
    assert not judged((1000, 2000, 3000, 3000))
    assert not list(judge_watermark(clocks(*flat), 9, EVENTS))
    assert judged(flat)
    assert not judged(flat, thresholds=Thresholds(data_batches=5))


def test_a_watermark_that_moves_in_steps_stands_no_longer_than_it_did() -> None:
    steps = (1000, *(2000,) * 6, *(3000,) * 4, *(5000,) * 5)
    (found,) = judged(steps)
    assert found.severity is Severity.INFO
    assert found.cause == (
        "The watermark moves in steps, most likely because newer event times come seldom: it "
        "stands since batch 11, and stood before through up to 5 batches with new data and went on."
    )
    sources = offsets(*([str(n), str(n * (n < 11))] for n in range(16)))
    (found,) = judged(steps, sources=sources)
    assert "most likely because source 1 brings data seldom" in found.cause
    (_, found) = judged(steps, sources=sources, by_slowest=False)
    assert "most likely because newer event times come seldom" in found.cause
    longer, once = (*steps, 5000, 5000), (1000, *(2000,) * 6, 3000, *(5000,) * 5)
    for marks in (longer, once):
        (found,) = judged(marks)
        assert found.severity is Severity.WARNING


def test_a_gap_in_the_log_ends_the_run() -> None:
    known = clocks(5000, 5000, 5000, 5000)
    del known[1]
    flat = flat_end(known, 3)
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


def test_the_source_that_stands_still_is_named_with_its_offset() -> None:
    sources = offsets(["0", "a"], ["1", "b"], ["2", "b"], ["3", "b"], ["4", "b"])
    (found,) = judged(FLAT, sources=sources)
    assert "source 1 stands at b from batch 1 to 4; source 0 went on from 2 to 4" in found.evidence
    assert found.cause == (
        "The watermark stands still and nothing can expire, most likely because source 1 has "
        "brought no new data since batch 1: the slowest source holds it back."
    )
    assert "multipleWatermarkPolicy" in found.next_step


def test_a_source_that_never_brought_data_has_no_offset() -> None:
    sources = offsets(*([str(n), None] for n in range(5)))
    (found,) = judged(FLAT, sources=sources)
    assert "source 1 has brought no data at all" in found.evidence


@pytest.mark.parametrize(
    "sources",
    [
        {},
        offsets(*([str(n)] for n in range(5))),
        offsets(*([str(n), str(n)] for n in range(5))),
        offsets(["0", "a"], ["1", "a"], ["2", "a"], ["3", "a"], ["4", "b"]),
        {n: one for n, one in offsets(*([str(n), "a"] for n in range(5))).items() if n != 3},
        offsets(["0", "a"], ["1", "a"], ["2"], ["3"], ["4", "a"]),
    ],
)
def test_where_none_stands_still_the_event_times_do(sources: Any) -> None:
    (found,) = judged(FLAT, sources=sources)
    assert "no event time in it is newer" in found.cause


def test_newer_event_times_that_do_not_move_it_show_a_longer_delay() -> None:
    times = [NewestTime(9000, "window end", 8001, "default")]
    (found,) = judged(FLAT, times, delay_ms=3000)
    assert "stands still though event times 3 s 1 ms newer came, more than the delay of 3 s" in (
        found.cause
    )
    assert "most likely a restart made the delay of withWatermark longer, or a" in found.cause
    (later,) = judged(FLAT, times, delay_ms=3001)
    assert "no event time in it is newer" in later.cause


def test_by_the_fastest_of_several_none_holds_it_back() -> None:
    sources = offsets(*([str(n), "a"] for n in range(5)))
    policy, found = judged(FLAT, sources=sources, by_slowest=False, delay_ms=60_000)
    assert "no event time in it is newer" in found.cause
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


@pytest.mark.parametrize(
    ("event_ms", "more", "found"),
    [
        (6 * HOUR, {}, True),
        (2 * HOUR, {}, False),
        (None, {}, False),
        (6 * HOUR, {"delay_ms": None}, False),
        (6 * HOUR, {"by_slowest": False}, False),
    ],
)
def test_event_times_far_before_the_watermark_show_a_source_that_holds_it_back(
    event_ms: int | None, more: dict[str, Any], *, found: bool
) -> None:
    known = clocks(1000, 2000, 3000, start=6 * HOUR)
    last = known[2]
    known[2] = BatchClock(last.batch_id, last.timestamp_ms, 3000, True, True, 4000)
    times = [NewestTime(6 * HOUR, "event time", event_ms, "left")]
    given = {"delay_ms": HOUR + 1000} | more
    result = list(judge_watermark(known, 2, times, **given))
    assert [(one.kind.id, one.severity) for one in result] == [("SS206", Severity.INFO)] * found
    assert all("4 h 59 min behind the newest event times" in one.cause for one in result)


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
    (behind,) = judge_watermark(known, 0, [near], delay_ms=HOUR)
    assert "one source is late" in behind.cause


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


def test_where_there_is_no_watermark_yet_the_source_without_data_is_named() -> None:
    sources = offsets(["0", None], ["1", None], ["2", None], ["3", None], ["4", None])
    (finding,) = judged((0,) * 5, sources=sources)
    assert finding.kind.id == "SS206"
    assert "batches 0 to 4 had no watermark" in finding.evidence
    assert "source 1 has brought no data yet" in finding.cause
    assert not judged((0,) * 5, sources=sources, by_slowest=False)
    assert not judged((0,) * 5, sources=offsets(*[[str(n)] for n in range(5)]))


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


@pytest.mark.parametrize(
    ("left", "words"), [(1, "the left side of the join is late"), (9, "as a rule one source")]
)
def test_the_side_of_a_join_that_is_late_is_named(left: int, words: str) -> None:
    newest = [
        NewestTime(hours * HOUR, "event time", hours * HOUR, f"{side}-keyWithIndexToValue")
        for side, hours in (("left", left), ("right", 9))
    ]
    known = clocks(HOUR - 3, HOUR - 2, start=9 * HOUR)
    last = replace(known[1], next_watermark_ms=HOUR)
    (found,) = judge_watermark({**known, BatchId(1): last}, 1, newest, delay_ms=0)
    assert (found.kind.id, found.severity) == ("SS206", Severity.INFO)
    assert words in found.cause
