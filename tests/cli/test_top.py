"""``inspector top``."""

from __future__ import annotations

from tests.cli.support import checkpoint_of, run


def test_limit_is_per_ranking() -> None:
    rows = run("top", checkpoint_of("agg_update"), "--limit", "3", "-o", "json").rows
    rankings = [row["by"] for row in rows if row["rank"] == 1]
    assert rankings == ["key_bytes"], "in the others all keys are equal, too"
    assert len(rows) == 3


def test_the_table_shows_rankings_and_partitions() -> None:
    outcome = run("top", checkpoint_of("agg_update"))
    assert outcome.code == 0
    assert "the first 5 keys by each ranking" in outcome.out
    assert "distribution of the rows of version 10 over the partitions" in outcome.out


def test_one_ranking_alone() -> None:
    path = checkpoint_of("agg_update")
    every = run("top", path, "-o", "json").rows
    rows = run("top", path, "--by", "key_bytes", "-o", "json").rows
    assert rows == [row for row in every if row["by"] == "key_bytes"]
    assert len(run("top", path, "--by", "puts", "-o", "json").rows) == 5
    rows = run("top", path, "--by", "row_bytes", "-o", "json").rows
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    assert "the first 5 keys by age of the last put" in run("top", path, "--by", "oldest").out
    assert "the first key by puts" in run("top", path, "--by", "puts", "--limit", "1").out
    assert (
        "no store counts the rows of the keys of a join"
        in run("top", path, "--by", "join_rows").out
    )
    wrong = run("top", path, "--by", "size")
    assert wrong.code == 2
    assert "'key_bytes', 'value_bytes', 'row_bytes', 'puts', 'oldest', 'join_rows'" in wrong.err


def test_shares_of_all_keys_are_one() -> None:
    for case, rankings in (
        ("agg_update", ("key_bytes", "value_bytes", "row_bytes", "oldest")),
        ("join_left_outer", ("row_bytes", "join_rows")),
    ):
        for by in rankings:
            path = checkpoint_of(case)
            rows = run("top", path, "--by", by, "--limit", "100000", "-o", "json").rows
            sums: dict[str, float] = {}
            for row in rows:
                sums[row["store_name"]] = sums.get(row["store_name"], 0) + row["share"]
            assert sums
            assert all(abs(total - 1) < 1e-9 for total in sums.values()), (case, by, sums)


def test_the_share_of_puts_is_of_all_puts() -> None:
    path = checkpoint_of("agg_update")
    (row,) = run("top", path, "--by", "puts", "--limit", "1", "-o", "json").rows
    changes = run("audit", path, "-o", "json").json["tables"]["changes"]
    assert row["share"] == row["puts"] / sum(change["puts"] for change in changes)
