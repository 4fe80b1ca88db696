"""``inspector info``: its report from the API and its printed output."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from inspector import api
from tests.cli.support import checkpoint_of, copy_of, run
from tests.fixture_folder import FIXTURES, NEWEST
from tests.reports import cell_values, row_where, rows_of_table


def test_confs_have_their_origin() -> None:
    report = api.info(str(checkpoint_of("dedup_no_watermark")))
    shuffle = row_where(rows_of_table(report, "confs"), conf="spark.sql.shuffle.partitions")
    assert (shuffle["value"], shuffle["origin"]) == ("5", "recorded")


def test_store_without_schema_file_has_no_schema(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    (row,) = rows_of_table(api.info(str(path)), "stores")
    assert row["key_schema"] is row["value_schema"] is None
    assert row["expires"].startswith("unknown: ")
    assert row["operator_name"] == "stateStoreSave"


def metadata_format(path: Path) -> str:
    """Return the format of the operator metadata that ``info`` reports."""
    formats = rows_of_table(api.info(str(path)), "formats")
    return str(row_where(formats, what="metadata of operator 0")["format"])


def test_missing_operator_metadata_may_be_lost(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    shutil.rmtree(path / "state/0/_metadata")
    (path / "offsets/0").unlink()
    lost = "none (the query began with Spark 3.5 or older, or it is lost)"
    assert metadata_format(path) == lost
    old = FIXTURES / "3.5.9/agg_append/checkpoint"
    assert metadata_format(old) == "none (Spark 3.5 and older)"


def test_state_variables_have_kind_and_ttl() -> None:
    report = api.info(str(NEWEST / "rocksdb_tws_processing" / "checkpoint"))
    rows = rows_of_table(report, "variables")
    assert cell_values(rows, "store_name", "variable", "holds", "ttl", "declared") == [
        ("$count_recent", "recent", "entry count", None, None),
        ("$min_recent", "recent", "earliest expiry", None, None),
        ("$procTimers_keyToTimestamp", None, "timers", None, None),
        ("$procTimers_timestampToKey", None, "timers by time", None, None),
        ("$rowCounter_amounts", "amounts", "row counter", None, None),
        ("$rowCounter_recent", "recent", "row counter", None, None),
        ("$ttl_recent", "recent", "TTL index", None, None),
        ("$ttl_seen", "seen", "TTL index", None, None),
        ("$ttl_visited", "visited", "TTL index", None, None),
        ("amounts", "amounts", "list", False, True),
        ("pages", "pages", "map", False, True),
        ("recent", "recent", "list", True, True),
        ("seen", "seen", "value", True, True),
        ("total", "total", "value", False, True),
        ("visited", "visited", "map", True, True),
    ]
    assert set(cell_values(rows, "time_mode", "output_mode")) == {("ProcessingTime", "Update")}


# --- command line --------------------------------------------------------------------------------


def test_info_has_store_schemas_as_ddl() -> None:
    rows = run("info", checkpoint_of("join_left_outer"), "-o", "json").rows
    left = "ad bigint, shownAt timestamp, site string, matched boolean"
    right = "clickedAd bigint, clickedAt timestamp, cost double, matched boolean"
    assert cell_values(rows, "store_name", "key_schema", "value_schema") == [
        ("left-keyToNumValues", "field0 bigint", "value bigint"),
        ("left-keyWithIndexToValue", "field0 bigint, index bigint", left),
        ("right-keyToNumValues", "field0 bigint", "value bigint"),
        ("right-keyWithIndexToValue", "field0 bigint, index bigint", right),
    ]
    assert set(cell_values(rows, "operator_name")) == {"symmetricHashJoin"}


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("agg_update", "window.end <= watermark"),
        ("dedup_no_watermark", "never: "),
        ("fmgws_event_ignore", "timeoutTimestamp < "),
    ],
)
def test_info_has_the_expiry_rule_of_every_store(case: str, rule: str) -> None:
    (store,) = rows_of_table(api.info(str(checkpoint_of(case))), "stores")
    assert store["expires"].startswith(rule)


def test_info_has_the_last_batch_and_confs() -> None:
    envelope = run("info", checkpoint_of("snapshots_cleaned"), "-o", "json").json
    assert envelope["summary"]["last_committed_batch"] == 13
    confs = envelope["tables"]["confs"]
    assert row_where(confs, conf="spark.sql.shuffle.partitions")["value"] == "2"
    codec = "spark.sql.streaming.stateStore.compression.codec"
    assert row_where(confs, conf=codec)["value"] == "lz4"


@pytest.mark.parametrize("command", ["info", "files"])
def test_info_and_files_read_only_the_first_bytes_of_a_delta(command: str, tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    expected = run(command, path).out
    for file in path.glob("state/0/*/*.delta"):
        state = file.stat()
        file.write_bytes(file.read_bytes()[:8].ljust(state.st_size, b"\0"))
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    outcome = run(command, path)
    assert (outcome.code, outcome.out) == (0, expected)


def test_files_counts_deltas_and_snapshots() -> None:
    rows = run("files", checkpoint_of("fmgws_snapshots_cleaned"), "-o", "json").rows
    counts = ("deltas", "delta_bytes", "snapshots", "snapshot_bytes")
    assert cell_values(rows, "partition_id", *counts) == [
        (0, 6, 2371, 2, 3687),
        (1, 8, 2928, 2, 3156),
    ]
    chain = ("oldest_restorable", "newest_restorable", "newest_snapshot", "replay_deltas")
    assert cell_values(rows, *chain) == [(8, 13, 12, 1), (6, 13, 12, 1)]


def test_files_counts_checksum_files() -> None:
    siblings = run("files", checkpoint_of("agg_update"), "-o", "json").json["tables"]["other_files"]
    assert cell_values(siblings, "partition_id", "kind", "files", "bytes") == [
        (0, "hadoop_checksum", 10, 148),
        (1, "hadoop_checksum", 10, 156),
    ]


def test_state_file_bytes_are_equal_in_every_command() -> None:
    path = str(checkpoint_of("agg_update"))
    assert api.info(path).summary["state_file_bytes"] == 12006
    assert api.sizes(path).summary["state_file_bytes"] == 12006
    assert api.audit(path).summary["state_file_bytes"] == 12006
    assert api.files(path).summary["delta_bytes"] == 12006


def test_info_names_the_uncommitted_version() -> None:
    path = checkpoint_of("uncommitted")
    summary = run("info", path, "-o", "json").json["summary"]
    assert (summary["version"], summary["committed"]) == (4, True)
    assert summary["uncommitted_versions"] == [5]
    newest = run("info", path, "-o", "json", "--batch", "4").json["summary"]
    assert (newest["version"], newest["committed"]) == (5, False)
