"""Restarts: the files that Spark reads, and what stops Spark from restarting."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.decode.sst.footer import read_footer
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.restart import Restart, restart_of
from inspector.findings.finding import Severity
from tests.attributes import attributes
from tests.checkpoint_files import forget_checksum, remove_paths
from tests.decode.sst.tables import BytesSource
from tests.fixture_folder import FIXTURES
from tests.ill import repartitioning_begun
from tests.reports import finding_ids, findings_with_id
from tests.rocks import as_spark_4_0
from tests.troubles import troubled

PLAIN, CLEANED = "3.5.9/agg_append", "3.5.9/snapshots_cleaned"
ROCKSDB = "3.5.9/rocksdb_agg_update_snapshots"
FORMAT_2 = "4.3.0/rocksdb_agg_update_snapshots_format2"
CUT = 30  # bytes: more than lz4's own end mark has
ABSENT = "CANNOT_READ_DELTA_FILE_NOT_EXISTS"
PARTITIONS = '"spark.sql.shuffle.partitions":"{}"'


def copy(tmp_path: Path, case: str, *gone: str, cut: tuple[str, ...] = ()) -> Path:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / case / "checkpoint", root)
    remove_paths(root, *gone)
    for name in cut:
        path = forget_checksum(root / name)
        path.write_bytes(path.read_bytes()[:-CUT])
    return root


def restart(root: Path) -> Restart:
    """Return what a restart needs, judged by the content of the files too."""
    return restart_of(open_checkpoint(str(root)), api.verify(str(root)).problems)


def replace_in(file: Path, old: str, new: str) -> None:
    """Replace a text that the file has, and remove its checksum file."""
    text = forget_checksum(file).read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (PLAIN, "Restarts from batch 10: yes, from 10 deltas."),
        ("3.5.9/fmgws_snapshots_cleaned", "yes, from 12.snapshot and 1 delta."),
        ("3.5.9/rocksdb_agg_update_zips_cleaned_one", "batch 8: yes, from 8.zip."),
        ("4.3.0/agg_row_checksum", "batch 10: yes, from snapshots and up to 4 deltas."),
        ("3.5.9/uncommitted", "from batch 4, which is run again because it has no commit: yes"),
    ],
)
def test_a_sound_checkpoint_restarts_from_its_files(case: str, sentence: str) -> None:
    result = restart(FIXTURES / case / "checkpoint")
    assert sentence in result.sentence
    assert result.possible is True


def test_restart_runs_an_uncommitted_batch_again() -> None:
    result = restart(FIXTURES / "3.5.9/uncommitted/checkpoint")
    assert (result.batch, result.again, result.committed) == (4, True, 3)
    assert result.planned_ms is not None


def test_partitions_that_wrote_nothing_of_an_unfinished_batch(
    tmp_path: Path,
) -> None:
    case = "3.5.9/uncommitted"
    assert restart(FIXTURES / case / "checkpoint").silent == ""
    wrote_all = "All partitions have written their state of it: what failed, if it did, came after"
    assert wrote_all in restart(FIXTURES / case / "checkpoint").unfinished_text
    folder = copy(tmp_path / "folder", case, "state/0/1")
    assert wrote_all not in restart(folder).unfinished_text
    result = restart(copy(tmp_path, case, "state/0/1/5.delta"))
    assert "has been committed. Partition 1 wrote nothing of it." in result.unfinished_text
    committed = restart(copy(tmp_path / "other", PLAIN, "state/0/1/3.delta"))
    assert not committed.silent


def test_planned_batch_of_format_2_may_be_in_its_sink(tmp_path: Path) -> None:
    root = copy(tmp_path, FORMAT_2, "commits/7")
    result = restart(root)
    assert result.possible is None
    assert "Spark fails (CheckpointInfo length: 0) if the sink has batch 7" in result.sentence
    # One partition has not written, so that no sink can have the batch.
    remove_paths(root, "state/0/1/8_*")
    assert restart(root).possible is True


def test_rows_of_rocksdb_without_schema_leave_the_restart_open(tmp_path: Path) -> None:
    root = copy(tmp_path, "3.5.9/rocksdb_session_window")
    remove_paths(root, "state/0/*/_metadata")
    result = restart(root)
    assert result.possible is None
    assert "could not be read here" in result.sentence


def test_source_log_entry_of_an_unfinished_batch_is_named(tmp_path: Path) -> None:
    root = copy(tmp_path, "3.5.9/uncommitted")
    for batch in (3, 4):
        entry = forget_checksum(root / "offsets" / str(batch))
        *lines, _ = entry.read_text().splitlines()
        entry.write_text("\n".join([*lines, f'{{"logOffset":{batch}}}']))
    assert "It reads the files that sources/0/4 names." in restart(root).unfinished_text


def test_a_missing_delta_above_the_newest_snapshot_stops_spark(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, PLAIN, "state/0/1/3.delta"))
    assert result.sentence == f"Cannot restart (batch 10): partition 1 lacks 3.delta ({ABSENT})."


def test_a_missing_delta_below_the_newest_snapshot_is_not_needed(tmp_path: Path) -> None:
    """The newest snapshot is of version 12."""
    assert restart(copy(tmp_path, CLEANED, "state/0/0/12.delta")).possible is True


def test_a_cut_delta_stops_spark_unless_a_snapshot_covers_it(tmp_path: Path) -> None:
    result = restart(copy(tmp_path / "above", PLAIN, cut=("state/0/1/10.delta",)))
    assert (
        "partition 1 needs 10.delta, which cannot be read (CANNOT_LOAD_STATE_STORE)"
        in result.sentence
    )
    below = copy(tmp_path / "below", CLEANED, cut=("state/0/0/12.delta",))
    assert restart(below).possible is True


@pytest.mark.parametrize("file", ["5.delta", "4.snapshot"])
def test_file_damaged_after_its_records_is_loaded(tmp_path: Path, file: str) -> None:
    """Spark does the same in ``test_bytes_after_delta_end_mark_are_ignored``."""
    root = copy(tmp_path, "4.3.0/agg_row_checksum")
    path = next(root.glob(f"state/0/*/{file}"))
    path.write_bytes(path.read_bytes()[:-1])
    intact = FIXTURES / "4.3.0/agg_row_checksum/checkpoint"
    assert restart(root).sentence == restart(intact).sentence
    report = api.audit(str(root))
    assert report.complete
    (finding,) = findings_with_id(report, "SS102")
    assert finding.severity is Severity.WARNING
    assert "behind the end mark of the records; Spark does not read so far" in finding.cause
    assert report.summary["rows"] == api.audit(str(intact)).summary["rows"]


def test_files_cut_after_and_inside_their_records(tmp_path: Path) -> None:
    root = copy(tmp_path, "4.3.0/agg_row_checksum", cut=("state/0/0/6.delta",))
    path = root / "state/0/0/5.delta"
    path.write_bytes(path.read_bytes()[:-1])
    findings = findings_with_id(api.audit(str(root)), "SS102")
    cut, tail = sorted(findings, key=lambda finding: "5.delta: " in finding.cause)
    assert "5.delta: " in tail.cause
    assert "no row is lost" in tail.cause
    assert tail.next_step == "nothing is needed to go on"
    assert "6.delta: " in cut.cause
    assert "no row is lost" not in cut.cause


def test_partitions_beyond_the_recorded_number_are_not_read(tmp_path: Path) -> None:
    """Spark uses the number of partitions in the newest entry of the offset log."""
    root = copy(tmp_path, PLAIN)
    for batch in range(6, 10):
        replace_in(root / f"offsets/{batch}", PARTITIONS.format(2), PARTITIONS.format(1))
    complete = restart(root)
    assert (complete.possible, complete.obstacles) == (True, ())
    remove_paths(root, "state/0/1/[89].delta", "state/0/1/10.delta")
    assert restart(root).sentence == "Restarts from batch 10: yes, from 10 deltas."
    report = api.audit(str(root))
    assert report.verdict is not None
    assert report.verdict.cause is not None
    assert "keys are looked for in other partitions" in report.verdict.cause.finding.cause


def test_a_snapshot_that_cannot_be_read_is_skipped_by_new_releases(tmp_path: Path) -> None:
    broken = restart(copy(tmp_path / "a", ROCKSDB, cut=("state/0/0/6.zip",)))
    assert broken.possible is True
    assert broken.needs_repair
    assert "with Spark 4.2 or later" in broken.sentence
    assert "older releases fail" in broken.sentence


def test_a_table_whose_index_is_damaged_is_not_opened(tmp_path: Path) -> None:
    root = copy(tmp_path, "4.3.0/rocksdb_agg_update_zips_cleaned_one")
    for table in root.glob("state/0/*/SSTs/*.sst"):
        content = bytearray(table.read_bytes())
        footer = read_footer(BytesSource(bytes(content)))
        content[footer.metaindex.offset + 1] ^= 0xFF
        forget_checksum(table).write_bytes(content)
    result = restart(root)
    assert result.possible is False
    assert ".sst" in result.sentence


@pytest.mark.parametrize("case", [ROCKSDB, "4.3.0/rocksdb_agg_update_zips_cleaned_one"])
def test_a_damaged_block_of_a_table_fails_only_when_it_is_read(case: str, tmp_path: Path) -> None:
    """Spark 4.3 failed if the batch read the block, with and without changelogs."""
    root = copy(tmp_path, case)
    tables = [*root.glob("state/0/*/SSTs/*.sst")]
    assert tables
    for table in tables:
        content = bytearray(table.read_bytes())
        content[9] ^= 0xFF
        forget_checksum(table).write_bytes(content)
    result = restart(root)
    assert result.possible is None
    assert "unknown, because a block of state/0/" in result.sentence
    findings = findings_with_id(api.verify(str(root)), "SS102")
    assert set(attributes(findings, "severity")) == {Severity.ERROR}


def test_a_broken_snapshot_without_the_deltas_below_it_names_the_delta(tmp_path: Path) -> None:
    gone, cut = "state/0/0/8.snapshot", "state/0/0/12.snapshot"
    result = restart(copy(tmp_path, CLEANED, gone, cut=(cut,)))
    assert not result.possible
    assert "as 12.snapshot cannot be read" in result.sentence
    assert ABSENT in result.sentence


def test_missing_partition_stops_spark(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, PLAIN, "state/0/1"))
    assert result.sentence == f"Cannot restart (batch 10): partition 1 lacks 1.delta ({ABSENT})."


def test_log_entry_with_another_number_of_partitions_is_named(tmp_path: Path) -> None:
    root = copy(tmp_path, PLAIN)
    replace_in(root / "offsets/9", PARTITIONS.format(2), PARTITIONS.format(4))
    expected = "partition 2 lacks 1.delta, as offsets/9 has 4 partitions where an older entry has 2"
    assert f"{expected} (" in restart(root).sentence


def test_logs_newer_than_all_state_show_a_copy(tmp_path: Path) -> None:
    first = ("state/0/0/9.delta", "state/0/0/10.delta")
    second = ("state/0/1/9.delta", "state/0/1/10.delta")
    result = restart(copy(tmp_path, PLAIN, *first, *second))
    assert result.sentence == (
        f"Cannot restart (batch 10): partition 0 lacks 9.delta ({ABSENT}), and 3 more files; the "
        "files of every partition end at version 8, as in a copy whose logs are newer than its "
        "state."
    )
    assert (result.back, result.ends) == (7, (8, 8))


def test_unreadable_offsets_of_an_unfinished_batch_show_no_copy(tmp_path: Path) -> None:
    wrote = ("state/0/0/5.delta", "state/0/1/5.delta")
    result = restart(copy(tmp_path, "3.5.9/uncommitted", *wrote, cut=("offsets/4",)))
    assert result.sentence == (
        "Cannot restart (batch 4, which has no commit): Spark needs offsets/4, which cannot be "
        "read (IllegalStateException)."
    )
    assert (result.back, result.ends) == (3, None)


def test_partitions_that_end_apart_show_a_copy_of_a_running_query(tmp_path: Path) -> None:
    gone = ("state/0/0/8.delta", "state/0/0/9.delta", "state/0/0/10.delta")
    result = restart(copy(tmp_path / "torn", PLAIN, *gone))
    assert result.sentence.endswith(
        "; the files of partitions end at versions 7 to 10, as in a copy made while the query ran."
    )
    # The files of an operator that a restart took out of the query end at an older version.
    case, last = "3.5.9/agg_two_levels", "state/0/0/12.delta"
    ended = [f"state/1/{part}/{n}.delta" for part in (0, 1) for n in range(7, 13)]
    result = restart(copy(tmp_path / "ended", case, last, *ended))
    assert "lacks 12.delta" in result.sentence
    assert "copy made while" not in result.sentence
    # After a failed batch, the versions of partitions differ by one.
    assert restart(copy(tmp_path / "failed", PLAIN, gone[-1])).ends is None


def test_newest_restorable_batch_is_named(tmp_path: Path) -> None:
    gone, cut = "state/0/1/9.delta", "state/0/0/7.delta"
    damaged = copy(tmp_path / "a", PLAIN, gone, cut=(cut,))
    result = restart(damaged)
    assert (result.back, result.ends) == (5, None)
    audited = api.audit(str(damaged))
    command = "inspector copy PATH NEW --batch 5 --sink-has-no-batch-ids"
    (missing,) = findings_with_id(audited, "SS101")
    assert f"go back to batch 5 in a copy ({command})" in missing.next_step
    assert "skips the batches after it" in missing.next_step
    (unrestorable, *_) = findings_with_id(audited, "SS105")
    assert unrestorable.next_step.startswith("go back to batch 5 in a copy")
    target = tmp_path / "copied"
    api.copy(str(damaged), str(target), api.Options(batch=5), sink_has_no_batch_ids=True)
    assert restart(target).possible is True
    assert restart(copy(tmp_path / "b", PLAIN, "state/0/1/1.delta")).back is None
    lost = copy(tmp_path / "c", PLAIN, "metadata", cut=("state/0/1/10.delta",))
    assert restart(lost).back is None  # a copy would lack the metadata too


def test_next_step_for_an_empty_log_entry(tmp_path: Path) -> None:
    root = copy(tmp_path, PLAIN)
    (root / "offsets/10").touch()
    (finding,) = findings_with_id(api.audit(str(root)), "SS102")
    assert finding.next_step.startswith("remove offsets/10 and its checksum file while")
    (root / "offsets/10").unlink()
    assert restart(root).possible is True


def test_next_step_for_state_without_logs(tmp_path: Path) -> None:
    audited = api.audit(str(copy(tmp_path, PLAIN, "offsets", "commits")))
    (finding,) = findings_with_id(audited, "SS111")
    assert finding.next_step.startswith("restore offsets and commits;")


def test_a_join_needs_all_its_stores(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, "3.5.9/join_left_outer", "state/0/1/left-keyToNumValues"))
    assert f"partition 1 lacks 1.delta of left-keyToNumValues ({ABSENT})" in result.sentence
    file = "state/0/0/right-keyWithIndexToValue/8.delta"
    result = restart(copy(tmp_path / "other", "3.5.9/join_left_outer", file))
    assert f"partition 0 lacks 8.delta of right-keyWithIndexToValue ({ABSENT})" in result.sentence


def test_a_batch_that_runs_again_needs_the_entry_before_it(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, "3.5.9/uncommitted", "offsets/3"))
    assert "the checkpoint lacks offsets/3 (IllegalStateException)" in result.sentence


def test_unreadable_log_entry_stops_spark(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, PLAIN, cut=("commits/9",)))
    assert "Spark needs commits/9, which cannot be read" in result.sentence


def test_a_snapshot_of_rocksdb_needs_its_table_files(tmp_path: Path) -> None:
    case = "4.3.0/rocksdb_agg_update_zips_one"
    (*_, newest) = sorted((FIXTURES / case / "checkpoint/state/0/0").glob("SSTs/*.sst"))
    name = f"SSTs/{newest.name}"
    lost, cut = copy(tmp_path / "lost", case, f"state/0/0/{name}"), tmp_path / "cut"
    table = f"{name} of 8.zip"
    assert restart(lost).sentence.endswith(f"lacks {table} (CANNOT_LOAD_STATE_STORE).")
    result = restart(copy(cut, case, cut=(f"state/0/0/{name}",)))
    assert f"needs {table}, which cannot be read (CANNOT_LOAD_STATE_STORE)" in result.sentence
    result = restart(copy(tmp_path / "zip", case, cut=("state/0/0/8.zip",)))
    assert "partition 0 needs 8.zip, which cannot be read (CANNOT_LOAD_" in result.sentence
    result = restart(copy(tmp_path / "absent", case, "state/0/0/8.zip"))
    assert "partition 0 lacks 8.zip (CANNOT_READ_STREAMING_STATE_FILE)" in result.sentence


def test_a_store_of_rocksdb_needs_its_changelogs(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, ROCKSDB, "state/0/1/8.changelog"))
    assert "CANNOT_READ_STREAMING_STATE_FILE" in result.sentence


@pytest.mark.parametrize(
    ("planned_by", "possible", "words"),
    [
        ("4.0", True, "yes with Spark before 4.1, from 6.zip and 2 changelogs; no with Spark 4.1"),
        ("4.2", False, "Spark refuses the snapshots of Spark 4.0 (CANNOT_READ_CHECKPOINT)."),
    ],
)
def test_snapshots_of_spark_4_0_are_refused_by_later_releases(
    planned_by: str, possible: bool, words: str, tmp_path: Path
) -> None:
    root = copy(tmp_path, FORMAT_2)
    as_spark_4_0(root)
    if planned_by == "4.0":
        for entry in (root / "offsets").iterdir():
            entry.write_text(entry.read_text().replace("rowChecksum", "another"))
    result = restart(root)
    assert words in result.sentence
    assert (result.possible, result.is_plain) == (possible, False)


def test_a_repartitioning_that_has_not_finished_stops_spark(tmp_path: Path) -> None:
    root = copy(tmp_path, PLAIN)
    entry = (root / "offsets/9").read_text()
    (root / "offsets/10").write_text(entry.replace('partitions":"2"', 'partitions":"3"'))
    assert "the checkpoint lacks commits/10 (STREAMING_UNFINISHED" in restart(root).sentence


def test_changed_codec_in_a_log_entry_is_accepted(
    tmp_path: Path,
) -> None:
    root = copy(tmp_path, PLAIN)
    replace_in(root / "offsets/8", 'codec":"lz4"', 'codec":"zstd"')
    replace_in(root / "offsets/9", 'codec":"lz4"', 'codec":"zstd"')
    assert restart(root).possible


HDFS, TRANSFORM, TWO = "4.3.0/trouble_huge_value", "4.3.0/rocksdb_tws_processing", "agg_two_levels"
NO_METADATA = "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"
NOT_EMPTY = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"


@pytest.mark.parametrize(
    ("case", "gone", "possible", "words"),
    [
        (HDFS, ("metadata",), False, f"the checkpoint lacks metadata ({NO_METADATA})"),
        (PLAIN, ("metadata",), True, "before 4.2, from 10 deltas; no with Spark 4.2 or later: it"),
        (HDFS, ("offsets",), False, "(batch 0): the checkpoint lacks the entries of offsets"),
        (HDFS, ("offsets", "commits"), True, f"it refuses the state that is there ({NOT_EMPTY})"),
        (HDFS, ("state",), True, "yes if the query keeps no state; else no, as it needs state."),
        (
            TRANSFORM,
            ("state/0/_stateSchema",),
            False,
            "the checkpoint lacks state/0/_stateSchema/default",
        ),
        (
            TRANSFORM,
            ("state/0/_metadata",),
            False,
            "the checkpoint lacks state/0/_metadata/metadata",
        ),
        (HDFS, ("state/0/_metadata",), True, "batch 14: yes, from snapshots"),
        (HDFS, ("state/0/0/_metadata",), True, "batch 14: yes, from snapshots"),
        (f"4.3.0/{TWO}", ("state/0",), False, "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE"),
    ],
)
def test_restart_without_logs_metadata_or_schemas(
    case: str, gone: tuple[str, ...], possible: bool, words: str, tmp_path: Path
) -> None:
    """Spark 4.3, 4.1, 4.0 and 3.5 behaved the same in a restart without each of the files."""
    result = restart(copy(tmp_path, case, *gone))
    assert words in result.sentence
    assert result.possible is possible


def test_commits_without_offsets_stop_spark(tmp_path: Path) -> None:
    result = restart(copy(tmp_path, PLAIN, "offsets"))
    assert "(batch 0): the checkpoint lacks the entries of offsets" in result.sentence
    assert result.possible is False


def test_file_source_without_its_log_does_not_start(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(troubled("trouble_agg_no_watermark"), root)
    assert restart(root).possible
    shutil.rmtree(root / "sources")
    assert "the checkpoint lacks sources/0" in restart(root).sentence
    (result,) = findings_with_id(api.audit(str(root)), "SS120")
    assert result.severity is Severity.ERROR
    assert result.next_step == "restore what is missing from a backup"


def test_restart_with_an_unlistable_source_log_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(troubled("trouble_agg_no_watermark"), root)
    checkpoint = open_checkpoint(str(root))
    listed = type(checkpoint.storage).list

    def deny(storage: Any, path: str, **options: Any) -> Any:
        if path.startswith("sources"):
            raise PermissionError(path)
        return listed(storage, path, **options)

    monkeypatch.setattr(type(checkpoint.storage), "list", deny)
    result = restart_of(checkpoint)
    assert (result.possible, result.unknown) == (None, 1)
    assert "1 file that it loads could not be read here" in result.sentence


@pytest.mark.parametrize("gone", ["7", "3"])
def test_file_source_needs_each_entry_of_its_log(gone: str, tmp_path: Path) -> None:
    """Spark 4.3 failed with ``batch 7 doesn't exist``."""
    root = tmp_path / "checkpoint"
    shutil.copytree(troubled("trouble_agg_no_watermark"), root)
    (root / "sources/0" / gone).unlink()
    assert f"the checkpoint lacks sources/0/{gone}." in restart(root).sentence
    # Entries before a compact entry are not read.
    (root / "sources/0/6").rename(root / "sources/0/6.compact")
    assert restart(root).possible is (gone == "3")


