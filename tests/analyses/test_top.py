"""``inspector top``: its report from the API and its printed output."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from compare_with_spark import truth

from inspector import api
from inspector.facts.top_keys import TopBy
from inspector.model import Redact
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.reports import cell_values, rows_where
from tests.troubles import troubled


def ranking(case: str, by: str, **options: Any) -> list[dict[str, Any]]:
    """Return the four first rows of one ranking of a fixture."""
    report = api.top(str(checkpoint_of(case)), api.Options(**options), limit=4, by=TopBy(by))
    return rows_where(report.primary.rows, by=by)


def test_largest_rows_equal_the_bytes_recorded_by_spark() -> None:
    recorded = truth(NEWEST / "fmgws_event_ignore")
    sizes = [len(row["kx"]) // 2 + len(row["vx"]) // 2 for row in recorded[13]]
    assert sorted(sizes, reverse=True)[:4] == [112, 112, 112, 112]
    expected = [(1, 112), (2, 112), (3, 112), (4, 112)]
    assert cell_values(ranking("fmgws_event_ignore", "row_bytes"), "rank", "row_bytes") == expected


def test_oldest_keys_equal_the_calls_of_the_function() -> None:
    """The query wrote down each call of its function, with the batch and the key."""
    calls = (NEWEST / "fmgws_no_timeout" / "calls.jsonl").read_text().splitlines()
    last_calls = {call["key"]: call for call in map(json.loads, calls)}.values()
    batches = [call["batch"] for call in last_calls if call["action"] != "remove"]
    oldest = ranking("fmgws_no_timeout", "oldest")
    assert cell_values(oldest, "last_put_batch") == sorted(batches)[:4]


def test_join_rows_equal_the_rows_recorded_by_spark() -> None:
    recorded = rows_where(truth(NEWEST / "join_left_outer")[10], store="left-keyWithIndexToValue")
    counts = Counter(dict(row["k"])["field0"] for row in recorded)
    largest = ranking("join_left_outer", "join_rows", store_name="left-keyToNumValues")
    assert cell_values(largest, "key", "join_rows") == [
        ({"field0": 67}, counts[67]),
        ({"field0": 72}, counts[72]),
        ({"field0": 73}, counts[73]),
        ({"field0": 74}, counts[74]),
    ]
    assert max(counts.values()) == counts[67] == 2


def test_join_report_starts_with_the_largest_join_key() -> None:
    report = api.top(str(NEWEST / "join_left_outer" / "checkpoint"))
    first = next(iter(report.primary.rows))
    assert (first["by"], first["store_name"]) == ("join_rows", "right-keyToNumValues")
    assert report.primary.title.startswith(
        '{"field0": 90} has 13.3 % of the rows of the right side'
    )


def test_rankings_with_equal_keys_are_left_out() -> None:
    report = api.top(str(NEWEST / "trouble_join_without_range" / "checkpoint"))
    first = rows_where(report.primary.rows, rank=1)
    assert cell_values(first, "store_name", "by") == [("right-keyToNumValues", "join_rows")]
    assert report.footnotes[-1].startswith("Left out: 21 rankings whose keys are all equal")
    assert "the rows of the" not in report.primary.title


def test_redacted_top_keys() -> None:
    hashed = ranking("agg_update", "puts", redact=Redact.HASH)
    assert re.fullmatch("(sha256:[0-9a-f]{16};){4}", ";".join([*cell_values(hashed, "key"), ""]))
    assert cell_values(hashed, "key_hex") == [None, None, None, None]


def test_skew_is_over_partitions() -> None:
    report = api.top(str(NEWEST / "agg_two_levels" / "checkpoint"))
    names = ("partitions", "empty", "median_row_bytes", "max_row_bytes", "max_to_median")
    assert cell_values(report.tables[1].rows, *names) == [
        (2, 1, 32, 64, 2.0),
        (2, 0, 3600, 3888, 1.08),
    ]


def test_keys_with_most_list_entries() -> None:
    report = api.top(str(troubled("trouble_tws_list")))
    top, skew, entries = report.tables
    assert (top.name, skew.name, entries.name, entries.shown) == ("top", "skew", "entries", True)
    first = next(iter(entries.rows))
    assert first["key"] == {"user": "u1"}
    assert first["share"] == 80 / 1600
    names = ("store_name", "entries", "removed")
    assert cell_values(entries.rows, *names) == [("pages", 80, 0)] * 5
    assert list(api.top(str(troubled("trouble_tws_list")), limit=1).tables[2].rows) == [first]


def test_aggregation_has_no_list_entries() -> None:
    entries = api.top(str(NEWEST / "agg_append/checkpoint")).tables[2]
    assert (entries.name, list(entries.rows), entries.shown) == ("entries", [], False)


# --- command line --------------------------------------------------------------------------------


def test_limit_is_per_ranking() -> None:
    """In the other rankings all keys are equal."""
    rows = run("top", checkpoint_of("agg_update"), "--limit", "3", "-o", "json").rows
    assert cell_values(rows, "by", "rank") == [("key_bytes", 1), ("key_bytes", 2), ("key_bytes", 3)]


def test_table_shows_rankings_and_partitions() -> None:
    outcome = run("top", checkpoint_of("agg_update"))
    assert outcome.code == 0
    assert "the first 5 keys by each ranking" in outcome.out
    assert "distribution of the rows of version 10 over the partitions" in outcome.out


def test_by_option_shows_one_ranking() -> None:
    path = checkpoint_of("agg_update")
    every = run("top", path, "-o", "json").rows
    assert run("top", path, "--by", "key_bytes", "-o", "json").rows == every
    rows = run("top", path, "--by", "row_bytes", "-o", "json").rows
    assert cell_values(rows, "rank") == [1, 2, 3, 4, 5]
    assert "the first 5 keys by age of the last put" in run("top", path, "--by", "oldest").out
    assert "the first key by puts" in run("top", path, "--by", "puts", "--limit", "1").out
    join_rows = run("top", path, "--by", "join_rows").out
    assert "no store counts the rows of the keys of a join" in join_rows


def test_unknown_ranking_is_a_usage_error() -> None:
    wrong = run("top", checkpoint_of("agg_update"), "--by", "size")
    assert wrong.code == 2
    assert "'key_bytes', 'value_bytes', 'row_bytes', 'puts', 'oldest', 'join_rows'" in wrong.err


@pytest.mark.parametrize(
    ("case", "by", "store"),
    [
        ("agg_update", "key_bytes", "default"),
        ("agg_update", "oldest", "default"),
        ("join_left_outer", "row_bytes", "left-keyWithIndexToValue"),
        ("join_left_outer", "join_rows", "right-keyToNumValues"),
    ],
)
def test_shares_of_all_keys_sum_to_1(case: str, by: str, store: str) -> None:
    report = api.top(str(checkpoint_of(case)), limit=100_000, by=TopBy(by))
    shares = cell_values(rows_where(report.primary.rows, store_name=store), "share")
    assert sum(shares) == pytest.approx(1)


def test_share_of_puts_is_of_all_puts() -> None:
    path = checkpoint_of("agg_update")
    (row,) = run("top", path, "--by", "puts", "--limit", "1", "-o", "json").rows
    assert (row["puts"], row["share"]) == (2, 2 / 472)
    changes = run("audit", path, "-o", "json").json["tables"]["changes"]
    assert cell_values(changes, "puts") == [472]
