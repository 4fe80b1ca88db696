"""SS228: partition far behind its topic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.checkpoint.log_entries import topic_progress
from inspector.findings.finding import Finding, Severity
from inspector.findings.rule import parse_thresholds
from inspector.findings.watermark.ss228_partition_behind import PartitionBehind
from tests.store_views import batch_clocks, checkpoint_view

BATCHES = 12


def findings(starts: list[int], ends: list[int], **thresholds: str) -> list[Finding]:
    """Return the findings about a topic whose partitions got from one offset to another."""
    positions = [
        {"0": {("orders", str(n)): offset for n, offset in enumerate(offsets)}}
        for offsets in (starts, ends)
    ]
    view = checkpoint_view({}, clocks=batch_clocks(*[0] * BATCHES))
    checkpoint: Any = view.checkpoint
    topics = tuple(topic_progress((1, positions[0]), (11, positions[1])))
    logs = replace(checkpoint.logs, topics=topics, last_committed=BATCHES - 1)
    view.checkpoint = replace(checkpoint, logs=logs)
    return list(PartitionBehind(parse_thresholds(thresholds)).findings(view))


def test_slow_partition_is_named() -> None:
    (finding,) = findings([0, 0, 0, 0], [9000, 8000, 12, 9500])
    assert (finding.kind.id, finding.severity) == ("SS228", Severity.INFO)
    assert finding.cause == (
        "Partition 2 of topic 'orders' is far behind: it brought 12 records in batches 2 to 11, "
        "where half of the 4 partitions brought 8,000 or more."
    )
    assert finding.evidence == (
        "source 0: partition 2 is at offset 12, and half of the partitions are at 8,000 or "
        "beyond; 1 partition of the slowest is as slow"
    )


@pytest.mark.parametrize(
    ("starts", "ends"),
    [
        ([0, 0, 0, 0], [9000, 8000, 7000, 9500]),  # all advance
        ([0, 0, 0, 0], [900, 800, 1, 950]),  # few records
        ([0, 0, 0], [9000, 8000, 12]),  # few partitions
        ([0, 0, 90_000, 0], [9000, 8000, 90_012, 9500]),  # slow, and not behind
        ([0, 0, 50, 0], [9000, 8000, 12, 9500]),  # it went back: SS128
        ([0, 0, 0], [9000, 8000, 9500, 12]),  # a new partition
    ],
)
def test_healthy_topics_have_no_finding(starts: list[int], ends: list[int]) -> None:
    assert findings(starts, ends) == []


def test_thresholds_set_lag_of_partition() -> None:
    assert findings([0] * 4, [900, 800, 1, 950], lag_records="500")
    assert not findings([0] * 4, [9000, 8000, 12, 9500], lag_share="0.0001")
    assert findings([0] * 3, [9000, 8000, 12], lag_partitions="3")