@pytest.mark.parametrize(
    ("case", "batch", "possible", "severity", "end"),
    [
        (
            PLAIN,
            9,
            True,
            Severity.WARNING,
            "the query restarts without it, and runs batch 9 again.",
        ),
        (FORMAT_2, 7, False, Severity.ERROR, "commit."),
    ],
)
def test_two_lost_commits_run_one_batch_again(
    case: str, batch: int, possible: bool, severity: Severity, end: str, tmp_path: Path
) -> None:
    """Spark 4.3 did the same. With checkpoint format 2, commits have the ids of the state."""
    root = copy(tmp_path, case, f"commits/{batch}", f"commits/{batch - 1}")
    result = restart(root)
    assert (result.batch, result.again, result.possible) == (batch, True, possible)
    (lost,) = findings_with_id(api.audit(str(root)), "SS111")
    assert lost.severity is severity
    assert lost.cause.endswith(end)
    shutil.rmtree(root / "commits")
    assert restart(root).possible is possible


@pytest.mark.parametrize(
    ("gone", "cut"), [(("commits/5",), ()), ((), ("commits/5",)), (("state/0/_metadata",), ())]
)
def test_missing_files_that_no_restart_reads_are_warnings(
    gone: tuple[str, ...], cut: tuple[str, ...], tmp_path: Path
) -> None:
    """Spark 4.3 continued without each of these files, with equal rows."""
    report = api.audit(str(copy(tmp_path, HDFS, *gone, cut=cut)))
    assert report.verdict is not None
    assert report.verdict.level.value == "warning"
    (result,) = [*findings_with_id(report, "SS102"), *findings_with_id(report, "SS111")]
    assert result.cause.endswith("; the query restarts without it.")
    assert result.next_step == "nothing is needed to go on"


