"""``inspector info``: its report through the API, and what the command line prints."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from inspector import api
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, copy_of, run
from tests.fixture_folder import FIXTURES, NEWEST


def tables(report: Report) -> dict[str, list[Any]]:
    return {table.name: list(table.rows) for table in report.tables}


def test_confs_have_their_origin() -> None:
    path = str(checkpoint_of("dedup_no_watermark"))
    confs = {row["conf"]: row for row in tables(api.info(path))["confs"]}
    shuffle = confs["spark.sql.shuffle.partitions"]
    assert (shuffle["value"], shuffle["origin"]) == ("5", "recorded")


def test_store_without_schema_file_has_no_schema(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    (row,) = tables(api.info(str(path)))["stores"]
    assert row["key_schema"] is row["value_schema"] is None
    assert row["expires"].startswith("unknown: ")
    assert row["operator_name"] == "stateStoreSave"


def test_missing_operator_metadata_may_be_lost(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    shutil.rmtree(path / "state/0/_metadata")
    (path / "offsets/0").unlink()
    newer, older = (
        {row["what"]: row["format"] for row in tables(api.info(str(item)))["formats"]}
        for item in (path, FIXTURES / "3.5.9/agg_append/checkpoint")
    )
    subject = "metadata of operator 0"
    assert newer[subject] == "none (the query began with Spark 3.5 or older, or it is lost)"
    assert older[subject] == "none (Spark 3.5 and older)"


def test_state_variables_have_kind_and_ttl() -> None:
    report = api.info(str(NEWEST / "rocksdb_tws_processing" / "checkpoint"))
    table = next(item for item in report.tables if item.name == "variables")
    rows = {row["store_name"]: row for row in table.rows}
    assert {name: row["holds"] for name, row in rows.items() if row["ttl"] is not None} == {
        **dict.fromkeys(("total", "seen"), "value"),
        **dict.fromkeys(("amounts", "recent"), "list"),
        **dict.fromkeys(("pages", "visited"), "map"),
    }
    assert {name for name, row in rows.items() if row["ttl"]} == {"seen", "recent", "visited"}
    assert all(row["declared"] for row in rows.values() if row["ttl"] is not None)
    assert {row["time_mode"] for row in rows.values()} == {"ProcessingTime"}
    assert {row["output_mode"] for row in rows.values()} == {"Update"}
    assert rows["$ttl_visited"]["variable"] == "visited"
    assert rows["$procTimers_keyToTimestamp"]["holds"] == "timers"
    assert "default" not in rows


# --- command line --------------------------------------------------------------------------------


def test_info_has_store_schemas_as_ddl() -> None:
    rows = run("info", checkpoint_of("join_left_outer"), "-o", "json").rows
    assert [row["store_name"] for row in rows] == [
        *("left-keyToNumValues", "left-keyWithIndexToValue"),
        *("right-keyToNumValues", "right-keyWithIndexToValue"),
    ]
    assert {row["operator_name"] for row in rows} == {"symmetricHashJoin"}
    assert rows[0]["key_schema"] == "field0 bigint"
    assert rows[0]["value_schema"] == "value bigint"
    assert rows[1]["key_schema"] == "field0 bigint, index bigint"
    assert rows[1]["value_schema"].startswith("ad bigint, shownAt timestamp, site string")


def test_info_has_the_expiry_rule_of_every_store() -> None:
    rules = {
        case: run("info", checkpoint_of(case), "-o", "ndjson").ndjson[0]["expires"]
        for case in ("agg_update", "dedup_no_watermark", "fmgws_event_ignore")
    }
    assert rules["agg_update"] == "window.end <= watermark"
    assert rules["dedup_no_watermark"].startswith("never: ")
    assert rules["fmgws_event_ignore"].startswith("timeoutTimestamp < ")


def test_info_has_the_last_batch_and_confs() -> None:
    envelope = run("info", checkpoint_of("snapshots_cleaned"), "-o", "json").json
    recipe = json.loads((NEWEST / "snapshots_cleaned/manifest.json").read_text(encoding="utf-8"))
    assert envelope["summary"]["last_committed_batch"] == recipe["committed_batch"]
    confs = {row["conf"]: row for row in envelope["tables"]["confs"]}
    assert confs["spark.sql.shuffle.partitions"]["value"] == "2"
    assert confs["spark.sql.streaming.stateStore.compression.codec"]["value"] == "lz4"


def test_info_and_files_read_only_the_first_bytes_of_a_delta(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    result = {command: run(command, path).out for command in ("info", "files")}
    for file in path.glob("state/0/*/*.delta"):
        state = file.stat()
        file.write_bytes(file.read_bytes()[:8].ljust(state.st_size, b"\0"))
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    for command, text in result.items():
        outcome = run(command, path)
        assert (outcome.code, outcome.out) == (0, text)


def test_files_counts_deltas_and_snapshots() -> None:
    path = checkpoint_of("fmgws_snapshots_cleaned")
    rows = run("files", path, "-o", "json").rows
    assert len(rows) == 2
    for row in rows:
        folder = path / "state/0" / str(row["partition_id"])
        for kind in ("delta", "snapshot"):
            files = list(folder.glob(f"*.{kind}"))
            assert row[f"{kind}s"] == len(files)
            assert row[f"{kind}_bytes"] == sum(file.stat().st_size for file in files)
        snapshots = [int(file.stem) for file in folder.glob("*.snapshot")]
        newest = max(v for v in snapshots if v <= 13)
        assert (row["newest_snapshot"], row["newest_restorable"]) == (newest, 13)
        assert row["replay_deltas"] == 13 - newest


def test_files_counts_checksum_files() -> None:
    path = checkpoint_of("agg_update")
    siblings = run("files", path, "-o", "json").json["tables"]["other_files"]
    assert {row["kind"] for row in siblings} == {"hadoop_checksum"}
    side_files = list(path.glob("state/0/[01]/.*.crc"))
    assert sum(row["files"] for row in siblings) == len(side_files)
    assert sum(row["bytes"] for row in siblings) == sum(f.stat().st_size for f in side_files)


def test_state_file_bytes_are_equal_in_every_command() -> None:
    path = checkpoint_of("agg_update")
    deltas = sum(file.stat().st_size for file in path.glob("state/0/*/*.delta"))
    for command in ("info", "sizes", "audit"):
        summary = run(command, path, "-o", "json").json["summary"]
        assert summary["state_file_bytes"] == deltas
    assert run("files", path, "-o", "json").json["summary"]["delta_bytes"] == deltas


def test_info_names_the_uncommitted_version() -> None:
    path = checkpoint_of("uncommitted")
    summary = run("info", path, "-o", "json").json["summary"]
    assert (summary["version"], summary["committed"]) == (4, True)
    assert summary["uncommitted_versions"] == [5]
    newest = run("info", path, "-o", "json", "--batch", "4").json["summary"]
    assert (newest["version"], newest["committed"]) == (5, False)
