"""``inspector top``."""

from __future__ import annotations

from tests.cli.support import checkpoint_of, run


def test_limit_is_per_ranking() -> None:
    rows = run("top", checkpoint_of("agg_update"), "--limit", "3", "-o", "json").rows
    assert {row["by"] for row in rows} == {
        "key_bytes",
        "value_bytes",
        "row_bytes",
        "puts",
        "oldest",
    }
    assert len(rows) == 15


def test_the_table_shows_rankings_and_partitions() -> None:
    outcome = run("top", checkpoint_of("agg_update"))
    assert outcome.code == 0
    assert "the first 5 keys by each ranking" in outcome.out
    assert "partitions of version 10" in outcome.out
