"""``inspector timeline``."""

from __future__ import annotations

from tests.cli.support import checkpoint_of, run


def test_a_capacity_is_told_of_when_asked() -> None:
    path = checkpoint_of("agg_complete")
    assert "REACH_CAPACITY" not in run("timeline", path).out
    out = run("timeline", path, "--capacity", "1MiB").out
    assert "ROWS_REACH_CAPACITY" in out
    assert "The row bytes of all stores together" in out
    assert "have reached 10 B." in run("timeline", path, "--capacity", "10").out


def test_a_limit_is_a_number_of_rows_and_no_option_of_timeline() -> None:
    assert run("timeline", checkpoint_of("agg_complete"), "--limit", "8GiB").code == 2


def test_there_is_a_row_for_each_batch() -> None:
    rows = run("timeline", checkpoint_of("agg_complete"), "-o", "json").rows
    assert [row["batch_id"] for row in rows] == list(range(8))


def test_the_last_batches_alone() -> None:
    path = checkpoint_of("join_left_outer")
    outcome = run("timeline", path, "--last", "2", "-o", "json")
    assert [row["batch_id"] for row in outcome.rows] == [8, 9] * 4
    assert [row["batch_id"] for row in outcome.json["tables"]["totals"]] == [8, 9]
    every = run("timeline", path, "-o", "json").json
    assert outcome.json["tables"]["growth"] == every["tables"]["growth"]
    assert run("timeline", path, "--last", "0").code == 2


def test_people_see_the_total_where_there_are_several_stores() -> None:
    assert "all stores together" in run("timeline", checkpoint_of("join_left_outer")).out
    assert "all stores together" not in run("timeline", checkpoint_of("agg_complete")).out
