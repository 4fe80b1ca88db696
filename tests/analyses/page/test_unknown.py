"""The section of an audit page about facts that the checkpoint does not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector.analyses.page.of_audit import unknown_here
from inspector.analyses.shared.run import Run
from tests.cli.support import checkpoint_of, copy_of

RULE = (
    "The expiry rule of operator 0 (symmetricHashJoin), store {} is unknown: the time range of the "
    "join condition is not in the checkpoint (--join-retention gives it)."
)


def unknowns(path: Path) -> list[str]:
    """Return the sentences about what is unknown of a checkpoint."""
    run = Run.start(str(path), None)
    return list(unknown_here(run.judge(run.facts())))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("agg_append", []),
        (
            "snapshots_cleaned",
            [
                "What happened before batch 10 is not known: files or log entries of older batches "
                "are gone. A key that was removed before then has left no trace."
            ],
        ),
        (
            "join_no_watermark",
            [
                "The judged batch has no watermark yet, so nothing has expired by event time.",
            ],
        ),
        (
            "join_left_outer",
            [RULE.format("left-keyWithIndexToValue"), RULE.format("right-keyWithIndexToValue")],
        ),
    ],
)
def test_unknowns_of_a_checkpoint(case: str, expected: list[str]) -> None:
    assert unknowns(checkpoint_of(case)) == expected


def test_missing_schema_is_unknown(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    _, schema = unknowns(path)
    assert schema.startswith("The schema of operator 0 (stateStoreSave)")
