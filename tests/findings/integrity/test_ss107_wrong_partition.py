"""SS107: key in the wrong partition."""

from __future__ import annotations

from typing import Any

from inspector.discovery.lost_files import EXCHANGED
from inspector.facts.misplaced import MisplacedKeys
from inspector.findings.integrity.ss107_wrong_partition import WrongPartition
from inspector.operators.rule import StoreRule
from tests.store_views import checkpoint_view, problem, problem_findings


def findings(*misplaced: int) -> list[Any]:
    """Return the findings about partitions of ten keys, of which some are misplaced."""
    facts = [
        ("default", n, MisplacedKeys(10, count, 8 * count)) for n, count in enumerate(misplaced)
    ]
    return list(WrongPartition().findings(checkpoint_view({"default": StoreRule()}, facts)))


def test_misplaced_keys_are_counted_by_partition() -> None:
    (finding,) = findings(3, 0, 0)
    assert (finding.kind.id, finding.rows, finding.bytes) == ("SS107", 3, 24)
    assert (finding.operator_id, finding.store_name) == (0, "default")
    assert finding.cause.startswith("Partition 0 has 3 of 10 keys that belong to another partition")
    assert finding.evidence == (
        "3 of 30 keys belong to another partition than the one that has them: partition 0"
    )
    (finding,) = findings(*[1] * 7)
    assert finding.cause.startswith("Partitions 0, 1, 2, 3, 4 (and 2 more) have 7 of 70 keys")


def test_keys_in_correct_partition_have_no_finding() -> None:
    assert findings(0, 0) == []


def test_exchanged_partition_folders_are_reported() -> None:
    (finding,) = problem_findings(WrongPartition, problem(EXCHANGED, "/c/0/1"))
    assert finding.cause == "At /c/0/1: got 1."
