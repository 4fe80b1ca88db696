"""Comparison of an audit with an earlier audit."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.findings.baseline import (
    Amount,
    Comparison,
    Earlier,
    Place,
    Trend,
    compare,
    earlier_of,
    failing,
)
from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.lifetime.ss201_never_expires import NeverExpires
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.findings.metrics import Values
from inspector.model import Certainty
from tests.attributes import attributes


def finding(kind: Kind, operator: int = 0, size: int | None = None) -> Finding:
    rows = None if size is None else size // 10
    return Finding(kind, Certainty.PROVEN, "", "", operator, "default", rows, size)


def earlier(*findings: Finding, metrics: Values | None = None) -> Earlier:
    result = {
        Place(f.kind.id, f.operator_id, f.store_name): Amount(f.severity, f.rows, f.bytes)
        for f in findings
    }
    return Earlier("/ck", "id", 7, complete=True, metrics=metrics or {}, findings=result)


def trends(comparison: Comparison) -> dict[str, str]:
    return {f"{t.place.id}/{t.place.operator_id}": t.trend.value for t in comparison.findings}


def test_findings_are_new_worse_gone_better_or_same() -> None:
    before = earlier(
        finding(KeptKeys.kind, 1, 1000),
        finding(KeptKeys.kind, 2, 1000),
        finding(KeptKeys.kind, 3, 1000),
        finding(KeptKeys.kind, 4, 1000),
        finding(SameValues.kind, 5),
    )
    now = [
        finding(NeverExpires.kind, 1, 10),
        finding(KeptKeys.kind, 2, 1101),
        finding(KeptKeys.kind, 3, 899),
        finding(KeptKeys.kind, 4, 1100),
        finding(SameValues.kind, 5),
    ]
    comparison = compare(now, {}, before)
    assert list(trends(comparison).items()) == [
        ("SS201/1", "new"),
        ("SS203/2", "worse"),
        ("SS203/1", "gone"),
        ("SS203/3", "better"),
        ("SS203/4", "same"),
        ("SS304/5", "same"),
    ]
    assert failing(now, Severity.WARNING, comparison) == (now[0], now[1])
    assert failing(now, Severity.ERROR, comparison) == (now[1],)
    assert failing(now, None, comparison) == ()
    assert failing(now, Severity.WARNING, None) == tuple(now[:4])


def test_findings_of_one_store_are_added_up_before_comparison() -> None:
    before = earlier(finding(KeptKeys.kind, 1, 1000))
    now = [finding(KeptKeys.kind, 1, 500), finding(KeptKeys.kind, 1, 500)]
    assert trends(compare(now, {}, before)) == {"SS203/1": "same"}


def test_every_finding_is_new_without_baseline() -> None:
    comparison = compare([finding(KeptKeys.kind)], {"state.rows": 3}, None)
    assert trends(comparison) == {"SS203/0": "new"}
    assert comparison.metrics == ()
    assert comparison.is_bad(finding(KeptKeys.kind))


@pytest.mark.parametrize(
    ("name", "before", "now", "trend"),
    [
        ("state.rows", 100, 110, Trend.SAME),
        ("state.rows", 100, 111, Trend.WORSE),
        ("state.rows", 100, 89, Trend.BETTER),
        ("leftovers.rows", 0, 1, Trend.WORSE),
        ("growth.rows_per_hour", -50, -3, Trend.SAME),
        ("growth.rows_per_hour", 0.0, 10.0, Trend.SAME),
        ("growth.rows_per_hour", 0.0, 10.1, Trend.WORSE),
        ("watermark.lag_seconds", 10, 600, Trend.SAME),
        ("watermark.lag_seconds", 10, 700, Trend.WORSE),
        ("watermark.lag_seconds", 7000, 7600, Trend.SAME),
    ],
)
def test_metric_trend_ignores_changes_within_tolerance(
    name: str, before: float, now: float, trend: Trend
) -> None:
    values = {"state.rows": 1000} | {name: now}
    comparison = compare([], values, earlier(metrics={name: before}))
    assert attributes(comparison.metrics, "metric.name", "trend") == [(name, trend)]
    assert bool(comparison.worse_metrics) is (trend is Trend.WORSE)


def test_zero_tolerance_makes_any_increase_worse() -> None:
    before = earlier(metrics={"state.rows": 100})
    assert compare([], {"state.rows": 101}, before, 0).metrics[0].trend is Trend.WORSE


REPORT: dict[str, Any] = {
    "checkpoint": "/ck",
    "summary": {"query_id": "q", "batch_id": 3},
    "complete": True,
    "metrics": {"state.rows": 5, "heap.bytes": None},
    "findings": [
        {
            "id": "SS203",
            "severity": "error",
            "operator_id": 0,
            "store_name": None,
            "rows": 2,
            "bytes": 20,
        }
    ],
}


def test_earlier_audit_is_read_from_report() -> None:
    result = earlier_of(REPORT)
    assert (result.query_id, result.batch_id, result.metrics["state.rows"]) == ("q", 3, 5)
    assert result.findings == {Place("SS203", 0, None): Amount(Severity.ERROR, 2, 20)}


@pytest.mark.parametrize(
    "broken",
    [
        {"summary": None},
        {"summary": {"batch_id": 3.0}},
        {"summary": {"batch_id": "3"}},
        {"metrics": []},
        {"metrics": {"state.rows": "5"}},
        {"metrics": {"state.rows": float("nan")}},
        {"metrics": {"state.rows": 10**400}},
        {"findings": [1]},
        {"findings": [{**REPORT["findings"][0], "severity": "awful"}]},
        {"findings": [{**REPORT["findings"][0], "rows": True}]},
        {"checkpoint": 5},
    ],
)
def test_malformed_baseline_report_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"the report of an audit: |got a report"):
        earlier_of({**REPORT, **broken})
