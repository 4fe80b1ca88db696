"""SS211: watermark far from the batch clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.state_schema import StateSchema
from inspector.facts.ages import AHEAD, Ages, RowsBehind
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule import parse_thresholds
from inspector.findings.watermark.ss211_watermark_ahead import WatermarkAhead
from inspector.model import BatchClock, BatchId
from inspector.operators.rule import StoreRule
from inspector.sparktypes import TIMESTAMP, StructField, StructType
from tests.cases import KEY_TIME
from tests.store_views import batch_clocks, checkpoint_view

HOUR = 3_600_000
INFO, WARNING, ERROR = Severity
RULE = StoreRule(expiry=KEY_TIME)


def findings(
    clocks: Mapping[int, BatchClock],
    *facts: Any,
    delay_ms: int | None = None,
    thresholds: dict[str, str] | None = None,
    **options: Any,
) -> list[Finding]:
    metadata = {} if delay_ms is None else {"spark.watermarkDelayMs": delay_ms}
    key = StructType((StructField("ts", TIMESTAMP, metadata=metadata),))
    schemas = {"default": StateSchema(3, key, StructType(()))}
    seen = [("default", 0, fact) for fact in facts]
    view = checkpoint_view({"default": RULE}, seen, clocks=clocks, schemas=schemas, **options)
    return list(WatermarkAhead(parse_thresholds(thresholds or {})).findings(view))


def marks(*watermarks: int, start_ms: int = 0) -> dict[int, BatchClock]:
    return batch_clocks(*watermarks, start_ms=start_ms)


FAR = 1000 * HOUR


def test_future_event_time_moves_watermark() -> None:
    (finding,) = findings(marks(0, 1000, FAR, FAR))
    assert (finding.kind.id, finding.severity) == ("SS211", WARNING)
    assert finding.cause == (
        "Event times in the future moved the watermark 42 d ahead of the batch clock, and it "
        "never goes back, so data with correct times comes too late for it."
    )
    assert finding.evidence.endswith("; the data of batch 1 brought it there")
    assert "before withWatermark" in finding.next_step
    assert finding.hides == ("SS206", "SS220")


def test_watermark_ahead_that_data_no_longer_moves_is_an_error() -> None:
    (finding,) = findings(marks(0, 1000, *[FAR] * 4))
    assert finding.severity is ERROR
    assert "; 3 batches with new data since then did not move it" in finding.evidence


def test_newest_batch_may_have_moved_watermark_ahead() -> None:
    clocks = marks(0, 1000, 2000)
    (finding,) = findings(clocks | {2: replace(clocks[2], next_watermark_ms=FAR)})
    assert "the data of batch 2 brought it there" in finding.evidence


LOWEST = {"ahead_hours": "0.0", "ahead_noted": "0.0"}


@pytest.mark.parametrize("ahead_ms", [14 * HOUR, 24 * HOUR - 360_000])
def test_time_zone_offset_is_information(ahead_ms: int) -> None:
    watermarks = range(10**9 + ahead_ms, 10**9 + ahead_ms + 5000, 1000)
    clocks = marks(*watermarks, start_ms=10**9)
    (finding,) = findings(clocks)
    assert finding.severity is INFO
    assert "or of another time zone" in finding.cause
    assert findings(clocks, thresholds=LOWEST)


@pytest.mark.parametrize("ahead_ms", [-1000 * HOUR, 0])
def test_watermark_of_replayed_data_has_no_finding(ahead_ms: int) -> None:
    watermarks = range(10**9 + ahead_ms, 10**9 + ahead_ms + 5000, 1000)
    clocks = marks(*watermarks, start_ms=10**9)
    assert findings(clocks) == []
    assert findings(clocks, thresholds=LOWEST) == []


def test_watermark_hours_ahead_that_data_no_longer_moves_is_a_warning() -> None:
    (finding,) = findings(marks(0, 1000, *[11 * HOUR] * 4))
    assert finding.severity is WARNING
    assert "; the data of batch 1 brought it there" in finding.evidence


@pytest.mark.parametrize(
    ("digits", "severity"),
    [({AHEAD: 10, 9: 20}, WARNING), ({}, INFO), ({AHEAD: 10, 4: 20}, INFO)],
)
def test_correct_rows_behind_future_watermark_are_a_warning(
    digits: dict[int, int], severity: Severity
) -> None:
    clocks = marks(107 * HOUR, 108 * HOUR, 108 * HOUR, start_ms=100 * HOUR)
    (finding,) = findings(clocks, RowsBehind(Counter(digits)))
    assert finding.severity is severity
    assert ("of the 30 rows of batch 2 it left 20 behind by 4 h 16 min" in finding.evidence) is (
        severity is WARNING
    )


def test_batch_clock_set_back_is_not_attributed_to_event_times() -> None:
    clocks = marks(0, 1000, 2000, 3000, start_ms=200 * HOUR)
    for batch in (2, 3):
        clocks[batch] = replace(clocks[batch], timestamp_ms=100 * HOUR, watermark_ms=200 * HOUR)
    (finding,) = findings(clocks)
    assert finding.severity is WARNING
    assert "went back 4 d 4 h after batch 1" in finding.cause


def test_batch_before_start_of_log_is_not_named() -> None:
    (finding,) = findings(marks(FAR, FAR, FAR))
    assert "brought it there" not in finding.evidence
    clocks = marks(0, FAR)
    assert findings(clocks | {1: BatchClock(BatchId(1), None, FAR)}) == []


@pytest.mark.parametrize(
    ("watermark", "cause"),
    [
        (1_780_000_000, "1970-01-21T14:26:40.001Z: seconds were taken for milliseconds, or millis"),
        (1_780_000, "1970-01-01T00:29:40.001Z: seconds were taken for microseconds, so windows"),
        (1_780_000_000_000_000, "Z: milliseconds were taken for seconds, or microseconds for"),
    ],
)
def test_wrong_time_unit_is_recognised_by_batch_clock(watermark: int, cause: str) -> None:
    (finding,) = findings(marks(watermark, watermark + 1, start_ms=1_790_000_000_000))
    assert finding.severity is WARNING
    assert cause in finding.cause
    assert "timestamp_millis" in finding.next_step


def test_time_in_seconds_of_more_than_ten_years_before_is_no_wrong_unit() -> None:
    now_ms = 1_790_000_000_000  # September 2026
    (finding,) = findings(marks(1_480_000_000, 1_480_000_001, start_ms=now_ms))  # November 2016
    assert "seconds were taken for milliseconds" in finding.cause
    assert findings(marks(1_470_000_000, 1_470_000_001, start_ms=now_ms)) == []  # July 2016


def test_wrong_time_unit_is_recognised_with_long_delay() -> None:
    clocks = marks(60_000, 60_001, start_ms=1_790_000_000_000)
    assert findings(clocks) == []
    (finding,) = findings(clocks, delay_ms=1_700_000)
    assert "seconds were taken for microseconds" in finding.cause


def test_future_event_held_back_by_slower_source() -> None:
    clock = BatchClock(BatchId(0), 100 * HOUR, 99 * HOUR, True, True, 99 * HOUR)
    future = Ages(newest=(5000 * HOUR, 5))
    (finding,) = findings({0: clock}, future, delay_ms=HOUR)
    assert finding.severity is INFO
    assert finding.cause.startswith("An event lies 204 d in the future (batch 4) and moved th")
    assert findings({0: clock}, future, delay_ms=None) == []
    assert findings({0: clock}, future, delay_ms=HOUR, policy="max") == []
    assert findings({0: clock}, Ages(newest=(123 * HOUR, 5)), delay_ms=HOUR) == []
    # The watermark is at the newest event less the delay: no source holds it back.
    assert findings({0: clock}, Ages(newest=(124 * HOUR, 5)), delay_ms=25 * HOUR) == []


def test_watermark_after_year_9999_is_formatted() -> None:
    (finding,) = findings(marks(*[10**15] * 5), thresholds={"ahead_hours": "1000000000000.0"})
    assert "+33658-09-27T01:46:40.000Z" in finding.evidence
