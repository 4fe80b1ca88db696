"""SS201: rows can never expire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss201_never_expires import NeverExpires
from inspector.findings.rule import parse_thresholds
from inspector.model import Certainty
from inspector.operators.rule import StoreRule
from inspector.sparktypes import LONG, TIMESTAMP, StructField, StructType
from tests.attributes import attributes
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, store_view

INFO, WARNING = Severity.INFO, Severity.WARNING
PROVEN, INFERRED, _ = Certainty
NEVER = StoreRule(never="no column carries a watermark", advice="add withWatermark")
TIMEOUTS, ROWS = StoreRule(expiry=TIMER), StoreRule(expiry=KEY_TIME)
ID = StructType((StructField("id", LONG),))
KEYS = [bytes(8) + n.to_bytes(8, "little") for n in range(40)]


def history(rows: int = 1200, inserts: int = 10, removed: int = 0, puts: int = 20) -> list[Any]:
    """Return seven versions, each with these changes, and no quiet one at the end."""
    changes = VersionFacts(rows, 1000, 500, puts=puts, inserts=inserts, removed_rows=removed)
    changes = VersionFacts(
        rows=rows,
        key_bytes=1000,
        value_bytes=500,
        puts=puts,
        inserts=inserts,
        new_rows=inserts,
        removed_rows=removed,
    )
    return [changes] * 7


def findings(rule: StoreRule, *facts: Any, **options: Any) -> list[Finding]:
    arguments = {
        "history": history(),
        "clocks": batch_clocks(*[5000] * 7),
        "operator_name": "dedupe",
    }
    view = store_view(rule, *facts, **arguments | options)
    return list(NeverExpires().findings(view))


def test_rows_without_watermark_column_never_expire() -> None:
    (finding,) = findings(NEVER)
    assert (finding.kind.id, finding.severity, finding.certainty) == ("SS201", WARNING, PROVEN)
    assert (finding.rows, finding.bytes) == (1200, 1500)
    assert finding.cause == "No column carries a watermark."
    assert finding.evidence.endswith(
        "1,200 rows, 0 of 70 keys removed in the 7 versions whose changes can be read"
    )
    assert finding.next_step == "add withWatermark"
    assert findings(NEVER, history=history(removed=1)) == []
    assert findings(NEVER, history=[]) == []
    assert findings(ROWS) == []


def test_unique_key_column_is_named() -> None:
    (finding,) = findings(NEVER, key=ID, keys=KEYS)
    assert finding.cause == "No column carries a watermark ('id' differs in each key)."


def test_watermark_on_another_column_is_named() -> None:
    words = "No column carries a watermark (the watermark of the query is on another column)."
    (finding,) = findings(NEVER, operator_name="stateStoreSave")
    assert finding.cause == words
    (finding,) = findings(NEVER, operator_name="stateStoreSave", clocks=batch_clocks(*[0] * 7))
    assert finding.cause == "No column carries a watermark."


TIME = StructType((StructField("ts", TIMESTAMP),))


@pytest.mark.parametrize(
    ("key", "watermark_ms", "moved", "certainty", "severity"),
    [
        (TIME, 5000, None, INFERRED, INFO),  # no row is older
        (TIME, 7000, None, INFERRED, WARNING),  # the watermark has passed a row
        (TIME, 0, (True, True), PROVEN, WARNING),
        # It stays at 0 as long as a source brings nothing.
        (TIME, 0, (True, False), INFERRED, INFO),
        (ID, 5000, None, PROVEN, WARNING),
    ],
)
def test_watermark_added_by_restart_is_not_in_schema(
    key: StructType,
    watermark_ms: int,
    moved: tuple[bool, ...] | None,
    certainty: Certainty,
    severity: Severity,
) -> None:
    options: dict[str, Any] = {"clocks": batch_clocks(*[watermark_ms] * 7), "key": key}
    if moved is not None:
        options["sources"] = {6: [SourceOffset(str(n), "1", m) for n, m in enumerate(moved)]}
    (finding,) = findings(NEVER, Ages(oldest_ms=6000), **options)
    assert (finding.certainty, finding.severity) == (certainty, severity)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"history": history(inserts=0)}, "no key was new in the newest 7 versions"),
        ({"growing": False}, "the store does not grow"),
    ],
)
def test_store_without_growth_is_information(options: dict[str, Any], reason: str) -> None:
    (finding,) = findings(NEVER, **options)
    assert finding.severity is INFO
    assert finding.cause == f"No column carries a watermark ({reason})."


def test_growing_store_is_a_warning() -> None:
    (finding,) = findings(NEVER, growing=True)
    assert finding.severity is WARNING
    assert finding.cause == "No column carries a watermark."


@pytest.mark.parametrize(
    ("new", "severity"),
    [
        ((80, 60, 40, 20), INFO),
        ((80, 60, 60, 60), WARNING),  # steady, as a leak is
        ((80, 60, 40, 35), WARNING),  # the last quarter hardly fewer
        ((3, 2, 1, 0), INFO),  # 10, 5 and none
        ((2, 1, 0, 0), WARNING),  # 5 and none: as many may come by chance
    ],
)
def test_decreasing_number_of_new_keys_is_information(
    new: tuple[int, ...], severity: Severity
) -> None:
    """``new`` has the number of new keys per 100 puts, for each quarter of the history."""
    result = [
        VersionFacts(rows=10, puts=100, new_rows=new[n // 5], inserts=n == 0) for n in range(20)
    ]
    clocks = batch_clocks(*[5000] * 20)
    thresholds = parse_thresholds({"window_versions": 5})
    view = store_view(NEVER, history=result, clocks=clocks, operator_name="dedupe")
    vars(view.history)["quiet_versions"] = 0
    (finding,) = NeverExpires(thresholds).findings(view)
    assert (finding.severity, "ever fewer keys are new" in finding.cause) == (
        severity,
        severity is INFO,
    )


@pytest.mark.parametrize(("removed", "is_found"), [(2, True), (3, False)])
def test_function_that_removes_few_keys_is_information(removed: int, *, is_found: bool) -> None:
    result = findings(NEVER, history=history(inserts=20, removed=removed))
    assert attributes(result, "severity") == [INFO] * is_found


# --- null event times ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "growing", "severity"),
    [(40, None, WARNING), (40, True, WARNING), (40, False, INFO), (0, True, INFO)],
)
def test_rows_with_null_event_time_are_reported(
    new: int, growing: bool | None, severity: Severity
) -> None:
    expiring = Expiring(endless_rows=53, endless_bytes=530, endless_new=new)
    (finding,) = findings(ROWS, expiring, growing=growing)
    assert (finding.kind.id, finding.severity, finding.certainty) == ("SS201", severity, PROVEN)
    assert (finding.rows, finding.bytes) == (53, 530)
    assert finding.cause.startswith("The event time of 53 rows is null (ts), so no watermark remo")
    assert f"; {new} of them came in the newer half" in finding.cause
    assert "in place of cube or rollup name the grouping sets" in finding.next_step


def test_join_rows_with_null_event_time_are_reported() -> None:
    side = StoreRule(unknown="a range", event_time=KEY_TIME)
    (finding,) = findings(side, Ages(untimed=53, untimed_new=7))
    assert (finding.rows, finding.bytes, finding.severity) == (53, None, WARNING)
    assert findings(side, Ages(untimed=11)) == []  # below one percent


def test_null_event_times_are_not_reported_for_timeouts() -> None:
    assert findings(TIMEOUTS, Expiring(endless_rows=1200)) == []
    assert findings(ROWS, Expiring(endless_rows=11)) == []


# --- keys without a timeout ------------------------------------------------------------------

UNSET = TimerCalls(never_armed_rows=9, never_armed_bytes=90)


@pytest.mark.parametrize(
    ("calls", "options", "expected"),
    [
        (UNSET, {}, [(WARNING, PROVEN)]),
        (UNSET, {"growing": False}, [(INFO, PROVEN)]),
        (UNSET, {"history": history(removed=1)}, []),
        (UNSET, {"history": history(inserts=20, removed=2)}, [(INFO, PROVEN)]),
        (UNSET, {"history": history()[:4], "clocks": batch_clocks(*[5000] * 4)}, []),
        (replace(UNSET, armed_keys=3), {}, []),
        (replace(UNSET, armed_keys=3, unarmed_by_data=2), {}, [(WARNING, INFERRED)]),
        (replace(UNSET, never_armed_rows=0), {}, []),
    ],
)
def test_keys_without_timeout_are_reported(
    calls: TimerCalls, options: dict[str, Any], expected: list[tuple[Severity, Certainty]]
) -> None:
    result = findings(TIMEOUTS, calls=calls, operator_name="flatMapGroupsWithState", **options)
    assert attributes(result, "severity", "certainty") == expected
    for finding in result:
        assert finding.cause.startswith("The function set no timeout for 9 keys in 7 versions, so")
        assert (finding.rows, finding.bytes) == (9, 90)


LOST = TimerCalls(armed_keys=9, unarmed_by_data=900, lost_rows=900, lost_bytes=990)


@pytest.mark.parametrize(
    ("calls", "options", "severity"),
    [
        (LOST, {}, WARNING),
        (replace(LOST, timeout_removed=525), {"history": history(removed=100)}, WARNING),
        (replace(LOST, timeout_removed=524), {"history": history(removed=100)}, INFO),
        (LOST, {"growing": False}, INFO),
        (replace(LOST, lost_rows=599), {}, INFO),
        (replace(LOST, lost_rows=59), {}, None),
    ],
)
def test_data_calls_that_clear_timeouts_are_proven(
    calls: TimerCalls, options: dict[str, Any], severity: Severity | None
) -> None:
    result = findings(TIMEOUTS, calls=calls, operator_name="flatMapGroupsWithState", **options)
    assert attributes(result, "severity", "certainty") == (
        [] if severity is None else [(severity, PROVEN)]
    )
    for finding in result:
        assert finding.cause.startswith(f"A call for new data took the timeout of {finding.rows} k")
