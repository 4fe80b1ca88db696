"""``inspector top``: its report through the API, and what the command line prints."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from compare_with_spark import truth

from inspector import api
from inspector.facts.top_keys import TopBy
from inspector.model import Redact
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.troubles import troubled


def ranked(case: str, by: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of one ranking."""
    report = api.top(
        str(NEWEST / case / "checkpoint"), api.Options(**options), limit=4, by=TopBy(by)
    )
    return [dict(row) for row in report.primary.rows if row["by"] == by]


def test_largest_rows_equal_the_bytes_recorded_by_spark() -> None:
    recorded = truth(NEWEST / "fmgws_event_ignore")
    sizes = [len(row["kx"]) // 2 + len(row["vx"]) // 2 for row in recorded[max(recorded)]]
    result = ranked("fmgws_event_ignore", "row_bytes")
    assert [row["row_bytes"] for row in result] == sorted(sizes, reverse=True)[:4]
    assert [row["rank"] for row in result] == [1, 2, 3, 4]


def test_oldest_keys_equal_the_calls_of_the_function() -> None:
    calls = (NEWEST / "fmgws_no_timeout" / "calls.jsonl").read_text().splitlines()
    last: dict[str, int] = {}
    for call in map(json.loads, calls):
        if call["action"] == "remove":
            last.pop(call["key"], None)
        else:
            last[call["key"]] = call["batch"]
    result = ranked("fmgws_no_timeout", "oldest")
    assert [row["last_put_batch"] for row in result] == sorted(last.values())[:4]


def test_join_rows_equal_the_rows_recorded_by_spark() -> None:
    recorded = truth(NEWEST / "join_left_outer")
    rows = Counter(
        dict(row["k"])["field0"]
        for row in recorded[max(recorded)]
        if row["store"] == "left-keyWithIndexToValue"
    )
    result = ranked("join_left_outer", "join_rows", store_name="left-keyToNumValues")
    assert [row["join_rows"] for row in result] == sorted(rows.values(), reverse=True)[:4]
    assert all(rows[row["key"]["field0"]] == row["join_rows"] for row in result)


def test_join_report_starts_with_the_largest_join_key() -> None:
    report = api.top(str(NEWEST / "join_left_outer" / "checkpoint"))
    first = next(iter(report.primary.rows))
    assert (first["by"], first["store_name"]) == ("join_rows", "right-keyToNumValues")
    assert report.primary.title.startswith(
        '{"field0": 90} has 13.3 % of the rows of the right side'
    )


def test_rankings_with_equal_keys_are_left_out() -> None:
    report = api.top(str(NEWEST / "trouble_join_without_range" / "checkpoint"))
    result = [(row["store_name"], row["by"]) for row in report.primary.rows if row["rank"] == 1]
    assert result == [("right-keyToNumValues", "join_rows")]
    assert report.footnotes[-1].startswith("Left out: 21 rankings whose keys are all equal")
    assert "the rows of the" not in report.primary.title


def test_redacted_top_keys() -> None:
    result = ranked("agg_update", "puts", redact=Redact.HASH)
    assert all(str(row["key"]).startswith("sha256:") for row in result)
    assert all(row["key_hex"] is None for row in result)


def test_skew_is_over_partitions() -> None:
    report = api.top(str(NEWEST / "agg_two_levels" / "checkpoint"))
    downstream, upstream = report.tables[1].rows
    assert (downstream["partitions"], downstream["empty"]) == (2, 1)
    partitions = api.sizes(str(NEWEST / "agg_two_levels" / "checkpoint"), by="partition")
    sizes = [row["row_bytes"] for row in partitions.primary.rows if row["operator_id"] == 1]
    assert upstream["max_row_bytes"] == max(sizes)


def test_keys_with_most_list_entries() -> None:
    report = api.top(str(troubled("trouble_tws_list")))
    _, _, entries = report.tables
    first, *siblings = entries.rows
    assert (first["store_name"], first["entries"], first["removed"]) == ("pages", 80, 0)
    assert first["key"] == {"user": "u1"}
    assert len(siblings) == 4
    assert first["share"] == 80 / 1600
    assert [row["entries"] for row in entries.rows] == [80] * 5
    plain = api.top(str(NEWEST / "agg_append/checkpoint"))
    assert [table.name for table in plain.tables] == ["top", "skew", "entries"]
    assert not plain.tables[2].rows
    assert [entries.shown, plain.tables[2].shown] == [True, False]
    (item,) = api.top(str(troubled("trouble_tws_list")), limit=1).tables[2].rows
    assert item == first


# --- command line --------------------------------------------------------------------------------


def test_limit_is_per_ranking() -> None:
    rows = run("top", checkpoint_of("agg_update"), "--limit", "3", "-o", "json").rows
    rankings = [row["by"] for row in rows if row["rank"] == 1]
    assert rankings == ["key_bytes"], "in the others all keys are equal, too"
    assert len(rows) == 3


def test_table_shows_rankings_and_partitions() -> None:
    outcome = run("top", checkpoint_of("agg_update"))
    assert outcome.code == 0
    assert "the first 5 keys by each ranking" in outcome.out
    assert "distribution of the rows of version 10 over the partitions" in outcome.out


def test_by_option_shows_one_ranking() -> None:
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


def test_shares_of_all_keys_sum_to_1() -> None:
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


def test_share_of_puts_is_of_all_puts() -> None:
    path = checkpoint_of("agg_update")
    (row,) = run("top", path, "--by", "puts", "--limit", "1", "-o", "json").rows
    changes = run("audit", path, "-o", "json").json["tables"]["changes"]
    assert row["share"] == row["puts"] / sum(change["puts"] for change in changes)
