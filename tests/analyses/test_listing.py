"""``info`` and ``files`` say what the listing said."""

from pathlib import Path
from typing import Any

from inspector import api
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, copy_of


def tables(report: Report) -> dict[str, list[Any]]:
    return {table.name: list(table.rows) for table in report.tables}


def test_a_chain_is_broken_where_a_file_is_missing(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    whole = tables(api.files(str(path)))["chains"]
    assert [row["replay_deltas"] for row in whole] == [10, 10]
    (path / "state/0/1/5.delta").unlink()
    left, right = tables(api.files(str(path)))["chains"]
    assert left == whole[0]
    assert (right["newest_restorable"], right["replay_deltas"], right["deltas"]) == (4, None, 9)


def test_replay_begins_at_the_newest_snapshot_at_or_below_the_version() -> None:
    path = str(checkpoint_of("fmgws_snapshots_cleaned"))
    for row in tables(api.files(path))["chains"]:
        older = tables(api.files(path, api.Options(state_version=row["newest_snapshot"])))
        (same,) = (r for r in older["chains"] if r["partition_id"] == row["partition_id"])
        assert (same["newest_snapshot"], same["replay_deltas"]) == (row["newest_snapshot"], 0)


def test_other_files_are_counted_by_kind(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    folder = path / "state/0/1"
    (folder / ".7.delta.4711.tmp").write_bytes(b"123")
    (folder / "notes.txt").write_bytes(b"12")
    (folder / ".1.delta.crc").write_bytes(b"1")
    found = {row["kind"]: row for row in tables(api.files(str(path)))["other_files"]}
    assert {kind: (row["files"], row["bytes"]) for kind, row in found.items()} == {
        "temporary": (1, 3),
        "other": (1, 2),
        "hadoop_checksum": (1, 1),
    }


def test_confs_say_where_they_come_from() -> None:
    path = str(checkpoint_of("dedup_no_watermark"))
    confs = {row["conf"]: row for row in tables(api.info(path))["confs"]}
    shuffle = confs["spark.sql.shuffle.partitions"]
    assert (shuffle["value"], shuffle["origin"]) == ("5", "recorded")


def test_a_store_without_schema_has_none(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").unlink()
    (row,) = tables(api.info(str(path)))["stores"]
    assert row["key_schema"] is row["value_schema"] is None
    assert row["expires"].startswith("unknown: ")
    assert row["operator_name"] == "stateStoreSave"
