"""A query that runs while it is read: every batch that is judged is whole, and nothing is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared import second_reads, stores
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import store_tables
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Task
from inspector.exceptions import OutpacedError
from inspector.facts.checks import ReadProblem
from inspector.facts.registry import fact_batches
from inspector.findings.finding import Severity
from inspector.model import READABLE, FileKind, Problem, Version
from inspector.render.report import Report
from tests.cli.support import checkpoint_of
from tests.faults import before_each_read
from tests.profiles import crossed

CASES = ("trouble_future_watermark", "trouble_join_without_range")
"""An aggregation and a join, of 14 batches each, with every delta."""

RETAINED = 2
"""Batches that the query of these tests keeps besides the newest."""


class Living:
    """A copy of a checkpoint that a query writes on: batches come, and old files go.

    Versions can be restored from a snapshot on. Where Spark has made none in so short a life, that
    is from the first delta: those are never removed.

    Args:
        whole: the checkpoint at its end. root: the copy. batch: the newest at the beginning.
    """

    def __init__(self, complete: Path, root: Path, batch: int) -> None:
        self.whole, self.root, self.batch = complete, root, batch
        shutil.copytree(complete, root)
        for log in ("offsets", "commits"):
            for path in (root / log).iterdir():
                if int(path.name.strip(".").split(".")[0]) > batch:
                    path.unlink()
        for path in self._state_files(root):
            if self._version(path) > batch + 1:
                path.unlink()

    def go_on(self) -> None:
        """One more batch, and what Spark's cleanup does after it."""
        self.batch += 1
        for path in self._state_files(self.whole):
            if self._version(path) == self.batch + 1:
                shutil.copy(path, self.root / path.relative_to(self.whole))
        for log in ("offsets", "commits"):
            for name in (str(self.batch), f".{self.batch}.crc"):
                if (self.whole / log / name).exists():
                    shutil.copy(self.whole / log / name, self.root / log / name)
        self.clean_up()

    def clean_up(self) -> None:
        """Remove what no retained version needs (``HDFSBackedStateStoreProvider.cleanup``)."""
        for folder in {path.parent for path in self._state_files(self.root)}:
            oldest = self.batch + 1 - RETAINED
            snapshots = [self._version(path) for path in folder.glob("[0-9]*.snapshot")]
            base = max((version for version in snapshots if version <= oldest), default=0)
            for path in self._state_files(folder):
                if self._version(path) < base:
                    path.unlink()

    @staticmethod
    def _state_files(folder: Path) -> list[Path]:
        kinds = ("delta", "snapshot", "crc")
        return [
            path
            for kind in kinds
            for path in folder.rglob(f"*.{kind}")
            if "/state/" in str(path) and Living._version(path) >= 0
        ]

    @staticmethod
    def _version(path: Path) -> int:
        number = path.name.strip(".").split(".")[0]
        return int(number) if number.isdigit() else -1


def sizes(report: Report) -> Mapping[str, Any]:
    """Store -> its rows and bytes."""
    table = next(table for table in report.tables if table.name == "sizes")
    return {
        row["store_name"]: (row["rows"], row["key_bytes"], row["value_bytes"]) for row in table.rows
    }


def moving(living: Living, at: Callable[[int], bool]) -> Callable[[Storage, str], None]:
    """Before some reads of state files the query goes on."""
    reads = 0

    def act(_storage: Storage, relative: str) -> None:
        nonlocal reads
        if relative.endswith((".delta", ".snapshot")):
            reads += 1
            if at(reads) and living.batch < 13:
                living.go_on()

    return act


def test_running_query_without_second_reads_is_reported_as_damage(tmp_path: Path) -> None:
    """The means of these tests: what is read at first is not what was listed."""
    living = Living(checkpoint_of(CASES[0]), tmp_path / "checkpoint", 10)
    run = replace(Run.start(str(living.root), api.Options(workers=1)), reopen=None)
    with before_each_read(moving(living, lambda _: True)):
        assert {problem.slug for problem in run.problems(run.facts())} == {"vanished"}


