"""SS225: watermark of the batch clock."""

from __future__ import annotations

from inspector.checkpoint.state_schema import StateSchema
from inspector.facts.ages import Ages
from inspector.findings.finding import Finding, Severity
from inspector.findings.watermark.ss225_watermark_of_clock import WatermarkOfClock
from inspector.model import BatchClock, BatchId
from inspector.operators.rule import StoreRule
from inspector.sparktypes import TIMESTAMP, StructField, StructType
from tests.cases import KEY_TIME
from tests.store_views import checkpoint_view


def findings(
    *behind: int, start: int = 7, delay_ms: int | None = None, rule: StoreRule | None = None
) -> list[Finding]:
    """Return the findings about batches whose watermark is this far behind their clock."""
    clocks = {
        n: BatchClock(BatchId(n), now, n + 1, True, True, now - ms)
        for n, ms in enumerate(behind)
        for now in [start + 10_000 * (n + 1)]
    }
    metadata = {} if delay_ms is None else {"spark.watermarkDelayMs": delay_ms}
    key = StructType((StructField("ts", TIMESTAMP, metadata=metadata),))
    schemas = {"default": StateSchema(3, key, StructType(()))}
    facts = [("default", 0, Ages(newest=(9000, 1)))]
    stores = {"default": rule or StoreRule(expiry=KEY_TIME)}
    view = checkpoint_view(stores, facts, clocks=clocks, schemas=schemas)
    return list(WatermarkOfClock().findings(view))


def test_watermark_at_constant_distance_from_batch_clock_is_reported() -> None:
    (finding,) = findings(*[600] * 5)
    assert (finding.kind.id, finding.severity) == ("SS225", Severity.INFO)
    assert "The watermark is the batch clock less 600 ms in each of 5 batches" in finding.cause
    assert len(findings(*[600] * 5, delay_ms=600)) == 1


def test_independent_event_times_have_no_finding() -> None:
    assert findings(600, 600, 600, 600, 601) == []
    assert findings(*[600] * 4) == []
    assert findings(*[600] * 5, delay_ms=500) == []  # event times are always 100 ms old
    assert findings(*[600] * 5, start=0) == []  # of whole seconds event times may be as well
    assert findings(*[600] * 5, rule=StoreRule()) == []  # no row follows the watermark