def test_batch_without_data_shows_a_missing_operator(tmp_path: Path) -> None:
    """A limit requests no batch without data."""
    root = copy(tmp_path, "4.3.0/limit_after_dedup", "state/1")
    assert restart(root).possible
    offsets, commit = (root / "offsets/7").read_text(), (root / "commits/7").read_text()
    risen = re.sub(r'"nextBatchWatermarkMs":\d+', '"nextBatchWatermarkMs":1000', commit)
    forget_checksum(root / "commits/7").write_text(risen)
    (root / "commits/8").write_text(risen)
    (root / "offsets/8").write_text(
        re.sub(r'"batchWatermarkMs":\d+', '"batchWatermarkMs":1000', offsets)
    )
    messages = "\n".join(attributes(api.verify(str(root)).problems, "message"))
    assert "which none of these operators asks for" in messages


def test_repartitioning_of_hdfs_backed_state_is_a_finding(tmp_path: Path) -> None:
    root = copy(tmp_path, "4.3.0/agg_update")
    repartitioning_begun(root)
    report = api.verify(str(root))
    assert set(finding_ids(report)) == {"SS119"}
    messages = "\n".join(attributes(report.problems, "message"))
    assert "Spark repartitions no HDFS-backed state" in messages
    assert "STREAMING_UNFINISHED_REPARTITION_DETECTED" in restart(root).sentence
