"""``inspector timeline``: its report through the API, and what the command line prints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.profiles import sampled


def batches(case: str) -> dict[int, dict[str, object]]:
    """Batch id -> row of the first store."""
    report = api.timeline(str(NEWEST / case / "checkpoint"))
    rows = [dict(row) for row in report.primary.rows if row["operator_id"] == 0]
    return {int(row["batch_id"]): row for row in rows}


def growth_of(report: api.Report) -> list[dict[str, Any]]:
    """The rows of the table of growth."""
    (table,) = (table for table in report.tables if table.name == "growth")
    return [dict(row) for row in table.rows]


def test_batch_rows_and_removals_equal_spark_progress() -> None:
    for case in ("agg_update", "fmgws_event_remove", "dedup_event_time"):
        result = batches(case)
        compared = 0
        for line in (NEWEST / case / "progress.jsonl").read_text().splitlines():
            progress = json.loads(line)
            operator = progress["stateOperators"][0]
            row = result[progress["batchId"]]
            assert row["rows"] == operator["numRowsTotal"], (case, progress["batchId"])
            removals = operator["numRowsRemoved"]
            assert row["removals"] == removals, (case, progress["batchId"])
            compared += 1
        assert compared == len(result)


def test_lag_is_batch_clock_minus_watermark() -> None:
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


def test_batches_without_new_data_are_marked() -> None:
    assert [b for b, row in batches("agg_update").items() if row["new_data"] is False] == [5, 9]


def test_replay_depth_counts_from_the_newest_snapshot() -> None:
    depth = {b: row["replay_deltas"] for b, row in batches("snapshots_cleaned").items()}
    assert (depth[11], depth[13]) == (0, 2)


def test_partially_restorable_versions_do_not_count_for_growth() -> None:
    result = batches("snapshots_cleaned")
    assert {b: row["partitions"] for b, row in result.items() if b < 9} == {
        5: 1,
        6: 1,
        7: 2,
        8: 2,
    }
    complete = [
        int(str(row["rows"]))
        for row in result.values()
        if row["partitions"] == row["of_partitions"]
    ]
    report = api.timeline(str(NEWEST / "snapshots_cleaned" / "checkpoint"))
    (growth,) = growth_of(report)
    # Seven of its batches are whole, and four of these have a clock: too few for a trend.
    clocks = [row["batch_timestamp_ms"] for row in result.values()]
    assert (len(complete), sum(clock is not None for clock in clocks)) == (7, 4)
    assert growth["rows_per_hour"] is None
    assert "Too few batches can be read to tell" in report.notes[-1]
    assert min(complete) > int(str(result[5]["rows"]))


def test_growth_reaches_a_capacity() -> None:
    path = str(NEWEST / "agg_complete" / "checkpoint")
    report = api.timeline(path, capacity=1 << 20)
    (row,) = growth_of(report)
    assert row["rows_per_hour"] > 0
    assert row["rows_at_capacity"] is False
    start = 1_704_067_200_000
    assert start < row["heap_reaches_capacity_ms"] < row["rows_reach_capacity_ms"] < start + 10**8
    one_store = {name: row[name] for name in row if "capacity" in name}
    assert {name: report.summary[name] for name in one_store} == one_store
    assert "will reach 1.0 MiB" in report.notes[0]
    (row,) = growth_of(api.timeline(path, capacity=100))
    assert (row["rows_at_capacity"], row["rows_reach_capacity_ms"]) == (True, None)
    assert report.summary["watermark_moves"] == 6
    assert report.summary["batches_with_watermark"] == 7


def test_state_that_does_not_grow_reaches_no_capacity() -> None:
    report = api.timeline(str(NEWEST / "dedup_within_watermark" / "checkpoint"), capacity=1 << 20)
    (row,) = growth_of(report)
    assert (row["rows_at_capacity"], row["rows_reach_capacity_ms"]) == (False, None)
    assert "will not reach 1.0 MiB" in report.notes[0]
    assert "do not prove permanent growth" in report.notes[-1]


def test_capacity_beyond_the_calendar_is_never_reached() -> None:
    path = str(NEWEST / "agg_complete" / "checkpoint")
    report = api.timeline(path, capacity=1 << 62)
    (row,) = growth_of(report)
    assert row["rows_reach_capacity_ms"] is row["heap_reaches_capacity_ms"] is None
    for form in ("table", "json", "html"):
        assert list(api.render(report, form))
    assert report.to_arrow("growth").num_rows == 1


def test_no_capacity_columns_without_a_capacity() -> None:
    report = api.timeline(str(NEWEST / "agg_complete" / "checkpoint"))
    assert not [name for name in report.summary if "capacity" in name]
    (growth,) = (table for table in report.tables if table.name == "growth")
    assert not [column.name for column in growth.columns if "capacity" in column.name]
    assert report.notes == ()
    assert report.footnotes[0] == "Rates per hour are extrapolated from 80 seconds."


def test_single_batch_reaches_a_capacity_at_an_unknown_time() -> None:
    path = str(NEWEST / "agg_complete" / "checkpoint")
    report = api.timeline(path, api.Options(batch=0), capacity=1 << 20)
    assert "It is unknown" in report.notes[0]


def test_heap_of_the_newest_version_equals_memory() -> None:
    path = str(NEWEST / "agg_update" / "checkpoint")
    newest = batches("agg_update")[9]
    assert newest["heap_bytes"] == api.memory(path).summary["heap_estimate_bytes"]


def test_query_without_watermark_has_no_batches_with_watermark() -> None:
    report = api.timeline(str(NEWEST / "dedup_no_watermark" / "checkpoint"))
    assert report.summary["batches_with_watermark"] == 0


EVERY = sorted(Path(__file__).parents[2].glob("fixtures/*/*/checkpoint"))[::2]
NAMES = ["/".join(path.parts[-3:-1]) for path in EVERY]


@pytest.mark.parametrize("path", sampled(EVERY, 3), ids=NAMES)
def test_batches_are_sorted_in_each_store(path: Path) -> None:
    seen: dict[tuple[int, str], list[int]] = {}
    report = api.timeline(str(path))
    for row in report.primary.rows:
        location = row["operator_id"], row["store_name"]
        seen.setdefault(location, []).append(row["batch_id"])
    assert all(value == sorted(set(value)) for value in seen.values())


def test_batch_totals_are_sums_over_stores() -> None:
    report = api.timeline(str(NEWEST / "join_left_outer" / "checkpoint"))
    rows = list(report.primary.rows)
    (totals,) = (table for table in report.tables if table.name == "totals")
    result = list(totals.rows)
    assert [row["batch_id"] for row in result] == list(range(10))
    for total in result:
        stores = [row for row in rows if row["batch_id"] == total["batch_id"]]
        assert total["stores"] == len(stores) == 4
        for name in ("rows", "row_bytes", "heap_bytes", "puts", "delta_bytes", "partitions"):
            assert total[name] == sum(row[name] for row in stores)
        assert total["replay_deltas"] == max(row["replay_deltas"] for row in stores)
        assert total["lag_ms"] == stores[0]["lag_ms"]


def test_total_is_unknown_if_one_store_is_unknown() -> None:
    report = api.timeline(str(NEWEST / "snapshots_cleaned" / "checkpoint"))
    (totals,) = (table for table in report.tables if table.name == "totals")
    unknown = [row["batch_id"] for row in report.primary.rows if row["puts"] is None]
    assert unknown
    assert [row["batch_id"] for row in totals.rows if row["puts"] is None] == unknown


def source_lines(root: Path, line: Callable[[int], str]) -> Path:
    """A copy of a checkpoint whose source has other offsets, batch by batch."""
    shutil.copytree(NEWEST / "agg_update" / "checkpoint", root)
    for path in (root / "offsets").glob("[0-9]*"):
        version, head, _ = path.read_text("utf-8").split("\n")
        text = "\n".join([version, head, line(int(path.name))])
        path.write_text(text, "utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return root


def source_reads(root: Path) -> dict[int, tuple[str, int | None, int | None, int]]:
    """Batch id -> kind, records, files, and rows stored."""
    report = api.timeline(str(root))
    (table,) = (table for table in report.tables if table.name == "source_reads")
    assert table.shown
    return {r["batch_id"]: (r["kind"], r["records"], r["files"], r["rows"]) for r in table.rows}


def test_source_reads_have_kafka_records_and_rows(tmp_path: Path) -> None:
    def topic(batch: int) -> str:
        return json.dumps({"orders": {"0": 10 * batch, "1": 5 * batch}})

    reads = source_reads(source_lines(tmp_path / "kafka", topic))
    rows = {batch: row["rows"] for batch, row in batches("agg_update").items()}
    assert {batch: row[-1] for batch, row in reads.items()} == rows
    assert {row[:3] for batch, row in reads.items() if batch > 0} == {("kafka", 15, None)}


def test_source_reads_have_files_and_rows(tmp_path: Path) -> None:
    root = source_lines(tmp_path / "files", lambda batch: f'{{"logOffset":{2 * batch}}}')
    folder = root / "sources" / "0"
    folder.mkdir(parents=True)
    for entry in range(40):
        line = json.dumps({"path": f"file:///in/{entry}", "timestamp": 1, "batchId": entry})
        (folder / str(entry)).write_text(f"v1\n{line}", "utf-8")
    reads = source_reads(root)
    assert {row[:3] for batch, row in reads.items() if batch > 0} == {("files", None, 2)}


# --- command line --------------------------------------------------------------------------------


def test_capacity_option_adds_columns_and_a_note() -> None:
    path = checkpoint_of("agg_complete")
    assert "REACH_CAPACITY" not in run("timeline", path).out
    out = run("timeline", path, "--capacity", "1MiB").out
    assert "ROWS_REACH_CAPACITY" in out
    assert "The row bytes of all stores together" in out
    assert "have reached 10 B." in run("timeline", path, "--capacity", "10").out


def test_timeline_has_no_limit_in_bytes() -> None:
    assert run("timeline", checkpoint_of("agg_complete"), "--limit", "8GiB").code == 2


def test_timeline_has_a_row_for_each_batch() -> None:
    rows = run("timeline", checkpoint_of("agg_complete"), "-o", "json").rows
    assert [row["batch_id"] for row in rows] == list(range(8))


def test_last_option_shows_the_newest_batches() -> None:
    path = checkpoint_of("join_left_outer")
    outcome = run("timeline", path, "--last", "2", "-o", "json")
    assert [row["batch_id"] for row in outcome.rows] == [8, 9] * 4
    assert [row["batch_id"] for row in outcome.json["tables"]["totals"]] == [8, 9]
    every = run("timeline", path, "-o", "json").json
    assert outcome.json["tables"]["growth"] == every["tables"]["growth"]
    assert run("timeline", path, "--last", "0").code == 2


def test_table_shows_totals_of_several_stores() -> None:
    assert "all stores together" in run("timeline", checkpoint_of("join_left_outer")).out
    assert "all stores together" not in run("timeline", checkpoint_of("agg_complete")).out
