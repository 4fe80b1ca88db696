"""SS207: the rule needs a watermark, and there is none yet."""

from __future__ import annotations

from collections import Counter
from typing import Any

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule import parse_thresholds
from inspector.findings.watermark.ss207_no_watermark import NoWatermark
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import StoreRule
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, store_view

ROWS, TIMEOUTS = StoreRule(expiry=KEY_TIME), StoreRule(expiry=TIMER)


def findings(
    rule: StoreRule, *facts: Any, thresholds: dict[str, str] | None = None, **options: Any
) -> list[Finding]:
    history = [VersionFacts(rows=options.pop("rows", 1200), key_bytes=1000, value_bytes=500)] * 3
    arguments = {"history": history, "clocks": batch_clocks(0, 0, 0)}
    view = store_view(rule, *facts, **arguments | options)
    return list(NoWatermark(parse_thresholds(thresholds or {})).findings(view))


def test_rows_that_need_a_watermark_are_reported() -> None:
    (finding,) = findings(ROWS)
    assert (finding.kind.id, finding.severity) == ("SS207", Severity.WARNING)
    assert (finding.certainty, finding.rows, finding.bytes) == (Certainty.PROVEN, 1200, 1500)
    assert finding.cause == "There is no watermark yet, so none of 1,200 rows can expire by ts."
    assert "ts is at or below the watermark, and the judged batch has none after 3 batches" in (
        finding.evidence
    )
    (finding,) = findings(ROWS, Ages(newest=(60_000, 1)))
    assert finding.cause.endswith("expire by ts (the newest is 1970-01-01T00:01:00.000Z).")


def test_rows_that_need_no_watermark_have_no_finding() -> None:
    assert findings(ROWS, rows=0) == []
    assert findings(TIMEOUTS) == []
    assert findings(ROWS, clocks=batch_clocks(0, 0, 5000)) == []
    assert findings(ROWS, clocks=batch_clocks(*[None] * 3)) == []  # removed by Spark


def test_first_batches_with_data_have_no_finding() -> None:
    assert findings(ROWS, clocks=batch_clocks(0, 0)) == []
    assert findings(ROWS, clocks=batch_clocks(0, 0), thresholds={"data_batches": "2"}) != []


def test_event_time_timeouts_cannot_fire_without_watermark() -> None:
    expiring = Expiring(TimeoutKind.EVENT_TIME, rows=Counter({9: 6}), bytes=Counter({9: 60}))
    case: dict[str, Any] = {"kind": TimeoutKind.EVENT_TIME}
    (finding,) = findings(TIMEOUTS, expiring, **case)
    assert (finding.severity, finding.rows, finding.bytes) == (Severity.WARNING, 6, 60)
    assert (
        "none of 6 timeouts in event time can fire: most likely all event times are null."
        in finding.cause
    )
    assert "null moves no watermark" in finding.next_step
    assert findings(TIMEOUTS, expiring, **case, clocks=batch_clocks(0, 0)) == []
    assert findings(TIMEOUTS, expiring) == []  # the clock is not known
    endless = Expiring(TimeoutKind.EVENT_TIME, endless_rows=6)
    assert findings(TIMEOUTS, endless, **case) == []


def test_lost_log_entry_makes_finding_undecided() -> None:
    clocks = batch_clocks(5000, 5000, 5000)
    del clocks[2]
    view = store_view(ROWS, history=[VersionFacts(rows=9)] * 3, clocks=batch_clocks(0, 0, 0))
    vars(view.whole.checkpoint.logs)["clocks"] = clocks
    vars(view.whole).pop("clock", None)
    (finding,) = NoWatermark().findings(view)
    assert (finding.certainty, finding.severity) == (Certainty.UNDECIDED, Severity.INFO)
    assert finding.evidence.endswith(
        "is not known: entry 2 of the offset log is missing, cannot be read or is contradicted by "
        "another"
    )
    vars(view.whole.checkpoint.logs)["clocks"] = batch_clocks(None, None)
    vars(view.whole).pop("clock", None)
    assert list(NoWatermark().findings(view)) == []
