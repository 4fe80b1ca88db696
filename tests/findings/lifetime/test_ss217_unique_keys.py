"""SS217: key unique to each event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.ages import Ages
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.findings.lifetime.ss217_unique_keys import UniqueKeys
from inspector.findings.rule import parse_thresholds
from inspector.findings.views.store_keys import Windows
from inspector.operators.rule import StoreRule
from inspector.sparktypes import LONG, StructField, StructType
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, store_view

NEVER = StoreRule(never="no grouping column carries a watermark, so no group is ever removed")
EXPIRES = StoreRule(expiry=KEY_TIME)
TIMEOUTS = StoreRule(expiry=TIMER)
ID = StructType((StructField("id", LONG),))
KEYS = [bytes(8) + n.to_bytes(8, "little") for n in range(40)]


def history(puts: int = 40, inserts: int = 40, removed: int = 0, versions: int = 7) -> list[Any]:
    changes = VersionFacts(
        rows=40 * versions, key_bytes=160, puts=puts, inserts=inserts, removed_rows=removed
    )
    return [changes] * versions


def findings(
    rule: StoreRule, *facts: Any, thresholds: dict[str, str] | None = None, **options: Any
) -> list[Finding]:
    knowledge: dict[str, Any] = {"history": history(), "key": ID, "keys": KEYS}
    view = store_view(rule, *facts, **knowledge | options)
    return list(UniqueKeys(parse_thresholds(thresholds or {})).findings(view))


def test_unique_column_without_watermark_is_named() -> None:
    (finding,) = findings(NEVER)
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS217", 280, 160)
    assert finding.cause == (
        "No grouping column carries a watermark, so no group is ever removed; every batch brings "
        "only new values of 'id': 280 of 280 puts made a new group."
    )
    assert "280 of 280 puts in 7 versions were of keys that were not there" in finding.evidence


def test_windows_without_watermark_have_no_finding() -> None:
    bounds = StructType((StructField("start", LONG), StructField("end", LONG)))
    window = StructType((StructField("window", bounds),))
    assert findings(NEVER, keys=[])
    assert findings(NEVER, keys=[], key=window) == []


@pytest.mark.parametrize(
    "options",
    [
        {"history": history(inserts=39)},  # 97 % of the puts
        {"history": history(puts=14, inserts=14)},  # 98 puts
        {"history": history(versions=4)},
        {"operator_name": "dedupe"},
        {"history": history(removed=1)},
    ],
)
def test_usual_keys_have_no_finding(options: dict[str, Any]) -> None:
    assert findings(NEVER, **options) == []


def test_expiring_groups_need_unique_column_and_growth() -> None:
    (finding,) = findings(EXPIRES, growing=True, keys=KEYS)
    assert finding.cause == (
        "No value of 'id' came again before its window ended: 280 of 280 puts made a new group."
    )
    assert findings(EXPIRES, growing=None, keys=KEYS) == []
    assert findings(EXPIRES, growing=True, keys=[]) == []


def test_equal_row_and_record_counts_show_one_row_per_event() -> None:
    source = SourceOffset("0", "9", moved=True, records=40)
    sources = dict.fromkeys(range(7), (source,))
    assert findings(EXPIRES, sources=sources)
    more_records = dict.fromkeys(range(7), (replace(source, records=41),))
    assert findings(EXPIRES, sources=more_records) == []


def test_group_state_whose_timeouts_remove_all_keys() -> None:
    calls = TimerCalls(armed_keys=9, timeout_removed=280)
    options: dict[str, Any] = {
        "operator_name": "flatMapGroupsWithState",
        "history": history(removed=40),
    }
    (finding,) = findings(TIMEOUTS, calls=calls, **options)
    assert "'id' came again before its timeout fired" in finding.cause
    returned = Ages(keys=100, born=200)  # 100 keys came back
    assert findings(TIMEOUTS, returned, calls=calls, **options) == []
    # Calls for data removed a fourth of the keys or more.
    assert findings(TIMEOUTS, calls=replace(calls, timeout_removed=200), **options) == []
    assert findings(TIMEOUTS, calls=replace(calls, never_armed_rows=1), **options) == []


def test_function_without_timeouts_is_the_cause() -> None:
    calls = TimerCalls(never_armed_rows=280)
    (finding,) = findings(TIMEOUTS, operator_name="flatMapGroupsWithState", calls=calls)
    assert finding.cause.startswith("The function never set a timeout; every batch brings only")


@pytest.mark.parametrize(("moved_ms", "is_found"), [(1000, True), (2000, False)])
def test_windows_open_for_five_batches_are_reported(moved_ms: int, *, is_found: bool) -> None:
    clocks = batch_clocks(*[1 + moved_ms * n // 6 for n in range(7)])
    view = store_view(EXPIRES, history=history(), clocks=clocks)
    vars(view.keys)["windows"] = Windows(1000, frozenset({1000}))
    assert bool(list(UniqueKeys().findings(view))) is is_found


def test_thresholds_set_the_number_and_the_share_of_puts() -> None:
    assert findings(NEVER, thresholds={"unique_puts": "281"}) == []
    assert findings(NEVER, history=history(inserts=39), thresholds={"unique_share": "97%"})
