"""SS302: partition skew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.facts.versions import VersionFacts
from inspector.findings.cost.ss302_partition_skew import PartitionSkew
from inspector.findings.rule import parse_thresholds
from inspector.operators.rule import StoreRule
from tests.attributes import attributes
from tests.store_views import store_view


def findings(counts: Sequence[int], operator: str = "dedupe", **thresholds: float) -> list[Any]:
    """Return the findings about a store whose partitions have these numbers of rows."""
    partitions = [VersionFacts(rows=count, key_bytes=8 * count) for count in counts]
    view = store_view(StoreRule(), partitions=partitions, operator_name=operator)
    return list(PartitionSkew(parse_thresholds(thresholds)).findings(view))


@pytest.mark.parametrize(
    ("counts", "is_skewed"),
    [
        ((10, 10, 4000, 12), True),
        ((0, 0, 4000, 0), True),
        ((1000, 1000, 2999, 1000), False),
        ((10, 10, 99, 12), False),
        ((10, 100), True),
        ((34, 100), False),
        ((4000,), False),
        ((), False),
    ],
)
def test_partition_with_far_more_rows_is_skewed(counts: Sequence[int], *, is_skewed: bool) -> None:
    assert attributes(findings(counts), "kind.id") == ["SS302"] * is_skewed


def test_skewed_partition_is_named_with_share() -> None:
    counts = (100, 9800, 100, 0)
    (finding,) = findings(counts)
    assert (finding.rows, finding.bytes) == (9800, 8 * 9800)
    assert finding.evidence == (
        "partition 1 has 9,800 rows (98 % of all); half of the 4 partitions have at most 100 rows "
        "each"
    )
    assert finding.cause == "The state is skewed: partition 1 of 4 holds 98 % of its rows."
    assert findings(counts, skew_ratio=100) == []
    assert findings(counts, skew_rows=9801) == []


def test_operator_with_one_partition_is_not_skewed() -> None:
    assert findings((10, 4000))
    assert findings((10, 4000), "globalLimit") == []