@pytest.mark.parametrize(("case", "at", "begin"), crossed(CASES, (1, 2, 7, 13, 30), (10, 11)))
def test_running_query_is_no_damage(case: str, at: int, begin: int, tmp_path: Path) -> None:
    checkpoint = checkpoint_of(case)
    living = Living(checkpoint, tmp_path / "checkpoint", begin)
    with before_each_read(moving(living, lambda reads: reads >= at)):
        report = api.audit(str(living.root), api.Options(workers=1))
    expected = api.audit(str(checkpoint), api.Options(batch=report.summary["batch_id"]))
    assert sizes(report) == sizes(expected)
    assert {finding.kind.id for finding in report.findings if finding.kind.id < "SS2"} <= {"SS108"}
    assert all(f.severity is Severity.INFO for f in report.findings if f.kind.id == "SS108")
    assert report.complete


def test_newest_batch_replaces_a_removed_batch(tmp_path: Path) -> None:
    living = Living(checkpoint_of(CASES[0]), tmp_path / "checkpoint", 10)
    with before_each_read(moving(living, lambda reads: reads >= 1)):
        report = api.audit(str(living.root), api.Options(workers=1))
    assert report.summary["batch_id"] == 13
    (result,) = [finding for finding in report.findings if finding.kind.id == "SS108"]
    assert "the newest batch, 13, is judged instead" in result.evidence


class Reading:
    """A run of one task, of which every look finds that a file has gone: a version by look.

    Attributes:
        read: versions of the deltas that each look was to read.
    """

    reopen = True

    def __init__(self, *gone: int) -> None:
        self.by_look, self.read, self.notes = gone, list[list[int]](), list[Problem]()
        checkpoint = open_checkpoint(
            str(checkpoint_of(CASES[0])), selection=Selection(partition_id=0)
        )
        (self.task,) = plan(checkpoint, checkpoint.newest_version)

    def look_again(self) -> bool:
        return False

    def note(self, problem: Problem) -> None:
        self.notes.append(problem)

    def outpaced_problem(self) -> Problem:
        return Problem("outpaced", "too slow")

    def gone(self, paths: Collection[str]) -> set[str]:
        return set(paths)

    def problems(self, tasks: Sequence[Task]) -> Iterator[pa.RecordBatch]:
        (task,) = tasks
        deltas = {f.version: f for f in task.stores[0].files if f.kind is FileKind.DELTA}
        self.read.append(sorted(version for version in deltas if version is not None))
        gone = deltas.get(Version(self.by_look[len(self.read) - 1]))
        if gone is not None:
            store = task.store_id(task.stores[0])
            problem = Problem("vanished", "gone", gone.path, version=gone.version)
            yield from fact_batches([ReadProblem.observe(problem, store, task.version)])

    def doubts(self) -> int:
        run: Any = self
        return len(list(second_reads.read_observations(run, lambda: [self.task], self.problems)))


def test_last_reads_skip_files_that_cleanup_removes() -> None:
    reading = Reading(1, 2, 3, 4)
    assert reading.doubts() == 0
    every, newest = list(range(1, 15)), list(range(11, 15))
    assert reading.read == [every, every, newest], "there is 11.snapshot"
    (note,) = reading.notes
    assert "only what older versions changed is missing from this report" in note.message
    outpaced = Reading(1, 2, 12, 13)
    assert outpaced.doubts() == 0
    assert [note.slug for note in outpaced.notes] == ["outpaced"]
    complete = Reading(1, 0)
    assert complete.doubts() == 0
    assert "; nothing is missing from this report" in complete.notes[0].message


def test_file_unreadable_twice_is_a_problem() -> None:
    reading = Reading(1, 1, 1, 1)
    assert reading.doubts() == 1
    assert [len(read) for read in reading.read] == [14] * 4


