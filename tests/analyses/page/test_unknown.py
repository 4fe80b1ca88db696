"""What the checkpoint does not show of a checkpoint is said, and only that."""

from __future__ import annotations

from pathlib import Path

from inspector.analyses.page.of_audit import NEVER_KNOWN, unknown_here
from inspector.analyses.shared.run import Run
from tests.cli.support import checkpoint_of, copy_of


def said(path: Path) -> list[str]:
    run = Run.start(str(path), None)
    return list(unknown_here(run.judge(run.facts())))


def test_complete_checkpoint_has_no_unknowns() -> None:
    assert said(checkpoint_of("agg_append")) == []


def test_history_before_the_oldest_version_is_unknown() -> None:
    (line,) = said(checkpoint_of("snapshots_cleaned"))
    assert line.startswith("What happened before batch ")


def test_missing_schema_is_unknown(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    assert any("The schema of operator 0 (stateStoreSave)" in line for line in said(path))


def test_missing_watermark_is_unknown() -> None:
    lines = said(checkpoint_of("join_no_watermark"))
    assert any("has no watermark" in line for line in lines)


def test_expiry_rule_of_a_join_is_unknown() -> None:
    assert any(
        line.startswith("The expiry rule of operator 0 ")
        for line in said(checkpoint_of("join_left_outer"))
    )


def test_unknowns_are_sentences() -> None:
    cases = ("join_no_watermark", "join_left_outer", "snapshots_cleaned", "fmgws_processing_time")
    lines = [line for case in cases for line in said(checkpoint_of(case))]
    for line in (*lines, *NEVER_KNOWN):
        assert line[0].isupper()
        assert line.endswith(".")
        assert not line.endswith("..")
