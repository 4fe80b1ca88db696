"""Metrics: values from a verdict, parsing and formatting."""

from __future__ import annotations

import re

import pytest

from inspector.findings.metrics import METRICS, Quantity, metric_of, values_of
from inspector.findings.verdict import Level, StateGrowth, Verdict
from tests.attributes import attributes


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("state.bytes", "8GiB", 8 << 30),
        ("state.bytes", "512", 512),
        ("state.rows", "1000", 1000),
        ("leftovers.ratio", "1%", 0.01),
        ("leftovers.ratio", "0.25", 0.25),
        ("growth.bytes_per_hour", "1.5MiB/h", 1.5 * (1 << 20)),
        ("growth.rows_per_hour", "20", 20),
        ("watermark.lag_seconds", "1h30m", 5400),
        ("watermark.lag_seconds", "90", 90),
    ],
)
def test_metric_value_is_parsed_with_unit(name: str, text: str, value: float) -> None:
    assert metric_of(name).parse(text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("state.bytes", "many"),
        ("state.bytes", "-1"),
        ("state.bytes", "5%"),
        ("state.rows", "8GiB"),
        ("state.rows", ""),
        ("leftovers.ratio", "1h"),
        ("watermark.lag_seconds", "1GiB"),
    ],
)
def test_metric_value_with_wrong_unit_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"{name} .* expected a value such as"):
        metric_of(name).parse(text)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_metric_example_can_be_parsed(metric: object) -> None:
    assert metric.parse(metric.example) > 0  # type: ignore[attr-defined]


def test_unknown_metric_error_suggests_similar_name() -> None:
    with pytest.raises(ValueError, match=r"did you mean state.bytes\?") as caught:
        metric_of("state.byte")
    assert set(attributes(METRICS, "name")) <= set(re.findall(r"[\w.]+", str(caught.value)))
    with pytest.raises(ValueError, match="unknown metric 'x'; expected one of"):
        metric_of("x")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("state.rows", 1234, "1,234"),
        ("state.bytes", 1536, "1.5 KiB"),
        ("heap.bytes", 1536, "~1.5 KiB"),
        ("growth.bytes_per_hour", -2048.0, "~-2.0 KiB/h"),
        ("leftovers.ratio", 0.0125, "1.25 %"),
        ("watermark.lag_seconds", 5400, "1 h 30 min"),
        ("watermark.lag_seconds", None, "unknown"),
    ],
)
def test_metric_value_is_formatted_with_unit(name: str, value: float | None, text: str) -> None:
    assert metric_of(name).text(value) == text


def test_metrics_of_unreadable_checkpoint_are_unknown() -> None:
    verdict = Verdict(Level.UNREADABLE, 1, 2, 0, 3)
    values = values_of(verdict, file_bytes=7, leftover_bytes=0, lag_ms=None)
    assert list(values) == attributes(METRICS, "name")
    result = {name: value for name, value in values.items() if value is not None}
    assert result == {
        "files.bytes": 7,
        "leftovers.rows": 0,
        "leftovers.bytes": 0,
        "findings.errors": 1,
        "findings.warnings": 2,
        "problems": 3,
    }


def test_every_quantity_has_a_metric() -> None:
    assert set(attributes(METRICS, "quantity")) == set(Quantity)


@pytest.mark.parametrize(
    ("growing", "judged", "slope", "rate"),
    [
        (True, True, 2048.4, 2048),
        (False, True, 2048.4, 0),  # a window that has just been filled
        (False, True, -2048.4, -2048),
        (False, False, 2048.4, None),
    ],
)
def test_growth_rate_is_zero_without_rising_trend(
    growing: bool, judged: bool, slope: float, rate: int | None
) -> None:
    growth = StateGrowth(slope, slope, slope, 4, 0, growing, judged=judged)
    verdict = Verdict(Level.OK, 0, 0, 0, 0, growth=growth)
    values = values_of(verdict, file_bytes=7, leftover_bytes=0, lag_ms=None)
    assert values["growth.bytes_per_hour"] == rate
    assert values["growth.rows_per_hour"] == rate
    assert values["growth.heap_bytes_per_hour"] == rate
