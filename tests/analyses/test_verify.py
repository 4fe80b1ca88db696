"""``inspector verify``: its report from the API and its printed output."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import pytest

from inspector import api
from inspector.decode.frames import inflate
from inspector.exceptions import CheckpointError
from inspector.render.renderers import render
from tests.attributes import attributes
from tests.cli.support import change, checkpoint_of, copy_of, flip, run
from tests.encode import END, compress, state_file
from tests.fixture_folder import FIXTURES, NEWEST
from tests.reports import cell_values, rows_where


def test_verify_counts_files_and_versions() -> None:
    report = api.verify(str(checkpoint_of("join_left_outer")))
    summary = report.summary
    assert (summary["stores"], summary["partitions"], summary["versions_replayed"]) == (4, 2, 10)
    assert summary["files"] == summary["files_that_passed"] == 80
    assert list(report.primary.rows) == []
    assert report.judged


def test_verify_counts_passed_checksums() -> None:
    """Every record has a row checksum; each state file has Hadoop's and Spark's own checksum."""
    rows = api.verify(str(checkpoint_of("agg_row_checksum"))).summary
    assert (rows["row_checksums_that_passed"], rows["rows"]) == (747, 100)
    files = api.verify(str(FIXTURES / "4.1.4/agg_file_checksum/checkpoint")).summary
    assert (files["checksum_files"], files["checksum_files_that_passed"]) == (28, 28)
    assert files["files"] == 14


def test_damaged_file_is_not_counted_as_passed(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    sound = api.verify(str(path)).summary
    assert (sound["files"], sound["files_that_passed"]) == (20, 20)
    flip(path / "state/0/0/3.delta", 40)
    spoilt = api.verify(str(path)).summary
    assert (spoilt["files"], spoilt["files_that_passed"]) == (20, 19)


def test_delta_before_a_snapshot_is_decoded(tmp_path: Path) -> None:
    path = copy_of("agg_row_checksum", tmp_path)
    oldest = min((path / "state/0/0").glob("*.snapshot"), key=lambda file: int(file.stem))
    flip(oldest.with_suffix(".delta"), 40)
    (problem,) = api.verify(str(path)).problems
    assert problem.path == str(oldest.with_suffix(".delta"))


# --- parts of the files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "files", "checksum_files"),
    [
        ("agg_update", (3, 3, 5, 5, 4), (3, 3, 5, 5, 4)),
        ("join_left_outer", (18, 19, 12, 11, 20), (0, 0, 0, 0, 0)),
        ("rocksdb_tws_event", (7, 2, 1, 6, 2), (0, 0, 0, 0, 0)),
        ("rocksdb_agg_update_zips_one", (1, 1, 2, 3, 1), (0, 0, 0, 0, 0)),
    ],
)
def test_subsets_together_cover_all_files(
    case: str, files: tuple[int, ...], checksum_files: tuple[int, ...]
) -> None:
    path = str(NEWEST / case / "checkpoint")
    complete = api.verify(path).summary
    assert complete["files_that_passed"] == sum(files)
    assert complete["checksum_files_that_passed"] == sum(checksum_files)
    reports = [api.verify(path, subset=f"{number}/5") for number in (1, 2, 3, 4, 5)]
    summaries = attributes(reports, "summary")
    names = ("files_that_passed", "checksum_files_that_passed")
    assert cell_values(summaries, *names) == list(zip(files, checksum_files, strict=True))
    parts = [vars(report.part) for report in reports]
    assert sum(cell_values(parts, "file_bytes")) == parts[0]["of_file_bytes"]


def test_damaged_file_is_found_in_one_subset(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    flip(path / "state/0/0/3.delta", 300)
    reports = [api.verify(str(path), subset=f"{number}/4") for number in (1, 2, 3, 4)]
    assert sorted(bool(report.problems) for report in reports) == [False, False, False, True]
    assert sorted(attributes(reports, "complete")) == [False, True, True, True]


def test_subset_is_reported_as_a_part() -> None:
    report = api.verify(str(NEWEST / "agg_update" / "checkpoint"), subset="1/24")
    text = "".join(render(report))
    assert text.startswith("This is a part of the checkpoint: part 1/24 of the state files.")
    assert "Healthy, as far as this part shows" in text
    assert "Nothing is remembered of the other parts" in text
    assert "whole" not in text
    assert "rows" not in report.summary


@pytest.mark.parametrize("subset", ["0/4", "5/4", "1", "a/b", "1/10001", "-1/4", ""])
def test_invalid_subset_is_refused(subset: str) -> None:
    with pytest.raises(CheckpointError, match="got the subset"):
        api.verify(str(NEWEST / "agg_update" / "checkpoint"), subset=subset)


# --- command line --------------------------------------------------------------------------------


def raw(file: Path) -> bytes:
    """Return the records of a delta before compression."""
    return b"".join(inflate(iter([file.read_bytes()]), "lz4"))


@pytest.mark.parametrize(
    "case", ["agg_update", "join_left_outer", "fmgws_snapshots_cleaned", "uncommitted"]
)
def test_undamaged_checkpoint_has_no_problems(case: str) -> None:
    outcome = run("verify", checkpoint_of(case), "-o", "json")
    assert (outcome.code, outcome.rows) == (0, [])
    assert outcome.json["verdict"]["level"] == "ok"
    assert outcome.json["summary"]["raw_bytes"] > 0


def test_damaged_files_are_reported_with_their_offset(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    flip(path / "state/0/0/3.delta", 40)
    change(path / "state/0/1/2.delta", lambda data: data[:-30])
    flip(path / "state/0/1/7.delta", 0)
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 4
    assert cell_values(outcome.rows, "path", "problem", "offset") == [
        (str(path / "state/0/0/3.delta"), "bad-frame", 0),
        (str(path / "state/0/1/2.delta"), "truncated", 21),
        (str(path / "state/0/1/7.delta"), "bad-frame", 0),
    ]
    (finding,) = outcome.json["findings"]
    assert finding["id"] == "SS102"
    assert "(and 2 more, see problems)" in finding["evidence"]


def test_gap_in_the_deltas_is_reported_once_for_each_store(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/4.delta").unlink()
    (path / "state/0/1/5.delta").unlink()
    (path / "state/0/1/8.delta").unlink()
    rows = run("verify", path, "-o", "ndjson").ndjson
    assert cell_values(rows, "problem") == ["missing-version", "missing-delta"]
    assert "can restore versions 1-3" in rows[0]["message"]
    assert rows[1]["message"].startswith("the deltas of versions 4-5, 8 are missing")


def test_snapshot_is_compared_with_its_deltas(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    snapshot = path / "state/0/1/12.snapshot"
    records = raw(snapshot)
    (size,) = struct.unpack_from(">i", records)
    (value,) = struct.unpack_from(">i", records, 4 + size)
    first = 8 + size + value
    snapshot.write_bytes(compress(records[first:], "lz4"))
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 1
    (row,) = outcome.rows
    assert (row["problem"], row["path"]) == ("snapshot-differs", str(snapshot))
    assert row["message"].startswith("got missing keys: 1, keys too many: 0, keys with another")
    assert outcome.json["complete"] is True
    assert cell_values(outcome.json["findings"], "id") == ["SS104"]


def raw_record(key: bytes, value: bytes) -> bytes:
    """Return the bytes of a put before compression."""
    return struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value


def test_row_that_does_not_match_its_schema(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    file = path / "state/0/0/9.delta"
    file.write_bytes(compress(raw(file)[:-4] + raw_record(b"short", b"row") + END, "lz4"))
    outcome = run("verify", path, "-o", "json")
    rows = rows_where(outcome.rows, path=str(file))
    assert set(cell_values(rows, "problem")) == {"bad-row"}
    assert re.search("^key of record", "\n".join(cell_values(rows, "message")), re.MULTILINE)
    assert "SS106" in cell_values(outcome.json["findings"], "id")


def test_codec_other_than_the_recorded_one_is_read_and_reported(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    expected = run("rows", path, "-o", "ndjson").out
    file = path / "state/0/1/10.delta"
    file.write_bytes(compress(raw(file), "zstd"))
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 0
    (row,) = outcome.rows
    assert (row["problem"], row["path"]) == ("codec-mismatch", str(file))
    assert "the bytes are zstd, though the offset log records lz4" in row["message"]
    assert outcome.json["complete"] is True
    assert run("rows", path, "-o", "ndjson").out == expected


def test_missing_partition_is_reported(tmp_path: Path) -> None:

    path = copy_of("dedup_no_watermark", tmp_path)
    shutil.rmtree(path / "state/0/3")
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 4
    (row,) = outcome.rows
    assert row["problem"] == "missing-partition"
    assert row["message"].startswith("partition 3 is missing, expected 0 to 4")


def test_empty_delta_is_valid(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/5.delta").write_bytes(state_file(()))
    outcome = run("verify", path, "-o", "json")
    assert str(path / "state/0/0/5.delta") not in cell_values(outcome.rows, "path")


def test_damage_after_the_last_record_is_a_warning(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    change(path / "state/0/1/2.delta", lambda data: data[:-5])
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 1
    assert cell_values(outcome.rows, "problem", "version") == [("bad-tail", 2)]
    assert cell_values(outcome.json["findings"], "id", "severity") == [("SS102", "warning")]
