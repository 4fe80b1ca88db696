"""Prometheus' text, read by its own client."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from inspector.findings.metrics import METRICS, apply_gates, parse_gates
from inspector.findings.rule import all_kinds
from inspector.render.as_prometheus import (
    LABELS,
    NAMES,
    metrics_of,
    prometheus_text,
    render_prometheus,
    unreadable,
)
from tests.attributes import attributes
from tests.render.samples import HOSTILE, finding, report

VALUES = dict.fromkeys(NAMES, 7200.0)


def families(text: str) -> dict[str, Any]:
    result = list(text_string_to_metric_families(text))
    return dict(zip(attributes(result, "name"), result, strict=True))


def made(**options: object) -> Any:
    arguments = {"judged": True, "problems": (), "metrics": VALUES, "checkpoint": "/ck"}
    return report(**(arguments | options))


def value(text: str, name: str, **labels: str) -> float:
    (result,) = (
        sample.value
        for sample in families(text)[name].samples
        if labels.items() <= sample.labels.items()
    )
    return float(result)


def test_prometheus_metrics_are_gauges_in_base_units() -> None:
    text = prometheus_text([metrics_of(made())], 1000.5)
    result = families(text)
    assert sorted(NAMES) == sorted(attributes(METRICS, "name"))
    for name, (exported, factor) in NAMES.items():
        assert value(text, exported) == 7200.0 * factor, name
    assert set(attributes(result.values(), "type")) == {"gauge"}
    for family in result.values():
        assert re.fullmatch(r"spark_state_((?!hour)\w)+", family.name)
        assert re.fullmatch(r"((?!hour).)+\.", family.documentation)
    assert value(text, "spark_state_inspected_timestamp_seconds") == 1000.5


def test_prometheus_labels_hold_no_keys() -> None:
    text = "".join(render_prometheus(made()))
    samples = chain.from_iterable(attributes(families(text).values(), "samples"))
    assert set().union(*attributes(samples, "labels")) == {*LABELS, "id", "severity"}


def test_findings_are_counted_by_rule_and_severity() -> None:
    text = prometheus_text([metrics_of(made(findings=[finding(), finding()]))])
    assert value(text, "spark_state_findings", id="SS203", severity="error") == 2
    assert len(families(text)["spark_state_findings"].samples) == len(all_kinds())


def test_prometheus_omits_unknown_values() -> None:
    text = prometheus_text([metrics_of(made(metrics={"state.rows": None}))])
    assert families(text)["spark_state_rows"].samples == []
    assert families(text)["spark_state_batch_timestamp_seconds"].samples == []


def test_prometheus_level_of_failed_checkpoint() -> None:
    text = prometheus_text([metrics_of(made(findings=())), unreadable("/gone")])
    assert value(text, "spark_state_level", checkpoint="/ck") == 0
    assert value(text, "spark_state_level", checkpoint="/gone") == 4
    assert len(families(text)["spark_state_rows"].samples) == 1


def test_prometheus_gates_have_metric_label() -> None:
    gates = apply_gates(parse_gates({"state.rows": "1", "state.bytes": "9KiB"}), VALUES)
    text = prometheus_text([metrics_of(made(gates=gates))])
    assert value(text, "spark_state_gate_exceeded", metric="state.rows") == 1
    assert value(text, "spark_state_gate_exceeded", metric="state.bytes") == 0


def test_prometheus_escapes_labels() -> None:
    hostile = f'{HOSTILE}"}} 1\nspark_state_level 9\n\x00'
    text = prometheus_text([unreadable(hostile)])
    (sample,) = families(text)["spark_state_level"].samples
    assert sample.value == 4
    assert "\\x1b[31mred" in sample.labels["checkpoint"]
    assert "\x1b" not in text
