"""SS103: replay too deep."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from inspector.findings.integrity.ss103_deep_replay import DeepReplay
from inspector.findings.rule import parse_thresholds
from inspector.model import FileKind, StoreFile, Version
from tests.store_views import batch_clocks, operator_view


def findings(
    *depths: int, gap_ms: int = 1_000, noun: str = "delta", **thresholds: float
) -> list[Any]:
    """Return the findings about partitions with these numbers of deltas after a snapshot."""
    newest = max(depths)
    deltas = [StoreFile(f"{n}.delta", FileKind.DELTA, Version(n), 9) for n in range(1, newest + 1)]
    folders = [
        [StoreFile("0.snapshot", FileKind.SNAPSHOT, Version(newest - depth), 9), *deltas]
        for depth in depths
    ]
    clocks = batch_clocks(*[0] * newest, gap_ms=gap_ms)
    operator = operator_view(*folders, clocks=clocks)
    vars(operator.whole.checkpoint)["provider"] = SimpleNamespace(
        names=SimpleNamespace(delta_noun=noun)
    )
    return list(DeepReplay(parse_thresholds(thresholds)).findings(operator))


def test_replayed_deltas_of_all_partitions_are_counted() -> None:
    (finding,) = findings(100, 100)
    assert (finding.kind.id, finding.operator_id) == ("SS103", 0)
    assert finding.severity.word == "warning"
    assert finding.cause == (
        "A restart has to replay up to 100 deltas in a partition, because no snapshot was made "
        "for long."
    )
    assert finding.evidence == (
        "100 deltas to replay of store default in partition 1; 2 partitions of 2 have 50 or more"
    )
    (finding,) = findings(99, noun="changelog")
    assert finding.severity.word == "info"
    assert finding.evidence.startswith("99 changelogs to replay of store default in partition 0; ")


def test_partition_without_snapshots_is_named() -> None:
    (finding,) = findings(100, 2)
    assert finding.cause == (
        "A restart has to replay up to 100 deltas in partition 0 (of 2), because no snapshot of it "
        "was made for long."
    )


@pytest.mark.parametrize(("depths", "gap_ms"), [((49, 2), 1_000), ((19,), 60_000), ((20,), 30_000)])
def test_chains_of_healthy_query_have_no_finding(depths: tuple[int, ...], gap_ms: int) -> None:
    assert findings(*depths, gap_ms=gap_ms) == []


def test_few_deltas_are_reported_if_snapshot_is_overdue() -> None:
    (finding,) = findings(21, gap_ms=30_000)
    assert finding.severity.word == "info"
    assert finding.cause.endswith("no snapshot was made for 10 min.")
    assert findings(21, gap_ms=30_000, replay_slow=22) == []
