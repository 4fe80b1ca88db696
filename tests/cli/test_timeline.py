"""``inspector timeline``."""

from __future__ import annotations

from tests.cli.support import checkpoint_of, run


def test_a_limit_is_told_of_when_asked() -> None:
    path = checkpoint_of("agg_complete")
    assert "ROWS_REACH_LIMIT" not in run("timeline", path).out
    assert "ROWS_REACH_LIMIT" in run("timeline", path, "--limit", "1MiB").out
    assert "has reached it" in run("timeline", path, "--limit", "10").out


def test_there_is_a_row_for_each_batch() -> None:
    rows = run("timeline", checkpoint_of("agg_complete"), "-o", "json").rows
    assert [row["batch_id"] for row in rows] == list(range(8))
