"""SS206: watermark flat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import OffsetEntry, SourceOffset, source_offsets
from inspector.checkpoint.state_schema import StateSchema
from inspector.facts.ages import Ages
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule import parse_thresholds
from inspector.findings.watermark import ss206_flat_watermark
from inspector.findings.watermark.ss206_flat_watermark import FlatWatermark
from inspector.model import BatchClock
from inspector.operators.rule import StoreRule
from inspector.sparktypes import TIMESTAMP, StructField, StructType
from tests.cases import KEY_TIME
from tests.store_views import batch_clocks, checkpoint_view

HOUR = 3_600_000
FLAT = (0, 5000, 5000, 5000, 5000)
RULE = StoreRule(expiry=KEY_TIME)


def offsets(*batches: Sequence[str | None]) -> dict[int, tuple[SourceOffset, ...]]:
    """Return the offsets of each batch from their texts, one for each source."""
    result: dict[int, tuple[SourceOffset, ...]] = {}
    previous: OffsetEntry | None = None
    for batch, texts in enumerate(batches):
        entry = OffsetEntry(sources={str(number): text for number, text in enumerate(texts)})
        result[batch] = source_offsets(entry, previous)
        previous = entry
    return result


IDLE = offsets(["0", "a"], ["1", "b"], ["2", "b"], ["3", "b"], ["4", "b"])
STOPPED = offsets(["0", "a"], ["1", "a"], ["2", "a"], ["3", "a"], ["4", "a"])
"""Offsets of two sources, the second of which brings no data."""


def findings(
    marks: Sequence[int] | Mapping[int, BatchClock] = FLAT,
    newest: Mapping[str, int] | None = None,
    thresholds: dict[str, str] | None = None,
    **options: Any,
) -> list[Finding]:
    """Return the findings about stores with these newest event times."""
    newest = {"default": 9000} if newest is None else newest
    clocks = marks if isinstance(marks, Mapping) else batch_clocks(*marks)
    facts = [(store, 0, Ages(newest=(at, 1))) for store, at in newest.items()]
    rules = {store: options.pop("rule", RULE) for store in newest}
    view = checkpoint_view(rules, facts, clocks=clocks, **options)
    return list(FlatWatermark(parse_thresholds(thresholds or {})).findings(view))


def delayed(delay_ms: int) -> dict[str, StateSchema]:
    """Return schemas whose event time has a delay."""
    column = StructField("ts", TIMESTAMP, metadata={"spark.watermarkDelayMs": delay_ms})
    return {"default": StateSchema(3, StructType((column,)), StructType(()))}


def test_batches_with_data_and_flat_watermark_are_counted() -> None:
    (finding,) = findings((0, 1000, 5000, 5000, 5000, 5000))
    assert (finding.kind.id, finding.severity) == ("SS206", Severity.WARNING)
    assert finding.cause == (
        "The watermark stands still: 3 batches brought new data, but no newer event time, so "
        "nothing can expire."
    )
    assert finding.evidence == (
        "batches 2 to 5 had the watermark 1970-01-01T00:00:05.000Z, though 3 of them brought new "
        "data; the newest event time in the state is 1970-01-01T00:00:09.000Z"
    )


@pytest.mark.parametrize(
    ("marks", "options"),
    [
        ((0, 1000, 2000, 3000, 4000), {}),  # it moves
        ((5000, 5000, 5000), {}),  # too few batches with data
        ((0, 0, 0, 0, 0), {}),  # none yet: SS207
        (FLAT, {"newest": {}}),  # nothing waits for it
        (FLAT, {"thresholds": {"data_batches": "4"}}),
    ],
)
def test_healthy_watermark_has_no_finding(marks: Sequence[int], options: dict[str, Any]) -> None:
    assert findings(marks, **options) == []


def test_batches_without_data_are_not_counted() -> None:
    clocks = batch_clocks(*FLAT)
    for batch, clock in clocks.items():
        clocks[batch] = replace(clock, has_new_data=False)
    assert findings(clocks) == []


def test_gap_in_offset_log_ends_run_of_flat_batches() -> None:
    clocks = batch_clocks(*[5000] * 8)
    del clocks[4]
    assert findings(clocks) == []


def test_watermark_that_advances_in_steps_is_information() -> None:
    steps = [1000] * 5 + [2000] * 5 + [3000] * 5
    (finding,) = findings(steps)
    assert finding.severity is Severity.INFO
    (finding,) = findings(steps[:-1] + [3000] * 2)
    assert finding.severity is Severity.WARNING


def test_idle_source_that_holds_watermark_back_is_named() -> None:
    (finding,) = findings(sources=IDLE)
    assert finding.cause == (
        "The watermark stands still, most likely because source 1 has brought no data since batch "
        "1: the slowest source holds it back, and nothing can expire."
    )
    assert "source 1 is at b since batch 1" in finding.evidence
    assert finding.next_step.startswith("bring data to source 1 or remove it from the query")


def test_source_without_data_leaves_query_without_watermark() -> None:
    sources = offsets(["0", None], ["1", None], ["2", None], ["3", None], ["4", None])
    (finding,) = findings([0] * 5, sources=sources)
    assert "source 1 has brought no data since batch 0" in finding.cause
    assert "batches 0 to 4 had no watermark, though" in finding.evidence
    assert findings([0] * 5, sources=sources, policy="max") == []


@pytest.mark.parametrize(
    "sources",
    [
        offsets(["0"], ["1"], ["2"], ["3"], ["4"]),
        offsets(["0", "0"], ["1", "1"], ["2", "2"], ["3", "3"], ["4", "4"]),
        offsets(["0", "a"], ["1", "a"], ["2", "a"], ["3", "a"], ["4", "b"]),
        {0: STOPPED[0], 1: STOPPED[1], 2: STOPPED[2], 4: STOPPED[4]},  # batch 3 is not in the log
        offsets(["0", "a"], ["1", "a"], ["2"], ["3"], ["4", "a"]),
    ],
)
def test_flat_event_times_are_the_cause_if_all_sources_advance(sources: Any) -> None:
    (finding,) = findings(sources=sources)
    assert "no newer event time" in finding.cause


def test_idle_source_is_no_cause_under_policy_max() -> None:
    (finding,) = findings(sources=IDLE, policy="max")
    assert "no newer event time" in finding.cause


def test_latest_first_source_is_a_likely_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ss206_flat_watermark, "newest_first", lambda *_: iter(["source 0"]))
    (finding,) = findings()
    assert "most likely because source 0 gives its newest files first" in finding.cause
    assert finding.next_step.startswith("leave latestFirst out")


def test_watermark_lag_behind_newest_event_time_is_reported() -> None:
    clocks = batch_clocks(1000, 2000, 3000)
    clocks[2] = replace(clocks[2], next_watermark_ms=4000)
    newest = {"default": 4000 + 60_000 + HOUR}
    (finding,) = findings(clocks, newest, schemas=delayed(60_000))
    assert finding.severity is Severity.INFO
    assert finding.cause == (
        "The watermark is 1 h behind the newest event times, less its delay: as a rule one "
        "source is late."
    )
    assert findings(clocks, newest) == []  # the delay is unknown
    assert findings(clocks, newest, schemas=delayed(60_000), policy="max") == []
    newest["default"] -= 1
    assert findings(clocks, newest, schemas=delayed(60_000)) == []


@pytest.mark.parametrize(
    ("left", "words"), [(0, "the left side of the join is late"), (3 * HOUR, "one source is late")]
)
def test_late_join_side_is_named(left: int, words: str) -> None:
    clocks = batch_clocks(1000, 2000, 3000)
    clocks[2] = replace(clocks[2], next_watermark_ms=4000)
    newest = {"left-keyWithIndexToValue": left, "right-keyWithIndexToValue": 3 * HOUR}
    (finding,) = findings(clocks, newest, schemas=delayed(0), operator_name="symmetricHashJoin")
    assert words in finding.cause
