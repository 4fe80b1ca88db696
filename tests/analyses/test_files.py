"""``files`` says what the listing said."""

from pathlib import Path
from typing import Any

from inspector import api
from inspector.analyses.files import file_rows
from inspector.analyses.shared.run import Run
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, copy_of


def tables(report: Report) -> dict[str, list[Any]]:
    return {table.name: list(table.rows) for table in report.tables}


def test_missing_delta_breaks_the_replay_chain(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    complete = tables(api.files(str(path)))["chains"]
    assert [row["replay_deltas"] for row in complete] == [10, 10]
    (path / "state/0/1/5.delta").unlink()
    left, right = tables(api.files(str(path)))["chains"]
    assert left == complete[0]
    assert (right["newest_restorable"], right["replay_deltas"], right["deltas"]) == (4, None, 9)


def test_replay_starts_at_the_newest_snapshot_below_the_version() -> None:
    path = str(checkpoint_of("fmgws_snapshots_cleaned"))
    for row in tables(api.files(path))["chains"]:
        older = tables(api.files(path, api.Options(state_version=row["newest_snapshot"])))
        (same,) = (r for r in older["chains"] if r["partition_id"] == row["partition_id"])
        assert (same["newest_snapshot"], same["replay_deltas"]) == (row["newest_snapshot"], 0)


def test_checksum_files_of_absent_files_are_orphans(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for name in (".1.delta.crc", ".99.delta.crc"):
        (path / "state/0/1" / name).write_bytes(b"1")
    (row,) = tables(api.files(str(path)))["other_files"]
    assert (row["kind"], row["files"], row["orphans"]) == ("hadoop_checksum", 2, 1)


def test_other_files_are_counted_by_kind(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    folder = path / "state/0/1"
    (folder / ".7.delta.4711.tmp").write_bytes(b"123")
    (folder / "notes.txt").write_bytes(b"12")
    (folder / ".1.delta.crc").write_bytes(b"1")
    result = {row["kind"]: row for row in tables(api.files(str(path)))["other_files"]}
    assert {kind: (row["files"], row["bytes"]) for kind, row in result.items()} == {
        "temporary": (1, 3),
        "other": (1, 2),
        "hadoop_checksum": (1, 1),
    }


def test_file_rows_list_every_file_once(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    (path / "state/0/1/notes.txt").write_bytes(b"12")
    rows = list(file_rows(Run.start(str(path), None)))
    on_disk = {str(file) for file in (path / "state/0").glob("[0-9]*/*") if file.is_file()}
    assert sorted(row.path for row in rows) == sorted(on_disk)
    assert {row.kind for row in rows} >= {"delta", "snapshot"}
    for row in rows:
        file = Path(row.path)
        assert row.bytes == file.stat().st_size
        assert row.modified_ms == file.stat().st_mtime_ns // 1_000_000
        assert row.partition_id == int(file.parent.name)
        if row.kind in ("delta", "snapshot"):
            assert (row.version, row.batch_id) == (int(file.stem), int(file.stem) - 1)
    (note,) = (row for row in rows if row.path.endswith("notes.txt"))
    assert (note.version, note.batch_id, note.bytes) == (None, None, 2)


def test_file_rows_of_a_join_name_their_store() -> None:
    rows = list(file_rows(Run.start(str(checkpoint_of("join_window_key")), None)))
    for row in rows:
        assert Path(row.path).parent.name == row.store_name
    assert len({row.store_name for row in rows}) == 4
    assert {row.operator_name for row in rows} == {"symmetricHashJoin"}
