"""Restarts as the offsets and logs of sources allow them, observed with Spark 4.3.0."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.log_entries import OffsetEntry, Setback, source_offsets
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.restart import Restart, restart_of
from inspector.findings.finding import Finding
from inspector.findings.integrity.ss127_foreign_source import ForeignSource
from inspector.findings.integrity.ss128_offset_back import OffsetBack
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.judged_version import Context
from inspector.merge.collect import Facts
from tests.discovery.test_source_logs import file_offset, write_checkpoint


def setbacks(root: Path) -> list[Finding]:
    """Return the findings about offsets of a checkpoint that go back."""
    return list(OffsetBack().findings(view_of(root)))


def foreign_sources(root: Path) -> list[Finding]:
    """Return the findings about entries of source logs that name foreign files."""
    return list(ForeignSource().findings(view_of(root)))


def view_of(root: Path) -> CheckpointView:
    """Return a view of the newest version of a checkpoint, without facts of its state."""
    checkpoint = open_checkpoint(str(root))
    context = Context(restart=restart_of(checkpoint))
    return CheckpointView(checkpoint, checkpoint.newest_version, Facts(), context)


KAFKA = '{{"t":{{"0":{},"1":{}}}}}'
DELTA = '{{"sourceVersion":1,"reservoirId":"{}","reservoirVersion":{},"index":-1}}'
RATE = '{{"offset":{},"timestamp":0}}'


def restart(root: Path, offsets: Sequence[str], *, committed: bool = True) -> Restart:
    """Return the restart of a query of one source with one log entry for each offset."""
    logs = {"0": range(10)} if offsets[0].startswith('{"logOffset"') else {}
    write_checkpoint(root, [[offset] for offset in offsets], logs)
    if not committed:
        (root / "commits" / str(len(offsets) - 1)).unlink()
    return restart_of(open_checkpoint(str(root)))


SENTENCES = {
    True: ": yes",
    False: ", in which source 0 goes back from",
    None: "unknown, because source 0",
}


@pytest.mark.parametrize(
    ("offsets", "committed", "possible"),
    [
        ([file_offset(1), file_offset(3), file_offset(2)], True, False),
        ([file_offset(1), file_offset(3), file_offset(2)], False, False),
        # Older entries are not compared.
        ([file_offset(3), file_offset(2), file_offset(3)], True, True),
        ([file_offset(1), file_offset(2), file_offset(2)], True, True),
        ([file_offset(1), "-", file_offset(0)], True, True),
        ([file_offset(2), file_offset(1), "-"], True, True),
        (["5", "7", "6"], True, True),  # rate
        (["5", "7", "6"], False, None),
        ([RATE.format(7), RATE.format(6)], True, True),
        ([RATE.format(7), RATE.format(6)], False, False),
        ([KAFKA.format(7, 7), KAFKA.format(6, 6)], True, True),
        ([KAFKA.format(7, 7), KAFKA.format(6, 6)], False, None),
        ([DELTA.format("a", 7), DELTA.format("a", 6)], True, None),
        ([DELTA.format("a", 7), DELTA.format("b", 8)], True, None),
        ([DELTA.format("a", 6), DELTA.format("a", 6)], False, True),
    ],
)
def test_restart_with_an_offset_that_goes_back(
    tmp_path: Path, offsets: list[str], *, committed: bool, possible: bool | None
) -> None:
    result = restart(tmp_path, offsets, committed=committed)
    assert result.possible is possible
    assert SENTENCES[possible] in result.sentence


@pytest.mark.parametrize(
    ("before", "after", "setback"),
    [
        (KAFKA.format(5, 7), KAFKA.format(5, 6), ("7 (partition 1 of topic t)", "6")),
        ('{"t": {"0": 500}}', '{"t": {"0": 120}}', ("500 (partition 0 of topic t)", "120")),
        (KAFKA.format(5, 7), '{"t":{"0":5}}', None),  # a partition that is gone
        ('{"t":{"0":5}}', KAFKA.format(5, 0), None),  # a partition that appears
        (KAFKA.format(5, 7), '{"u":{"0":1}}', None),
        (KAFKA.format(5, 7), KAFKA.format(-1, -2), None),  # the latest and the earliest
        (DELTA.format("a", 5), DELTA.format("b", 5), ("table a", "table b")),
        (DELTA.format("a", 5), DELTA.format("a", 4), ("version 5", "version 4")),
        (DELTA.format("a", 5), DELTA.format("a", 5), None),
        (DELTA.format("a", 5), '{"reservoirVersion":"x"}', None),
        (file_offset(3), file_offset(2), ("3", "2")),
        (file_offset(3), "2", None),
        ("9", "10", None),
        ("10", "9", ("10", "9")),
        ("[1]", "[0]", None),  # an unknown kind of source
    ],
)
def test_offsets_that_are_behind_the_ones_before(
    before: str, after: str, setback: tuple[str, str] | None
) -> None:
    (source_offset,) = source_offsets(
        OffsetEntry(sources={"0": after}), OffsetEntry(sources={"0": before})
    )
    found = source_offset.setback
    assert (found and (found.before, found.after)) == setback


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_offsets_are_compared(before: str, after: str) -> None:
    (source_offset,) = source_offsets(
        OffsetEntry(sources={"0": after}), OffsetEntry(sources={"0": before})
    )
    assert source_offset.setback is None or isinstance(source_offset.setback, Setback)


def test_a_finding_names_the_newest_batch_that_goes_back(tmp_path: Path) -> None:
    offsets = [[KAFKA.format(n, n)] for n in (5, 3, 4, 2, 9)]
    write_checkpoint(tmp_path, offsets, {})
    (setback,) = setbacks(tmp_path)
    assert setback.kind.id == "SS128"
    assert setback.cause.startswith("Source 0 (Kafka topic t) goes back in batch 3, from 4 (parti")
    assert setback.evidence.endswith("2 in offsets/3; 2 batches in all")


def test_offsets_of_an_appended_batch_are_not_compared(tmp_path: Path) -> None:
    """A repartitioning after a failed batch has the offsets of the batch before that batch."""
    write_checkpoint(tmp_path, [[file_offset(n)] for n in (1, 2, 1)], {"0": range(3)})
    for batch, clock, partitions, offset in ((0, 0, 2, 1), (1, 5, 2, 2), (2, 0, 3, 1)):
        conf = f'{{"spark.sql.shuffle.partitions":"{partitions}"}}'
        header = f'{{"batchWatermarkMs":0,"batchTimestampMs":{clock},"conf":{conf}}}'
        entry = f"v1\n{header}\n{file_offset(offset)}"
        (tmp_path / "offsets" / str(batch)).write_text(entry)
    checkpoint = open_checkpoint(str(tmp_path))
    assert checkpoint.logs.repartitions
    assert setbacks(tmp_path) == []


def write_entries(root: Path, entries: Mapping[int | str, Sequence[str]]) -> None:
    """Write a source log of these files; the name of an entry may end with ``.compact``."""
    for name, files in entries.items():
        number = int(str(name).partition(".")[0])
        lines = [json.dumps({"path": f, "timestamp": 1, "batchId": number}) for f in files]
        (root / f"sources/0/{name}").write_text("\n".join(["v1", *lines]))


IN = ["file:///in/a"]


@pytest.mark.parametrize(
    ("entries", "foreign"),
    [
        ({2: ["file:///other/b"]}, True),
        ({2: IN, 3: ["file:///in/c", "file:///other/b"]}, True),
        ({2: ["file:///in/day/b"]}, False),  # below the folder
        ({2: ["file:/in/b"], 3: ["/in/c"]}, False),  # other spellings of the folder
        ({2: ["file:///in2/b"]}, False),  # Spark compares the beginnings of the paths
        ({2: ["s3://in/b"]}, True),
        ({1: ["file:///in/p=1/a"], 2: ["file:///in/p=2/b"]}, False),  # partition columns
        ({1: ["file:///in/p=1/q=2/a"], 2: ["file:///other/p=2/b"]}, True),
        ({0: ["file:///in/x/a"], 1: ["file:///in/y/a"], 2: ["file:///in/z/a"]}, False),
        ({0: ["file:///in/x/a"], 1: ["file:///in/y/a"], 2: ["file:///other/a"]}, True),
        ({0: ["file:///x/a"], 1: ["file:///y/a"], 2: ["file:///other/a"]}, False),  # {x,y,...}
        ({0: ["s3a://b/in/a"], 1: ["s3a://b/in/b"], 2: ["s3://b/in/c"]}, False),
        ({0: ["s3a://b/in/a"], 1: ["s3a://b/in/b"], 2: ["s3a://other/in/c"]}, True),
        ({1: ["file:///other/b"]}, False),  # a finished batch has read it
        ({2: []}, False),
        ({2: ["file:///other/b"], 3: ["x" * (2 << 20)]}, True),
        ({2: ["x" * (2 << 20)]}, False),  # one line is too long to compare
        ({2: ["file:///other/b", *["file:///in/c"] * 40_000]}, True),  # the beginning shows it
    ],
)
def test_files_that_no_finished_batch_has_read_outside_the_folder(
    tmp_path: Path, entries: Mapping[int | str, Sequence[str]], *, foreign: bool
) -> None:
    write_checkpoint(tmp_path, [[file_offset(0)], [file_offset(1)]], {"0": []})
    write_entries(tmp_path, {0: IN, 1: IN, **entries})
    result = restart_of(open_checkpoint(str(tmp_path)))
    assert result.possible is (None if foreign else True)
    assert len(foreign_sources(tmp_path)) == foreign
    assert ('Spark fails with "Wrong basePath" unless' in result.sentence) is foreign


def test_new_file_outside_the_common_folder_of_several_is_foreign(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, [[file_offset(0)], [file_offset(1)]], {"0": []})
    write_entries(tmp_path, {0: ["file:///in/x/a"], 1: ["file:///in/y/a"], 2: ["file:///b/a"]})
    assert restart_of(open_checkpoint(str(tmp_path))).possible is None
    write_entries(tmp_path, {2: ["file:///in/z/a"]})
    assert restart_of(open_checkpoint(str(tmp_path))).possible is True


def test_folders_in_a_compact_entry_are_compared(tmp_path: Path) -> None:
    """The source has one folder a day, and the newest entry names the first file of a day."""
    offsets = [[file_offset(n)] for n in range(16)]
    write_checkpoint(tmp_path, offsets, {"0": []})
    days = {n: [f"file:///in/2026-11-{11 + n // 8}/{n}"] for n in range(17)}
    write_entries(tmp_path, {f"{n}.compact" if n == 9 else n: days[n] for n in days})
    assert restart_of(open_checkpoint(str(tmp_path))).possible is None
    lines = [f'{{"path":"{days[n][0]}","timestamp":1,"batchId":{n}}}' for n in range(10)]
    (tmp_path / "sources/0/9.compact").write_text("\n".join(["v1", *lines]))
    assert restart_of(open_checkpoint(str(tmp_path))).possible is True


@given(data=st.binary(max_size=300))
def test_any_entry_of_a_source_log_is_compared(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    root = tmp_path_factory.mktemp("entry") / "checkpoint"
    write_checkpoint(root, [[file_offset(0)], [file_offset(1)]], {"0": []})
    write_entries(root, {0: IN, 1: IN})
    (root / "sources/0/2").write_bytes(b"v1\n" + data)
    assert restart_of(open_checkpoint(str(root))).possible in (True, None)
    (root / "sources/0/1").write_bytes(data)
    assert restart_of(open_checkpoint(str(root))).possible in (True, None)


def test_next_step_for_an_unfinished_batch_with_foreign_files(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, [[file_offset(n)] for n in range(3)], {"0": []})
    write_entries(tmp_path, {0: IN, 1: IN, 2: ["file:///other/b"]})
    assert restart_of(open_checkpoint(str(tmp_path))).possible is True  # it was finished
    (tmp_path / "commits/2").unlink()
    (finding,) = foreign_sources(tmp_path)
    assert "delete sources/0/2, all newer entries of this log, offsets/2, and the checksum" in (
        finding.next_step
    )
    assert finding.evidence.startswith("sources/0/2 names files of /other; ")  # and no file
    # Without the entry of the offset log the batch is planned again, and reads these files.
    (tmp_path / "offsets/2").unlink()
    (finding,) = foreign_sources(tmp_path)
    assert "delete sources/0/2, all newer entries of this log, and the checksum" in (
        finding.next_step
    )
    # A compact entry repeats the older ones.
    (tmp_path / "sources/0/2").rename(tmp_path / "sources/0/2.compact")
    (finding,) = foreign_sources(tmp_path)
    assert "delete the lines of /other in sources/0/2.compact" in finding.next_step


@pytest.mark.parametrize(
    ("offsets", "gone", "possible"),
    [
        ((0, 1, 2, 2), "2", None),  # Spark wrote it again, or failed where the file was gone
        ((0, 1, 1, 2), "2", False),
        ((0, 1, 2, 2), "1", False),
        ((0, 0), "0", None),
        ((0,), "0", False),
    ],
)
def test_a_lost_newest_entry_that_the_last_batch_did_not_read(
    tmp_path: Path, offsets: tuple[int, ...], gone: str, *, possible: bool | None
) -> None:
    write_checkpoint(tmp_path, [[file_offset(n)] for n in offsets], {"0": range(max(offsets) + 1)})
    (tmp_path / "sources/0" / gone).unlink()
    result = restart_of(open_checkpoint(str(tmp_path)))
    assert result.possible is possible
    rewrites = "is missing: Spark writes it again if it finds the files again" in result.sentence
    assert rewrites is (possible is None)
