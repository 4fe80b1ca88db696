"""``inspector files``: counts and rows of the listed files."""

import os
from operator import attrgetter
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.files import file_rows
from inspector.analyses.shared.run import Run
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import cell_values, rows_of_table


def test_missing_delta_breaks_the_replay_chain(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    complete = rows_of_table(api.files(str(path)), "chains")
    assert cell_values(complete, "replay_deltas") == [10, 10]
    (path / "state/0/1/5.delta").unlink()
    left, right = rows_of_table(api.files(str(path)), "chains")
    assert left == complete[0]
    assert (right["newest_restorable"], right["replay_deltas"], right["deltas"]) == (4, None, 9)


@pytest.mark.parametrize(("version", "replay_deltas"), [(13, 1), (12, 0), (11, 3), (8, 0)])
def test_replay_starts_at_the_newest_snapshot_below_the_version(
    version: int, replay_deltas: int
) -> None:
    path = str(checkpoint_of("fmgws_snapshots_cleaned"))
    options = api.Options(state_version=version, partition_id=0)
    (row,) = rows_of_table(api.files(path, options), "chains")
    assert row["replay_deltas"] == replay_deltas


def test_checksum_files_of_absent_files_are_orphans(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/.1.delta.crc").write_bytes(b"1")
    (path / "state/0/1/.99.delta.crc").write_bytes(b"1")
    (row,) = rows_of_table(api.files(str(path)), "other_files")
    assert (row["kind"], row["files"], row["orphans"]) == ("hadoop_checksum", 2, 1)


def test_other_files_are_counted_by_kind(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    folder = path / "state/0/1"
    (folder / ".7.delta.4711.tmp").write_bytes(b"123")
    (folder / "notes.txt").write_bytes(b"12")
    (folder / ".1.delta.crc").write_bytes(b"1")
    rows = rows_of_table(api.files(str(path)), "other_files")
    assert sorted(cell_values(rows, "kind", "files", "bytes")) == [
        ("hadoop_checksum", 1, 1),
        ("other", 1, 2),
        ("temporary", 1, 3),
    ]


def test_file_rows_list_every_file_once(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    (path / "state/0/0/notes.txt").write_bytes(b"12")
    os.utime(path / "state/0/0/notes.txt", ns=(0, 1_700_000_000_123_000_000))
    rows = list(file_rows(Run.start(str(path), api.Options(partition_id=0))))
    columns = attrgetter("kind", "version", "batch_id", "bytes")
    assert sorted(map(columns, rows)) == [
        ("delta", 8, 7, 573),
        ("delta", 9, 8, 133),
        ("delta", 10, 9, 350),
        ("delta", 11, 10, 643),
        ("delta", 12, 11, 425),
        ("delta", 13, 12, 247),
        ("other", None, None, 2),
        ("snapshot", 8, 7, 1718),
        ("snapshot", 12, 11, 1969),
    ]
    (note,) = (row for row in rows if row.path.endswith("notes.txt"))
    assert (note.path, note.modified_ms) == (str(path / "state/0/0/notes.txt"), 1_700_000_000_123)
    assert note.partition_id == 0


def test_file_rows_of_a_join_name_their_store() -> None:
    rows = file_rows(Run.start(str(checkpoint_of("join_window_key")), None))
    stores = {(row.operator_name, row.store_name, Path(row.path).parent.name) for row in rows}
    assert stores == {
        ("symmetricHashJoin", "left-keyToNumValues", "left-keyToNumValues"),
        ("symmetricHashJoin", "left-keyWithIndexToValue", "left-keyWithIndexToValue"),
        ("symmetricHashJoin", "right-keyToNumValues", "right-keyToNumValues"),
        ("symmetricHashJoin", "right-keyWithIndexToValue", "right-keyWithIndexToValue"),
    }
