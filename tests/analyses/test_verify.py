"""What a verification says that it read."""

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.exceptions import CheckpointError
from inspector.render.renderers import render
from tests.cli.support import checkpoint_of, copy_of, flip
from tests.fixture_folder import FIXTURES, NEWEST


def test_a_verification_says_how_much_it_read() -> None:
    report = api.verify(str(checkpoint_of("join_left_outer")))
    summary = report.summary
    assert (summary["stores"], summary["partitions"], summary["versions_replayed"]) == (4, 2, 10)
    assert summary["files"] == summary["files_that_passed"] == 80
    assert list(report.primary.rows) == []
    assert report.judged


def summary_of(path: str) -> dict[str, int]:
    return dict(api.verify(path).summary)


def test_checksums_that_passed_are_counted() -> None:
    rows = summary_of(str(checkpoint_of("agg_row_checksum")))
    # Every record of every delta and snapshot has one.
    assert rows["row_checksums_that_passed"] > rows["rows"]
    fixtures = FIXTURES / "4.1.4"
    files = summary_of(str(fixtures / "agg_file_checksum" / "checkpoint"))
    # Hadoop's and Spark's own beside each state file.
    assert files["checksum_files"] == files["checksum_files_that_passed"] == 2 * files["files"]


def test_what_is_wrong_is_not_among_what_passed(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    sound = summary_of(str(path))
    flip(path / "state/0/0/3.delta", 40)
    spoilt = summary_of(str(path))
    assert spoilt["files"] == sound["files"] == sound["files_that_passed"]
    assert spoilt["files_that_passed"] == sound["files"] - 1


def test_a_delta_that_a_snapshot_has_replaced_is_decoded_too(tmp_path: Path) -> None:
    path = copy_of("agg_row_checksum", tmp_path)
    oldest = min((path / "state/0/0").glob("*.snapshot"), key=lambda file: int(file.stem))
    flip(oldest.with_suffix(".delta"), 40)
    report = api.verify(str(path))
    assert [problem.path for problem in report.problems] == [str(oldest.with_suffix(".delta"))]


# --- parts of the files ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", ["agg_update", "join_left_outer", "rocksdb_tws_event", "rocksdb_agg_update_zips_one"]
)
def test_the_parts_together_are_all_files(case: str) -> None:
    path = str(NEWEST / case / "checkpoint")
    summary = api.verify(path).summary
    parts = [api.verify(path, subset=f"{number}/5") for number in range(1, 6)]
    for name in ("files_that_passed", "checksum_files_that_passed"):
        assert sum(part.summary[name] for part in parts) == summary[name]
    assert all(part.part is not None and part.part.subset for part in parts)
    assert sum(p.part.file_bytes for p in parts if p.part) == parts[0].part.of_file_bytes  # type: ignore[union-attr]


def test_a_damaged_file_is_seen_by_its_part_alone(tmp_path: Path) -> None:
    copy = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "agg_update" / "checkpoint", copy)
    data = bytearray((copy / "state/0/0/3.delta").read_bytes())
    data[len(data) // 2] ^= 1
    (copy / "state/0/0/3.delta").write_bytes(data)
    reports = [api.verify(str(copy), subset=f"{number}/4") for number in range(1, 5)]
    assert [len(report.problems) > 0 for report in reports].count(True) == 1
    seen = next(report for report in reports if report.problems)
    assert not seen.complete


def test_a_part_is_never_called_whole() -> None:
    report = api.verify(str(NEWEST / "agg_update" / "checkpoint"), subset="1/24")
    text = "".join(render(report))
    assert text.startswith("This is a part of the checkpoint: part 1/24 of the state files.")
    assert "Healthy, as far as this part shows" in text
    assert "Nothing is remembered of the other parts" in text
    assert "whole" not in text
    assert "rows" not in report.summary


@pytest.mark.parametrize("subset", ["0/4", "5/4", "1", "a/b", "1/10001", "-1/4", ""])
def test_what_is_no_part_is_refused(subset: str) -> None:
    with pytest.raises(CheckpointError, match="got the subset"):
        api.verify(str(NEWEST / "agg_update" / "checkpoint"), subset=subset)
