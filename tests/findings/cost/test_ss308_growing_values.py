"""SS308: values that grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.findings.cost.ss308_growing_values import GrowingValues
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from tests.store_views import store_view, versions_with


def findings(sizes: Sequence[int], **thresholds: float) -> list[Any]:
    """Return the findings about a store of ten rows whose versions have these bytes of values."""
    history = versions_with("value_bytes", sizes, stores=1, rows=10)
    view = store_view(StoreRule(), history=history)
    return list(GrowingValues(parse_thresholds(thresholds)).findings(view))


def test_growing_values_are_reported() -> None:
    (finding,) = findings(range(17_250, 96_001, 11_250))
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS308", 10, 96_000)
    assert finding.cause == (
        "The values grow with the updates, from 1.7 KiB to 9.4 KiB on average."
    )
    assert finding.evidence == (
        "the mean value has 9.4 KiB, and had 1.7 KiB at the beginning of versions 1 to 8; 10 rows"
    )
    assert finding.hides == ("SS313",)


@pytest.mark.parametrize("sizes", [range(6_625, 11_001, 625), range(6_112, 6_901, 112)])
def test_slightly_growing_values_have_no_finding(sizes: Sequence[int]) -> None:
    assert findings(sizes) == []


def test_full_lists_have_no_finding() -> None:
    assert findings([15_000, 24_000, 33_000, *[42_000] * 5]) == []
    assert findings([15_000, 24_000, 33_000, 42_000, 51_000, 60_000, 69_000, 78_000])


def test_few_versions_have_no_finding() -> None:
    sizes = [6_000, 90_000, 180_000]
    assert findings(sizes) == []
    assert findings(sizes, window_versions=3)
    assert findings(sizes, window_versions=3, mean_value_bytes=20_000) == []
    assert findings(sizes, window_versions=3, mean_value_bytes=18_000)
