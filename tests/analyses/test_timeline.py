"""``inspector timeline``: its report from the API and its printed output."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.reports import cell_values, rows_of_table, rows_where


def timeline(case: str, **options: Any) -> api.Report:
    """Return the timeline of a fixture of the newest Spark release."""
    return api.timeline(str(checkpoint_of(case)), **options)


def spark_progress(case: str) -> list[tuple[int, int, int]]:
    """Return batch id, total rows and removed rows as Spark's progress recorded them."""
    lines = (NEWEST / case / "progress.jsonl").read_text().splitlines()
    progress = [(item["batchId"], item["stateOperators"][0]) for item in map(json.loads, lines)]
    return [(batch, first["numRowsTotal"], first["numRowsRemoved"]) for batch, first in progress]


@pytest.mark.parametrize("case", ["agg_update", "fmgws_event_remove", "dedup_event_time"])
def test_batch_rows_and_removals_equal_spark_progress(case: str) -> None:
    rows = timeline(case).primary.rows
    assert cell_values(rows, "batch_id", "rows", "removals") == spark_progress(case)


def test_lag_is_batch_clock_minus_watermark() -> None:
    rows = list(timeline("agg_update").primary.rows)
    names = ("batch_timestamp_ms", "watermark_ms", "lag_ms")
    assert cell_values([rows[0], rows[4]], *names) == [
        (1_704_067_200_000, None, None),
        (1_704_067_240_000, 1_704_067_227_350, 12_650),
    ]


def test_batches_without_new_data_are_marked() -> None:
    rows = rows_where(timeline("agg_update").primary.rows, new_data=False)
    assert cell_values(rows, "batch_id") == [5, 9]


def test_replay_depth_counts_from_the_newest_snapshot() -> None:
    rows = timeline("snapshots_cleaned").primary.rows
    assert cell_values(rows, "replay_deltas") == [6, 7, 2, 3, 4, 5, 0, 1, 2]


def test_partially_restorable_versions_do_not_count_for_growth() -> None:
    """Seven batches are complete, and four of them have a clock: too few for a trend."""
    report = timeline("snapshots_cleaned")
    names = ("batch_id", "partitions", "of_partitions", "rows", "batch_timestamp_ms")
    assert cell_values(report.primary.rows, *names) == [
        (5, 1, 2, 80, None),
        (6, 1, 2, 106, None),
        (7, 2, 2, 150, None),
        (8, 2, 2, 200, None),
        (9, 2, 2, 100, None),
        (10, 2, 2, 150, 1_704_067_300_000),
        (11, 2, 2, 200, 1_704_067_310_000),
        (12, 2, 2, 150, 1_704_067_320_000),
        (13, 2, 2, 200, 1_704_067_330_000),
    ]
    assert cell_values(rows_of_table(report, "growth"), "rows_per_hour") == [None]
    assert "Too few batches can be read to tell" in report.notes[-1]


CAPACITY = (
    "rows_at_capacity",
    "rows_reach_capacity_ms",
    "heap_at_capacity",
    "heap_reaches_capacity_ms",
)


def test_growth_reaches_a_capacity() -> None:
    report = timeline("agg_complete", capacity=1 << 20)
    expected = [(False, 1_704_069_930_852, False, 1_704_067_964_377)]
    assert cell_values(rows_of_table(report, "growth"), *CAPACITY) == expected
    assert cell_values([report.summary], *CAPACITY) == expected
    assert cell_values(rows_of_table(report, "growth"), "rows_per_hour") == [15_638]
    rows, heap, *_ = report.notes
    assert rows.startswith("The row bytes of all stores together, ")
    assert heap.startswith("The heap estimate of all stores together, ~")
    assert "will reach 1.0 MiB" in rows
    (row,) = rows_of_table(timeline("agg_complete", capacity=100), "growth")
    assert (row["rows_at_capacity"], row["rows_reach_capacity_ms"]) == (True, None)
    assert report.summary["watermark_moves"] == 6
    assert report.summary["batches_with_watermark"] == 7


def test_state_that_does_not_grow_reaches_no_capacity() -> None:
    report = timeline("dedup_within_watermark", capacity=1 << 20)
    (row,) = rows_of_table(report, "growth")
    assert (row["rows_at_capacity"], row["rows_reach_capacity_ms"]) == (False, None)
    assert "will not reach 1.0 MiB" in report.notes[0]
    assert "do not prove permanent growth" in report.notes[-1]


def test_capacity_beyond_the_calendar_is_never_reached() -> None:
    report = timeline("agg_complete", capacity=1 << 62)
    (row,) = rows_of_table(report, "growth")
    assert row["rows_reach_capacity_ms"] is row["heap_reaches_capacity_ms"] is None
    assert list(api.render(report, "table"))
    assert list(api.render(report, "json"))
    assert list(api.render(report, "html"))
    assert report.to_arrow("growth").num_rows == 1


def test_no_capacity_columns_without_a_capacity() -> None:
    report = timeline("agg_complete")
    columns = {column.name for table in report.tables for column in table.columns}
    assert not {*CAPACITY} & {*report.summary, *columns}
    assert report.notes == ()
    assert report.footnotes[0] == "Rates per hour are extrapolated from 80 seconds."


