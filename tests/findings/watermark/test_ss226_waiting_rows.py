"""SS226: rows that wait for the next batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.expiring import Expiring
from inspector.facts.versions import VersionFacts
from inspector.findings.rule import parse_thresholds
from inspector.findings.watermark.ss226_waiting_rows import WaitingRows
from inspector.model import BatchClock
from inspector.operators.rule import StoreRule
from tests.cases import KEY_TIME
from tests.store_views import batch_clocks, store_view

HOUR = 3_600_000
EXPIRING = Expiring(rows=Counter({HOUR // 1000: 5, 5 * HOUR // 1000: 5}))


def clocks(next_ms: int | None = 2 * HOUR, batches: int = 5) -> dict[int, BatchClock]:
    """Return batches with a watermark of 1 ms, of which the last raised it."""
    result = batch_clocks(*[1] * batches)
    return result | {batches - 1: replace(result[batches - 1], next_watermark_ms=next_ms)}


def findings(rows: int = 10, thresholds: dict[str, str] | None = None, **options: Any) -> list[Any]:
    result = options.pop("clocks", clocks())
    rule = options.pop("rule", StoreRule(expiry=KEY_TIME))
    history = [VersionFacts(rows=rows)] * len(result)
    view = store_view(rule, EXPIRING, history=history, clocks=result, **options)
    return list(WaitingRows(parse_thresholds(thresholds or {})).findings(view))


def test_rows_passed_by_next_watermark_are_counted() -> None:
    (finding,) = findings()
    assert finding.kind.id == "SS226"
    assert "watermark of the next batch removes at least 5 of 10 rows" in finding.cause
    assert "made the watermark 1970-01-01T02:00:00.000Z" in finding.evidence


@pytest.mark.parametrize(
    "options",
    [
        {"clocks": clocks(None)},
        {"clocks": clocks(HOUR // 2)},  # moved by less than an hour
        {"clocks": clocks(batches=3)},  # too few with data
        {"clocks": clocks() | {2: replace(clocks()[2], has_new_data=False)}},  # one without data
        {"rows": 11},  # fewer than half
        {"rule": StoreRule(unknown="no schema")},
    ],
)
def test_query_with_no_data_batch_has_no_finding(options: dict[str, Any]) -> None:
    assert findings(**options) == []


def test_thresholds_set_the_share_and_the_hours() -> None:
    assert findings(rows=11, thresholds={"waiting_share": "40%"})
    assert findings(thresholds={"far_hours": "3.0"}) == []
