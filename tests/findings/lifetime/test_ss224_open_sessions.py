"""SS224: sessions or timers that new events put off."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.expiring import Expiring, Width
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.top_keys import TopBy, TopKey
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss224_open_sessions import OpenSessions
from inspector.model import TimeoutKind
from inspector.operators.rule import StoreRule
from inspector.sparktypes import TIMESTAMP, StructField, StructType
from tests import encode
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, store_view

SESSION = "sessionWindowStateStoreSaveExec"
ROWS, TIMEOUTS = StoreRule(expiry=KEY_TIME), StoreRule(expiry=TIMER)
MARKS = range(91_000, 101_000, 1000)  # the watermark moves by 9 s to 100 s
START = StructType((StructField("start", TIMESTAMP),))


def ends(second: int, rows: int = 9, **options: Any) -> Expiring:
    return Expiring(width=Width.SECOND, rows=Counter({second: rows}), **options)


def history(puts: int = 1, **changes: Any) -> list[VersionFacts]:
    return [VersionFacts(rows=9, key_bytes=90, puts=puts, **changes)] * 10


def findings(rule: StoreRule, *facts: Any, **options: Any) -> list[Finding]:
    marks = options.pop("marks", MARKS)
    arguments: dict[str, Any] = {"history": history(), "operator_name": SESSION}
    view = store_view(rule, *facts, **arguments | {"clocks": batch_clocks(*marks)} | options)
    vars(view.history)["quiet_versions"] = options.get("quiet", 9)
    return list(OpenSessions().findings(view))


def test_sessions_prolonged_by_new_events_are_reported() -> None:
    (finding,) = findings(ROWS, ends(102))
    assert (finding.kind.id, finding.severity, finding.rows) == ("SS224", Severity.INFO, 9)
    assert finding.cause == (
        "No session has closed while the watermark moved by 9 s: new events prolong 9 sessions "
        "before the gap has passed."
    )
    assert "is due at most 3 s after its clock, which moved by 9 s" in finding.evidence


@pytest.mark.parametrize(
    ("facts", "options"),
    [
        ([ends(103)], {}),  # four seconds are more than a third of nine
        ([ends(102)], {"history": history(removed_rows=1)}),
        ([ends(102)], {"history": history()[:4], "marks": MARKS[:4]}),
        ([ends(102)], {"operator_name": "stateStoreSave"}),
        ([ends(90)], {}),  # they are due
        ([], {}),
    ],
)
def test_sessions_that_close_have_no_finding(
    facts: list[Expiring], options: dict[str, Any]
) -> None:
    assert findings(ROWS, *facts, **options) == []


def test_half_wait_suffices_if_most_versions_wrote_sessions() -> None:
    assert findings(ROWS, ends(117), history=history(5)) != []
    assert findings(ROWS, ends(117), history=history(4)) == []


def test_first_expiry_may_be_at_the_end_of_a_wide_bucket() -> None:
    hour, minute = 3_600_000, 60_000
    newest = 42 * hour + 30 * minute
    wide = Expiring(width=Width.HOUR, rows=Counter({42: 9}))
    (finding,) = findings(ROWS, wide, marks=range(newest - 9 * hour, newest + 1, hour))
    assert "is due at most 30 min after its clock, which moved by 9 h" in finding.evidence
    assert findings(ROWS, wide, marks=range(newest - 9 * minute, newest + 1, minute)) == []


CALLS = TimerCalls(armed_by_data=10, armed_keys=9)
GROUP: dict[str, Any] = {
    "operator_name": "flatMapGroupsWithState",
    "calls": CALLS,
    "kind": TimeoutKind.EVENT_TIME,
}
DUE = ends(102, timeout_kind=TimeoutKind.EVENT_TIME)


def test_timeouts_reset_by_each_call_are_reported() -> None:
    (finding,) = findings(TIMEOUTS, DUE, **GROUP)
    assert finding.cause == (
        "No timeout has fired while its clock moved by 9 s: each call for new data sets the "
        "timeout of 9 keys anew before it is due."
    )


@pytest.mark.parametrize(
    "change",
    [
        {"calls": replace(CALLS, timeout_rearmed=1)},
        {"calls": replace(CALLS, armed_by_data=9)},  # a timeout may have made one of the puts
        {"history": [*history()[1:], VersionFacts(rows=10, puts=1)]},  # one row has no timeout
        {"calls": None},
    ],
)
def test_timeouts_not_reset_by_each_call_have_no_finding(change: dict[str, Any]) -> None:
    assert findings(TIMEOUTS, DUE, **GROUP | change) == []


def top(start: int, puts: int, partition: int = 0) -> TopKey:
    key = encode.row(START, (start * 1_000_000 + partition,))
    return TopKey(TopBy.PUTS, puts, key, 16, 8, puts)


CLOSING: dict[str, Any] = {"history": history(removed_rows=3), "key": START}


def test_session_open_far_longer_than_others_is_named() -> None:
    # 9 sessions, of which 30 were removed in 9 s: each lasts 2.7 s.
    (finding,) = findings(ROWS, ends(103), top(91, 5), top(95, 9), **CLOSING)
    assert (finding.severity, finding.rows) == (Severity.INFO, 1)
    assert finding.cause.startswith(
        "1 of 9 sessions is kept open by new events, the longest for 9 "
    )
    assert "; the others last ~2 s 700 ms. It may be a robot" in finding.cause
    assert findings(ROWS, ends(103), top(92, 5), **CLOSING) == []
    assert findings(ROWS, ends(103), top(91, 4), **CLOSING) == []
    assert findings(ROWS, ends(103), **CLOSING) == []
    sample = CLOSING | {
        "history": [VersionFacts(rows=1, puts=1, removed_rows=n < 9) for n in range(10)]
    }
    assert findings(ROWS, ends(103), top(0, 9), **sample) == []


@pytest.mark.parametrize(("lasting", "usual"), [(2, "2 s 100 ms"), (3, "1 s 800 ms")])
def test_several_long_sessions_are_counted(lasting: int, usual: str) -> None:
    (finding,) = findings(ROWS, ends(103, lasting=lasting), top(91, 5), **CLOSING)
    assert finding.rows == lasting
    assert finding.cause.startswith(f"{lasting} of 9 sessions are kept open by new events, the ")
    assert f"the others last ~{usual}" in finding.cause