def test_single_batch_reaches_a_capacity_at_an_unknown_time() -> None:
    path = str(checkpoint_of("agg_complete"))
    report = api.timeline(path, api.Options(batch=0), capacity=1 << 20)
    assert "It is unknown" in report.notes[0]


def test_heap_of_the_newest_version_equals_memory() -> None:
    newest = list(timeline("agg_update").primary.rows)[-1]
    memory = api.memory(str(checkpoint_of("agg_update"))).summary
    assert newest["heap_bytes"] == memory["heap_estimate_bytes"] == 59_360


def test_query_without_watermark_has_no_batches_with_watermark() -> None:
    assert timeline("dedup_no_watermark").summary["batches_with_watermark"] == 0


TOTALS = ("rows", "row_bytes", "heap_bytes", "puts", "delta_bytes", "partitions")


def test_batch_totals_are_sums_over_stores() -> None:
    report = timeline("join_left_outer")
    names = (*TOTALS, "replay_deltas", "lag_ms")
    batch_4 = rows_where(report.primary.rows, batch_id=4)
    assert cell_values(batch_4, "store_name", *names) == [
        ("left-keyToNumValues", 56, 1792, 17_992, 27, 551, 2, 5, 12_400),
        ("left-keyWithIndexToValue", 81, 5832, 28_712, 37, 1113, 2, 5, 12_400),
        ("right-keyToNumValues", 18, 576, 6904, 15, 376, 2, 5, 12_400),
        ("right-keyWithIndexToValue", 27, 1728, 10_736, 18, 670, 2, 5, 12_400),
    ]
    totals = rows_of_table(report, "totals")
    assert cell_values(totals, "batch_id", "stores") == [(batch, 4) for batch in range(10)]
    assert cell_values(totals, *names)[4] == (182, 9928, 64_344, 97, 2710, 8, 5, 12_400)


def test_total_is_unknown_if_one_store_is_unknown() -> None:
    report = timeline("snapshots_cleaned")
    expected = [None, 30, None, 60, 0, 60, 60, 60, 60]
    assert cell_values(report.primary.rows, "puts") == expected
    assert cell_values(rows_of_table(report, "totals"), "puts") == expected


def with_source_offsets(root: Path, offsets: Sequence[str]) -> Path:
    """Copy a checkpoint to a folder and replace the source offset of each batch."""
    shutil.copytree(NEWEST / "agg_update" / "checkpoint", root)
    for batch, offset in enumerate(offsets):
        path = root / "offsets" / str(batch)
        version, head, _ = path.read_text("utf-8").split("\n")
        path.write_text("\n".join([version, head, offset]), "utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return root


READS = ("batch_id", "kind", "records", "files", "rows")


def test_source_reads_have_kafka_records_and_rows(tmp_path: Path) -> None:
    offsets = [f'{{"orders":{{"0":{10 * batch},"1":{5 * batch}}}}}' for batch in range(10)]
    report = api.timeline(str(with_source_offsets(tmp_path / "kafka", offsets)))
    assert cell_values(rows_of_table(report, "source_reads"), *READS) == [
        (0, "kafka", None, None, 50),
        (1, "kafka", 15, None, 100),
        (2, "kafka", 15, None, 150),
        (3, "kafka", 15, None, 200),
        (4, "kafka", 15, None, 150),
        (5, "kafka", 15, None, 150),
        (6, "kafka", 15, None, 200),
        (7, "kafka", 15, None, 150),
        (8, "kafka", 15, None, 200),
        (9, "kafka", 15, None, 100),
    ]
    assert "source_reads" in run("timeline", tmp_path / "kafka", "-o", "json").json["tables"]


def test_source_reads_have_files_and_rows(tmp_path: Path) -> None:
    offsets = [f'{{"logOffset":{2 * batch}}}' for batch in range(10)]
    root = with_source_offsets(tmp_path / "files", offsets)
    folder = root / "sources" / "0"
    folder.mkdir(parents=True)
    for entry in range(40):
        line = json.dumps({"path": f"file:///in/{entry}", "timestamp": 1, "batchId": entry})
        (folder / str(entry)).write_text(f"v1\n{line}", "utf-8")
    reads = rows_of_table(api.timeline(str(root)), "source_reads")
    assert cell_values(reads, "kind", "records", "files")[1:] == [("files", None, 2)] * 9


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
    assert cell_values(rows, "batch_id") == [0, 1, 2, 3, 4, 5, 6, 7]


def test_last_option_shows_the_newest_batches() -> None:
    path = checkpoint_of("join_left_outer")
    outcome = run("timeline", path, "--last", "2", "-o", "json")
    assert cell_values(outcome.rows, "batch_id") == [8, 9, 8, 9, 8, 9, 8, 9]
    assert cell_values(outcome.json["tables"]["totals"], "batch_id") == [8, 9]
    every = run("timeline", path, "-o", "json").json
    assert outcome.json["tables"]["growth"] == every["tables"]["growth"]
    assert cell_values(every["rows"], "batch_id") == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] * 4
    assert run("timeline", path, "--last", "0").code == 2


def test_table_shows_totals_of_several_stores() -> None:
    assert "all stores together" in run("timeline", checkpoint_of("join_left_outer")).out
    assert "all stores together" not in run("timeline", checkpoint_of("agg_complete")).out
