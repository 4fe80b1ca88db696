"""``inspector verify``: its report through the API, and what the command line prints."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from inspector import api
from inspector.decode.frames import inflate
from inspector.exceptions import CheckpointError
from inspector.render.renderers import render
from tests.cli.support import change, checkpoint_of, copy_of, flip, run
from tests.encode import END, compress, state_file
from tests.fixture_folder import FIXTURES, NEWEST


def test_verify_counts_files_and_versions() -> None:
    report = api.verify(str(checkpoint_of("join_left_outer")))
    summary = report.summary
    assert (summary["stores"], summary["partitions"], summary["versions_replayed"]) == (4, 2, 10)
    assert summary["files"] == summary["files_that_passed"] == 80
    assert list(report.primary.rows) == []
    assert report.judged


def summary_of(path: str) -> dict[str, int]:
    return dict(api.verify(path).summary)


def test_verify_counts_passed_checksums() -> None:
    rows = summary_of(str(checkpoint_of("agg_row_checksum")))
    # Every record of every delta and snapshot has one.
    assert rows["row_checksums_that_passed"] > rows["rows"]
    fixtures = FIXTURES / "4.1.4"
    files = summary_of(str(fixtures / "agg_file_checksum" / "checkpoint"))
    # Hadoop's and Spark's own beside each state file.
    assert files["checksum_files"] == files["checksum_files_that_passed"] == 2 * files["files"]


def test_damaged_file_is_not_counted_as_passed(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    sound = summary_of(str(path))
    flip(path / "state/0/0/3.delta", 40)
    spoilt = summary_of(str(path))
    assert spoilt["files"] == sound["files"] == sound["files_that_passed"]
    assert spoilt["files_that_passed"] == sound["files"] - 1


def test_delta_before_a_snapshot_is_decoded(tmp_path: Path) -> None:
    path = copy_of("agg_row_checksum", tmp_path)
    oldest = min((path / "state/0/0").glob("*.snapshot"), key=lambda file: int(file.stem))
    flip(oldest.with_suffix(".delta"), 40)
    report = api.verify(str(path))
    assert [problem.path for problem in report.problems] == [str(oldest.with_suffix(".delta"))]


# --- parts of the files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", ["agg_update", "join_left_outer", "rocksdb_tws_event", "rocksdb_agg_update_zips_one"]
)
def test_subsets_together_cover_all_files(case: str) -> None:
    path = str(NEWEST / case / "checkpoint")
    summary = api.verify(path).summary
    parts = [api.verify(path, subset=f"{number}/5") for number in range(1, 6)]
    for name in ("files_that_passed", "checksum_files_that_passed"):
        assert sum(part.summary[name] for part in parts) == summary[name]
    assert all(part.part is not None and part.part.subset for part in parts)
    assert sum(p.part.file_bytes for p in parts if p.part) == parts[0].part.of_file_bytes  # type: ignore[union-attr]


def test_damaged_file_is_found_in_one_subset(tmp_path: Path) -> None:
    copy = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "agg_update" / "checkpoint", copy)
    data = bytearray((copy / "state/0/0/3.delta").read_bytes())
    data[len(data) // 2] ^= 1
    (copy / "state/0/0/3.delta").write_bytes(data)
    reports = [api.verify(str(copy), subset=f"{number}/4") for number in range(1, 5)]
    assert [len(report.problems) > 0 for report in reports].count(True) == 1
    seen = next(report for report in reports if report.problems)
    assert not seen.complete


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
    """The records of a delta, as they are before compression."""
    return b"".join(inflate(iter([file.read_bytes()]), "lz4"))


def test_undamaged_checkpoint_has_no_problems() -> None:
    for case in ("agg_update", "join_left_outer", "fmgws_snapshots_cleaned", "uncommitted"):
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
    result = {(r["partition_id"], r["version"]): r for r in outcome.rows}
    assert set(result) == {(0, 3), (1, 2), (1, 7)}
    for (partition, version), row in result.items():
        assert row["path"] == str(path / f"state/0/{partition}/{version}.delta")
        assert row["message"]
    assert result[0, 3]["problem"] == "bad-frame"
    assert (result[0, 3]["offset"], result[1, 7]["offset"]) == (0, 0)
    assert result[1, 2]["problem"] == "truncated"
    size = (path / "state/0/1/2.delta").stat().st_size
    assert 0 < result[1, 2]["offset"] <= size
    assert [f["id"] for f in outcome.json["findings"]] == ["SS102"]
    assert "(and 2 more, see problems)" in outcome.json["findings"][0]["evidence"]


def test_gap_in_the_deltas_is_reported_once_for_each_store(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for version in (4, 5, 8):
        (path / f"state/0/1/{version}.delta").unlink()
    rows = run("verify", path, "-o", "ndjson").ndjson
    messages = {row["problem"]: row["message"] for row in rows}
    assert len(rows) == len(messages) == 2
    assert messages["missing-delta"].startswith("the deltas of versions 4-5, 8 are missing")
    assert "can restore versions 1-3" in messages["missing-version"]


def test_snapshot_is_compared_with_its_deltas(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    snapshot = max(path.glob("state/0/1/*.snapshot"), key=lambda file: int(file.stem))
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
    assert [f["id"] for f in outcome.json["findings"]] == ["SS104"]


def test_row_that_does_not_match_its_schema(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    file = path / "state/0/0/9.delta"
    file.write_bytes(compress(raw(file)[:-4] + raw_record(b"short", b"row") + END, "lz4"))
    outcome = run("verify", path, "-o", "json")
    rows = [row for row in outcome.rows if row["path"] == str(file)]
    assert {row["problem"] for row in rows} == {"bad-row"}
    assert any(row["message"].startswith("key of record") for row in rows)
    assert "SS106" in {f["id"] for f in outcome.json["findings"]}


def raw_record(key: bytes, value: bytes) -> bytes:
    """A put, before compression."""
    return struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value


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
    import shutil

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
    assert all("5.delta" not in row["path"] for row in outcome.rows)


def test_damage_after_the_last_record_is_a_warning(
    tmp_path: Path,
) -> None:
    path = copy_of("agg_append", tmp_path)
    change(path / "state/0/1/2.delta", lambda data: data[:-5])
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 1
    (row,) = outcome.rows
    assert (row["problem"], row["version"]) == ("bad-tail", 2)
    assert [(f["id"], f["severity"]) for f in outcome.json["findings"]] == [("SS102", "warning")]
