"""What a verification says that it read."""

from pathlib import Path

from inspector import api
from tests.cli.support import checkpoint_of, copy_of, flip


def test_a_verification_says_how_much_it_read() -> None:
    report = api.verify(str(checkpoint_of("join_left_outer")))
    told = report.summary
    assert (told["stores"], told["partitions"], told["versions_replayed"]) == (4, 2, 10)
    assert told["files"] == told["files_that_passed"] == 80
    assert list(report.primary.rows) == []
    assert report.judged


def summary_of(path: str) -> dict[str, int]:
    return dict(api.verify(path).summary)


def test_checksums_that_passed_are_counted() -> None:
    rows = summary_of(str(checkpoint_of("agg_row_checksum")))
    # Every record of every delta and snapshot has one.
    assert rows["row_checksums_that_passed"] > rows["rows"]
    fixtures = Path(__file__).parents[2] / "fixtures" / "4.1.4"
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
