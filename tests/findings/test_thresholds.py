"""Thresholds: the smallest numbers that are reported as a finding."""

from __future__ import annotations

import pytest

from inspector.findings.rule import parse_thresholds
from inspector.findings.thresholds import DEFAULTS


def test_thresholds_override_defaults() -> None:
    thresholds = parse_thresholds(
        {"hot_rows": "5", "heap_bytes": "8GiB", "hot_share": "75%", "data_batches": 4}
    )
    arguments = {"hot_rows": 5, "heap_bytes": 8 << 30, "hot_share": 0.75, "data_batches": 4}
    assert thresholds.given == arguments
    assert parse_thresholds({}) == DEFAULTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"skew": "5"}, "unknown threshold 'skew'; expected one of .*skew_ratio.*SS202"),
        ({"at_least": "5"}, "unknown threshold"),
        ({"SS999": "5"}, "unknown threshold"),
        ({"skew_ratio": "much"}, "'much' is not a number for the threshold skew_ratio"),
        ({"skew_rows": "0.5"}, "'0.5' is not a whole number for the threshold skew_rows"),
        ({"skew_rows": ""}, "not a whole number"),
        ({"SS202": "many"}, "not a whole number for the threshold SS202"),
    ],
)
def test_invalid_threshold_is_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_thresholds(arguments)


def test_threshold_of_finding_id_is_minimum_row_count() -> None:
    thresholds = parse_thresholds({"SS202": "100"})
    assert [thresholds.reports("SS202", n) for n in (None, 99, 100)] == [False, False, True]
    assert parse_thresholds({"SS206": "1"}).reports("SS206", None)
    assert thresholds.reports("SS203", 1)
