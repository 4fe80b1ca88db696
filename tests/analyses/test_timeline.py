"""``timeline``, on what Spark wrote."""

from __future__ import annotations

import json
from pathlib import Path

from inspector import api

FIXTURES = Path(__file__).parents[2] / "fixtures" / "4.3.0"


def batches(case: str) -> dict[int, dict[str, object]]:
    """Batch id -> row of the first store."""
    report = api.timeline(str(FIXTURES / case / "checkpoint"))
    rows = [dict(row) for row in report.primary.rows if row["operator_id"] == 0]
    return {int(row["batch_id"]): row for row in rows}


def test_each_batch_has_the_numbers_of_sparks_progress() -> None:
    for case in ("agg_update", "fmgws_event_remove", "dedup_event_time"):
        told = batches(case)
        compared = 0
        for line in (FIXTURES / case / "progress.jsonl").read_text().splitlines():
            progress = json.loads(line)
            operator = progress["stateOperators"][0]
            row = told[progress["batchId"]]
            assert row["rows"] == operator["numRowsTotal"], (case, progress["batchId"])
            removals = operator["numRowsRemoved"]
            assert row["removals"] == removals, (case, progress["batchId"])
            compared += 1
        assert compared == len(told)


def test_lag_is_the_clock_less_the_watermark() -> None:
    row = batches("agg_update")[4]
    assert (row["batch_timestamp_ms"], row["watermark_ms"], row["lag_ms"]) == (
        1704067240000,
        1704067227350,
        12650,
    )
    assert (batches("agg_update")[0]["watermark_ms"], batches("agg_update")[0]["lag_ms"]) == (
        None,
        None,
    )


def test_batches_without_new_data_are_told() -> None:
    assert [b for b, row in batches("agg_update").items() if row["new_data"] is False] == [5, 9]


def test_replay_depth_counts_from_the_newest_snapshot() -> None:
    depth = {b: row["replay_deltas"] for b, row in batches("snapshots_cleaned").items()}
    assert (depth[11], depth[13]) == (0, 2)


def test_versions_that_not_every_partition_can_restore_are_told_and_are_no_growth() -> None:
    told = batches("snapshots_cleaned")
    assert {b: row["partitions"] for b, row in told.items() if b < 9} == {
        5: "1 of 2",
        6: "1 of 2",
        7: "2 of 2",
        8: "2 of 2",
    }
    whole = [int(str(row["rows"])) for row in told.values() if row["partitions"] == "2 of 2"]
    report = api.timeline(str(FIXTURES / "snapshots_cleaned" / "checkpoint"))
    (growth,) = report.tables[1].rows
    # The median slope between 150, 200, 150 and 200 rows, 10 s apart; none from 80 rows on.
    assert growth["rows_per_hour"] == 3000
    assert min(whole) > int(str(told[5]["rows"]))


def test_growth_and_its_limit() -> None:
    path = str(FIXTURES / "agg_complete" / "checkpoint")
    report = api.timeline(path, limit=1 << 20)
    (row,) = report.tables[1].rows
    assert row["rows_per_hour"] > 0
    assert str(row["rows_reach_limit"]).startswith("2024-01-01T00:")
    (row,) = api.timeline(path, limit=100).tables[1].rows
    assert row["rows_reach_limit"] == "has reached it"
    assert report.summary["watermark_moves"] == "in 6 of 6 batches"


def test_the_heap_of_the_newest_version_is_that_of_memory() -> None:
    path = str(FIXTURES / "agg_update" / "checkpoint")
    newest = batches("agg_update")[9]
    assert newest["heap_bytes"] == api.memory(path).summary["heap_estimate_bytes"]


def test_a_query_without_watermark_says_so() -> None:
    report = api.timeline(str(FIXTURES / "dedup_no_watermark" / "checkpoint"))
    assert report.summary["watermark_moves"] == "there is none"
