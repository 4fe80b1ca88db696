"""``verify``: every fault has its place, and one fault does not hide another."""

import struct
from pathlib import Path

from inspector.decode.frames import inflate
from tests.cli.support import change, checkpoint_of, copy_of, flip, run
from tests.encode import END, compress, state_file


def raw(file: Path) -> bytes:
    """The records of a delta, as they are before compression."""
    return b"".join(inflate(iter([file.read_bytes()]), "lz4"))


def test_a_whole_checkpoint_has_no_problems() -> None:
    for case in ("agg_update", "join_left_outer", "fmgws_snapshots_cleaned", "uncommitted"):
        outcome = run("verify", checkpoint_of(case), "-o", "json")
        assert (outcome.code, outcome.rows) == (0, [])
        assert outcome.json["verdict"]["level"] == "ok"
        assert outcome.json["summary"]["raw_bytes"] > 0


def test_every_bad_file_is_told_with_its_offset(tmp_path: Path) -> None:
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


def test_a_gap_is_told_once_for_each_store(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for version in (4, 5, 8):
        (path / f"state/0/1/{version}.delta").unlink()
    rows = run("verify", path, "-o", "ndjson").ndjson
    messages = {row["problem"]: row["message"] for row in rows}
    assert len(rows) == len(messages) == 2
    assert messages["missing-delta"].startswith("the deltas of versions 4-5, 8 are missing")
    assert "can restore versions 1-3" in messages["missing-version"]


def test_a_snapshot_is_held_against_its_deltas(tmp_path: Path) -> None:
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


def test_a_row_that_does_not_fit_its_schema_is_told(tmp_path: Path) -> None:
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


def test_another_codec_than_the_recorded_one_is_read_and_told(tmp_path: Path) -> None:
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


def test_a_lost_partition_is_told(tmp_path: Path) -> None:
    import shutil

    path = copy_of("dedup_no_watermark", tmp_path)
    shutil.rmtree(path / "state/0/3")
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 4
    (row,) = outcome.rows
    assert row["problem"] == "missing-partition"
    assert row["message"].startswith("partition 3 is missing, expected 0 to 4")


def test_an_empty_delta_is_whole(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/5.delta").write_bytes(state_file(()))
    outcome = run("verify", path, "-o", "json")
    assert all("5.delta" not in row["path"] for row in outcome.rows)


def test_what_is_wrong_behind_the_last_record_is_told_and_nothing_is_missing(
    tmp_path: Path,
) -> None:
    path = copy_of("agg_append", tmp_path)
    change(path / "state/0/1/2.delta", lambda data: data[:-5])
    outcome = run("verify", path, "-o", "json")
    assert outcome.code == 1
    (row,) = outcome.rows
    assert (row["problem"], row["version"]) == ("bad-tail", 2)
    assert [(f["id"], f["severity"]) for f in outcome.json["findings"]] == [("SS102", "warning")]