def test_requested_batch_is_not_replaced(tmp_path: Path) -> None:
    living = Living(checkpoint_of(CASES[0]), tmp_path / "checkpoint", 10)
    with before_each_read(moving(living, lambda reads: reads >= 1)):
        report = api.audit(str(living.root), api.Options(workers=1, batch=10))
    assert report.summary["batch_id"] == 10
    assert {finding.kind.id for finding in report.findings if finding.kind.id < "SS2"} == {"SS108"}
    (problem,) = [item for item in report.problems if item.slug not in READABLE]
    assert "batch 10 is no longer there: the query removed its files" in problem.message
    assert not report.complete


def _rows(root: Path) -> tuple[Any, ...]:
    report = api.rows(str(root), api.Options(batch=10))
    return list(report.tables[0].rows), report.problems


def _differences(root: Path) -> tuple[Any, ...]:
    report = api.diff(str(root), from_batch=10, to_batch=11)
    return sorted(report.tables[0].rows, key=str), report.problems


def _typed(root: Path) -> tuple[Any, ...]:
    tables = store_tables(str(root), api.Options(batch=10))
    read = [pa.Table.from_batches(table.batches, table.schema).to_pylist() for table in tables]
    return list(chain(*read)), [problem for table in tables for problem in table.problems]


@pytest.mark.parametrize("read", [_rows, _differences, _typed])
def test_streamed_rows_are_checked_before_the_first_row(
    read: Callable[[Path], tuple[Any, ...]], tmp_path: Path
) -> None:
    checkpoint = checkpoint_of(CASES[1])
    for looks in (3, 0):
        living = Living(checkpoint, tmp_path / str(looks), 11)
        snapshots = [path.relative_to(living.root) for path in living.root.rglob("*.snapshot")]
        for path in snapshots:
            (living.root / path).unlink()

        def go_on(
            _storage: Storage, path: str, living: Living = living, names: list[Path] = snapshots
        ) -> None:
            """The first read meets a batch, the snapshots of an older one, and the cleanup."""
            while names and path.endswith(".delta"):
                shutil.copy(checkpoint / names[-1], living.root / names.pop())
            if not names and living.batch == 11:
                living.go_on()

        with (
            before_each_read(go_on),
            mock.patch.multiple(stores, MORE_LOOKS=looks),
        ):
            if looks:
                result = read(living.root)
            else:
                with pytest.raises(OutpacedError):  # the means of this test
                    read(living.root)
    assert result == read(checkpoint)
    assert result[0] != []


def test_damage_seen_by_both_reads_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("snapshot_in_middle"), root)
    (root / "state/0/0/2.delta").write_bytes(b"LZ4Block")
    report = api.audit(str(root), api.Options(workers=1))
    assert "SS102" in {finding.kind.id for finding in report.findings}
    assert "SS108" not in {finding.kind.id for finding in report.findings}


def test_listing_with_a_gap_is_repeated(tmp_path: Path) -> None:
    """Cleanup removes file by file: a listing meanwhile has newer files without older ones."""
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of(CASES[0]), root)
    listed, first = Storage._listing, True

    def gapped(self: Storage, relative: str) -> tuple[Entry, ...]:
        nonlocal first
        result = listed(self, relative)
        if relative == "state/0/0" and first:
            first = False
            return tuple(entry for entry in result if entry.name not in ("5.delta", "7.delta"))
        return result

    with mock.patch.object(Storage, "_listing", gapped):
        report = api.audit(str(root), api.Options(workers=1))
    assert not first
    assert {f.kind.id for f in report.findings if f.kind.id < "SS2"} == {"SS108"}
    assert report.complete


def test_log_purged_during_listing_is_no_loss(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of(CASES[0]), root)
    listed, first = Storage._listing, True

    def purged(self: Storage, relative: str) -> tuple[Entry, ...]:
        nonlocal first
        result = listed(self, relative)
        if relative == "offsets" and first:
            first = False
            return tuple(entry for entry in result if entry.name not in ("3", "5"))
        return result

    with mock.patch.object(Storage, "_listing", purged):
        report = api.audit(str(root), api.Options(workers=1))
    assert not first
    assert {f.kind.id for f in report.findings if f.kind.id < "SS2"} == {"SS108"}
