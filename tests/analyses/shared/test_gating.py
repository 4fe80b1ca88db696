"""Gates and baselines of an audit, as tables of its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector import api
from inspector.exceptions import CheckpointError
from inspector.findings.baseline import Trend
from inspector.findings.metrics import Passed
from inspector.render.gating import AuditCriteria, wrong_options
from inspector.render.renderers import render
from tests.attributes import attributes, objects_where
from tests.cli.support import checkpoint_of
from tests.reports import table_names

LEAK = str(checkpoint_of("fmgws_event_ignore"))


def test_gates_and_baseline_through_the_api(tmp_path: Path) -> None:
    report = api.audit(LEAK, maximum={"state.rows": "1", "leftovers.ratio": "90%"})
    assert attributes(report.gates, "metric.name", "passed") == [
        ("state.rows", Passed.EXCEEDED),
        ("leftovers.ratio", Passed.PASSED),
    ]
    assert report.fails
    assert table_names(report)[:3] == ["findings", "gates", "sizes"]
    old = tmp_path / "old.json"
    old.write_text("".join(render(api.audit(LEAK), "json")))
    same = api.audit(LEAK, baseline=str(old))
    assert same.comparison is not None
    assert set(attributes(same.comparison.findings, "trend")) == {Trend.SAME}
    assert not same.fails


def test_unknown_metric_exceeds_no_maximum() -> None:
    result = AuditCriteria.parse({"heap.bytes": "1"}, None, "10%")
    report = api.audit(LEAK)
    unknown = result.apply(type(report)("audit", "/ck", {}, report.tables))
    assert attributes(unknown.gates, "passed") == [Passed.UNKNOWN]
    assert not unknown.fails


def test_comparison_title_names_an_incomplete_baseline(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    document = json.loads("".join(render(api.audit(LEAK), "json")))
    old.write_text(json.dumps(document | {"complete": False}))
    report = api.audit(LEAK, baseline=str(old))
    (title,) = attributes(objects_where(report.tables, name="comparison"), "title")
    assert "then a part of it could not be read" in title


@pytest.mark.parametrize(
    ("maximum", "baseline", "tolerance"),
    [({"x": "1"}, None, "10%"), ({}, "/nowhere", "10%"), ({}, None, "-")],
)
def test_invalid_gate_options_are_refused_before_reading(
    maximum: dict[str, str | float], baseline: str | None, tolerance: str
) -> None:
    parsed = {"max": maximum, "baseline": baseline, "tolerance": tolerance}
    assert wrong_options(parsed)
    with pytest.raises(CheckpointError):
        api.audit("/nowhere", maximum=maximum, baseline=baseline, tolerance=tolerance)
    assert wrong_options({"max": {}, "baseline": None, "tolerance": "0%"}) is None
