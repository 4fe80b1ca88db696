"""SS210: keys that may be leftovers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss210_undecided_keys import UndecidedKeys
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import RowKind, StoreRule
from tests.attributes import attributes
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, leftover_view

UNDECIDED = Certainty.UNDECIDED
TIMEOUTS = StoreRule(expiry=TIMER)
KEPT = LeftoverCount(
    *(LeftoverClass.KEPT_WITHOUT_TIMEOUT, UNDECIDED, 9),
    rows=3,
    key_bytes=80,
    value_bytes=160,
    fired=1,
    reason="because",
)
CLOCKS = batch_clocks(*[5000] * 7)
HISTORY = [VersionFacts(rows=1200)] * 7


def findings(*totals: LeftoverCount, rule: StoreRule = TIMEOUTS, **options: Any) -> list[Finding]:
    arguments = {"clocks": CLOCKS, "history": HISTORY, "operator_name": "flatMapGroupsWithState"}
    return list(UndecidedKeys().findings(leftover_view(rule, *totals, **arguments | options)))


@pytest.mark.parametrize("kind", LeftoverClass)
def test_undecided_keys_of_all_reasons_are_one_finding(kind: LeftoverClass) -> None:
    undecided = replace(KEPT, leftover_class=kind, untouched=3)
    (finding,) = findings(undecided, replace(undecided, rows=1))
    assert (finding.kind.id, finding.severity) == ("SS210", Severity.INFO)
    assert (finding.certainty, finding.rows, finding.bytes) == (UNDECIDED, 4, 480)
    assert finding.evidence == "4 keys: because"
    assert "4 keys" in finding.cause
    assert findings(replace(undecided, rows=0)) == []
    assert findings(replace(undecided, certainty=Certainty.PROVEN)) == []


def test_timeout_kind_that_proves_leftovers_is_named() -> None:
    provable = {TimeoutKind.EVENT_TIME: 1, TimeoutKind.PROCESSING_TIME: 252}
    (finding,) = findings(KEPT, provable=provable)
    assert finding.next_step.endswith(
        "leads to the operator; if the query uses event-time timeouts, --timeout-kind event proves "
        "1 key to be left behind; if the query uses processing-time timeouts, --timeout-kind "
        "processing proves 252 keys to be left behind"
    )


def test_key_with_new_timer_and_changed_state_waits_for_timer() -> None:
    assert findings(replace(KEPT, leftover_class=LeftoverClass.REARMED, changed=3)) == []
    assert findings(replace(KEPT, changed=3)) != []


def test_timers_may_fire_in_the_next_batch() -> None:
    passed = replace(KEPT, leftover_class=LeftoverClass.PAST_WATERMARK, rows=1)
    (finding,) = findings(passed, rule=StoreRule(expiry=KEY_TIME, row_kind=RowKind.TIMER))
    assert finding.cause == (
        "The time of 1 timer has come, and the next batch will show if Spark fires it."
    )
    assert finding.evidence == "1 timer: because"


def test_watermark_may_not_reach_operator() -> None:
    passed = replace(KEPT, leftover_class=LeftoverClass.PAST_WATERMARK, rows=2)
    (finding,) = findings(passed, rule=StoreRule(expiry=KEY_TIME))
    assert finding.cause == (
        "The watermark of the query has passed 2 keys, and the files do not show whether it "
        "reaches the operator."
    )
    (finding,) = findings(passed, KEPT)
    assert "whether a timeout left 5 keys behind" in finding.cause


def test_keys_without_a_timeout_are_reported_by_ss201_alone() -> None:
    before = replace(KEPT, needs=Needs.BEFORE_WINDOW)
    assert findings(before) != []
    calls = TimerCalls(never_armed_rows=9, never_armed_bytes=90)
    assert findings(before, calls=calls) == []
    assert attributes(findings(before, KEPT, calls=calls), "rows") == [3]


IGNORED = replace(KEPT, leftover_class=LeftoverClass.IGNORED_TIMEOUT, rows=1200)
NO_WATERMARK: dict[str, Any] = {
    "clocks": batch_clocks(*[0] * 7),
    "provable": {TimeoutKind.PROCESSING_TIME: 1200},
}


def test_keys_that_no_timeout_kind_removes_are_a_warning() -> None:
    (finding,) = findings(IGNORED, **NO_WATERMARK)
    assert finding.severity is Severity.WARNING
    assert finding.cause.startswith("The store holds 1,200 keys, and no timeout removes them,")
    assert finding.evidence.endswith("has no watermark after 7 batches with data")


@pytest.mark.parametrize(
    "options",
    [
        {"clocks": CLOCKS},  # the keys may still expire by event time
        {"clocks": batch_clocks(*[None] * 7)},
        {"history": [VersionFacts(rows=1200, removed_rows=1)] * 7},
        {"clocks": batch_clocks(0, 0), "history": HISTORY[:2]},
        {"provable": {TimeoutKind.PROCESSING_TIME: 1199}},
        {"provable": {TimeoutKind.EVENT_TIME: 1200}},
        {"provable": {}},
    ],
)
def test_keys_that_a_timeout_kind_may_remove_are_information(options: dict[str, Any]) -> None:
    (finding,) = findings(IGNORED, **NO_WATERMARK | options)
    assert finding.severity is Severity.INFO
