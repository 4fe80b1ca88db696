"""SS218: expiry far ahead of the clock."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring, Width
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss218_far_expiry import FarExpiry
from inspector.findings.rule import parse_thresholds
from inspector.model import TimeoutKind
from inspector.operators.rule import RowKind, StoreRule
from inspector.sparktypes import TIMESTAMP, StructField, StructType
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, store_view

DAY, HOUR, MINUTE = 86_400_000, 3_600_000, 60_000
NOW = 1_700_006_400_000  # a whole day and hour; the watermark of the judged batch
CLOCKS = batch_clocks(*[NOW] * 7, gap_ms=MINUTE, start_ms=NOW)
ROWS, TIMEOUTS = StoreRule(expiry=KEY_TIME), StoreRule(expiry=TIMER)
VALUES = StoreRule(expiry=TIMER, row_kind=RowKind.TTL_VALUE)
EVENT = TimeoutKind.EVENT_TIME


def expiring(rows: dict[int, int], width: Width = Width.HOUR, **options: Any) -> Expiring:
    """Return rows by the hours after the watermark at which they expire, 8 bytes each."""
    buckets = {(NOW + hours * HOUR) // width: count for hours, count in rows.items()}
    sizes = Counter({bucket: 8 * count for bucket, count in buckets.items()})
    return Expiring(width=width, rows=Counter(buckets), bytes=sizes, **options)


def findings(
    rule: StoreRule, *facts: Any, thresholds: dict[str, str] | None = None, **options: Any
) -> list[Finding]:
    history = [
        VersionFacts(rows=12, puts=12, inserts=12, removed_rows=options.pop("removed", 0))
    ] * 7
    view = store_view(rule, *facts, **{"history": history, "clocks": CLOCKS} | options)
    return list(FarExpiry(parse_thresholds(thresholds or {})).findings(view))


def timeouts(rows: dict[int, int], **options: Any) -> list[Finding]:
    calls = options.pop("calls", TimerCalls(armed_keys=12))
    state = {"operator_name": "flatMapGroupsWithState", "calls": calls, "kind": EVENT}
    return findings(TIMEOUTS, expiring(rows, timeout_kind=EVENT), **state | options)


@pytest.mark.parametrize(("days", "severity"), [(181, Severity.INFO), (731, Severity.WARNING)])
def test_event_time_far_in_future(days: int, severity: Severity) -> None:
    (finding,) = findings(ROWS, expiring({0: 10, days * 24: 2}))
    assert (finding.severity, finding.rows, finding.bytes) == (severity, 2, 16)
    assert finding.cause.startswith("2 rows cannot expire for ")
    assert "event times in the future" in finding.cause


def test_event_time_less_than_half_a_year_ahead_has_no_finding() -> None:
    assert findings(ROWS, expiring({0: 10, 179 * 24: 2})) == []


def test_few_rows_are_reported_only_with_large_share_of_store() -> None:
    assert findings(ROWS, expiring({0: 10, 9000: 2}), thresholds={"far_share": "20%"}) == []
    assert findings(ROWS, expiring({0: 10, 9000: 2}), thresholds={"far_days": "400.0"}) == []


def test_timeout_in_wrong_time_unit() -> None:
    (finding,) = timeouts({500 * 24: 12})
    assert finding.cause.startswith("12 timeouts cannot expire for 500 d (until 2025-03-29): a wro")
    (finding,) = findings(VALUES, expiring({500 * 24: 12}))
    assert "the TTL of 'default' (TTLConfig(Duration), or ttlDurationMs" in finding.cause


def test_event_time_timeout_set_from_wall_clock() -> None:
    clocks = batch_clocks(*[NOW] * 7, start_ms=NOW + 740 * DAY)
    (finding,) = timeouts({741 * 24: 12}, clocks=clocks)
    assert "most likely set from the wall clock, while event times are 2.0 years older" in (
        finding.cause
    )
    assert finding.next_step.startswith("set event-time timeouts and timers from the event time")


@pytest.mark.parametrize(
    "options",
    [
        {"removed": 1},
        {"thresholds": {"far_spans": "250.0"}},  # 6 minutes of history
        {"thresholds": {"far_hours": "25.0"}},
        {"thresholds": {"window_versions": "8"}},
        {"history": [VersionFacts(rows=13, puts=1, inserts=1)] * 7},  # one row has no time
        {"history": [VersionFacts(rows=12, puts=1)] * 7, "growing": False},
    ],
)
def test_rows_that_expire_late_have_no_finding(options: dict[str, Any]) -> None:
    assert findings(ROWS, expiring({24: 6, 25: 6}), **options) == []


@pytest.mark.parametrize("options", [{}, {"growing": False}])  # new keys arrive in both cases
def test_all_rows_expire_late(options: dict[str, Any]) -> None:
    (finding,) = findings(ROWS, expiring({24: 6, 25: 6}), **options)
    assert finding.severity is Severity.INFO
    assert finding.cause.startswith("No row can expire for 1 d (until 2023-11-16T00:00:00.0")


@pytest.mark.parametrize(
    ("delay_ms", "setting"),
    [
        (DAY, "the delay of withWatermark is 1 d"),
        (HOUR, "the sum of delay, window and gap is 1 d 1 h"),
    ],
)
def test_setting_that_delays_expiry_is_named(delay_ms: int, setting: str) -> None:
    metadata = {"spark.watermarkDelayMs": delay_ms}
    key = StructType((StructField("ts", TIMESTAMP, metadata=metadata),))
    (finding,) = findings(ROWS, expiring({24: 12}), key=key)
    assert f"because {setting}: until then" in finding.cause
    assert finding.next_step.startswith(f"shorten {setting.partition(' is ')[0]} if")


def test_dedup_within_watermark_keeps_keys_for_its_delay() -> None:
    facts = CLOCKS | {6: replace(CLOCKS[6], next_watermark_ms=NOW)}
    newest = Ages(newest=(NOW + 2 * DAY, 7))  # the delay is in the watermark and in the expiry
    options: dict[str, Any] = {"operator_name": "dedupeWithinWatermark", "clocks": facts}
    (finding,) = findings(ROWS, expiring({48: 12}), newest, **options)
    assert "because the delay of withWatermark is 1 d" in finding.cause


@pytest.mark.parametrize("days", [1, 20])
def test_session_gap_and_timeout_are_named(days: int) -> None:
    newest = Ages(newest=(NOW + days * DAY, 7))
    facts = CLOCKS | {6: replace(CLOCKS[6], next_watermark_ms=NOW)}
    options: dict[str, Any] = {"operator_name": "sessionWindowStateStoreSaveExec", "clocks": facts}
    (finding,) = findings(ROWS, expiring({24 * days: 12}), newest, removed=3, **options)
    assert f"the gap of session_window is {days} d" in finding.cause
    assert "; 21 rows were removed in the history" in finding.evidence
    (finding,) = timeouts({24 * days: 12}, clocks=facts)
    assert "because the timeout is " in finding.cause


def test_cause_names_watermark_lag_of_waiting_timeouts() -> None:
    late = batch_clocks(*[NOW] * 7, start_ms=NOW + 2 * DAY)
    (finding,) = timeouts({49: 12}, clocks=late)
    assert "because the lag of the watermark behind the batch clock is 2 d" in finding.cause


@pytest.mark.parametrize(("fired", "is_found"), [(0, True), (1, False)])
def test_keys_removed_by_function_are_not_counted_as_timed_out(
    fired: int, *, is_found: bool
) -> None:
    calls = TimerCalls(armed_keys=12, timeout_removed=fired)
    assert bool(timeouts({24: 12}, calls=calls, removed=2)) is is_found


def test_timeouts_far_later_than_others_are_counted() -> None:
    ends = {0: 6, 2: 4, 800: 2}
    (finding,) = timeouts(ends, removed=1)
    assert finding.rows == 2
    assert finding.cause == (
        "2 of 12 timeouts end after 33 d at the earliest, and the others within 3 h: the gap or "
        "timeout differs from row to row."
    )
    assert finding.hides == ("SS217",)
    assert timeouts(ends, removed=1, thresholds={"alike_share": "20%"}) == []


# In the first case the latest timeouts are less than ten times as late as the others.
@pytest.mark.parametrize("ends", [{0: 6, 9: 4, 80: 2}, {0: 12}])
def test_timeouts_of_similar_length_have_no_finding(ends: dict[int, int]) -> None:
    assert timeouts(ends, removed=1) == []
    assert timeouts(ends, removed=1, thresholds={"alike_share": "20%"}) == []


@pytest.mark.parametrize(("delay_days", "is_found"), [(7, True), (6, False)])
def test_long_delay_of_join_side(delay_days: int, *, is_found: bool) -> None:
    key = StructType(
        (StructField("ts", TIMESTAMP, metadata={"spark.watermarkDelayMs": delay_days * DAY}),)
    )
    rule = StoreRule(unknown="a range", event_time=KEY_TIME)
    oldest = Ages(oldest_ms=NOW + 7 * DAY - HOUR)
    result = findings(rule, oldest, key=key, operator_name="symmetricHashJoin")
    assert bool(result) is is_found
    if result:
        assert "because the longest delay of withWatermark is 7 d" in result[0].cause
