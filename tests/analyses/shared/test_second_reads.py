"""Reports about a query that runs while its checkpoint is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
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
from tests.attributes import attributes
from tests.checkpoint_files import contents_below, remove_paths
from tests.cli.support import checkpoint_of, copy_of
from tests.faults import before_each_read
from tests.growing import Growing
from tests.profiles import crossed
from tests.reports import cell_values, damage_ids, findings_with_id, rows_of_table, slugs

CASES = ("trouble_future_watermark", "trouble_join_without_range")
"""An aggregation and a join, of 14 batches each, with every delta."""


class Running(Growing):
    """A query that writes batches and removes the files before its snapshots.

    Attributes:
        batch: the newest batch.
    """

    def __init__(self, case: str, folder: Path, batch: int) -> None:
        super().__init__(case, folder)
        self.batch = batch
        self.run(*range(batch + 1))

    def run_next(self) -> None:
        """Write one more batch, and clean up if a snapshot is two versions old."""
        self.batch += 1
        self.run(self.batch)
        if self.batch == 12:
            self._remove_deltas("state/0/0", 10)
        if self.batch == 13:
            self._remove_deltas("state/0/1", 11)

    def _remove_deltas(self, folder: str, newest: int) -> None:
        for version in range(1, newest + 1):
            for path in (self.root / folder).rglob(f"{version}.delta"):
                path.unlink()


def sizes(report: Report) -> list[tuple[Any, ...]]:
    """Return rows and bytes of each store."""
    table = rows_of_table(report, "sizes")
    return cell_values(table, "store_name", "rows", "key_bytes", "value_bytes")


def running_before_reads(query: Running, first: int) -> Callable[[Storage, str], None]:
    """Run a batch before each read of a state file from this one on, up to batch 13."""
    reads = 0

    def act(_storage: Storage, relative: str) -> None:
        nonlocal reads
        reads += relative.endswith((".delta", ".snapshot"))
        if reads >= first and query.batch < 13:
            query.run_next()

    return act


def test_running_query_without_second_reads_is_reported_as_damage(tmp_path: Path) -> None:
    """The fault that these tests inject: a file is removed between its listing and its read."""
    query = Running(CASES[0], tmp_path, 10)
    run = replace(Run.start(str(query.root), api.Options(workers=1)), reopen=None)
    with before_each_read(running_before_reads(query, 1)):
        assert set(slugs(run.problems(run.facts()))) == {"vanished"}


@pytest.mark.parametrize(("case", "first", "begin"), crossed(CASES, (1, 2, 7, 13, 30), (10, 11)))
def test_running_query_is_no_damage(case: str, first: int, begin: int, tmp_path: Path) -> None:
    query = Running(case, tmp_path, begin)
    with before_each_read(running_before_reads(query, first)):
        report = api.audit(str(query.root), api.Options(workers=1))
    options = api.Options(batch=report.summary["batch_id"])
    assert sizes(report) == sizes(api.audit(str(checkpoint_of(case)), options))
    assert damage_ids(report) <= {"SS108"}
    severities = set(attributes(findings_with_id(report, "SS108"), "severity"))
    assert severities <= {Severity.INFO}
    assert report.complete


def test_newest_batch_replaces_a_removed_batch(tmp_path: Path) -> None:
    query = Running(CASES[0], tmp_path, 10)
    with before_each_read(running_before_reads(query, 1)):
        report = api.audit(str(query.root), api.Options(workers=1))
    assert report.summary["batch_id"] == 13
    (result,) = findings_with_id(report, "SS108")
    assert "the newest batch, 13, is judged instead" in result.evidence


class Reading:
    """A run of one task in which a delta vanishes during each read.

    Args:
        vanished: the version of the delta that vanishes, for each read in order; 0 for none.

    Attributes:
        read: the versions of the deltas that each read was to cover.
    """

    reopen = True

    def __init__(self, *vanished: int) -> None:
        self.vanished, self.read, self.notes = vanished, list[list[int]](), list[Problem]()
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
        gone = deltas.get(Version(self.vanished[len(self.read) - 1]))
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
    assert attributes(outpaced.notes, "slug") == ["outpaced"]
    complete = Reading(1, 0)
    assert complete.doubts() == 0
    assert complete.notes[0].message == (
        "1 partition lost files while they were being read, and was listed and read again; nothing "
        "is missing from this report"
    )


def test_file_unreadable_twice_is_a_problem() -> None:
    reading = Reading(1, 1, 1, 1)
    assert reading.doubts() == 1
    assert [len(read) for read in reading.read] == [14] * 4


def test_requested_batch_is_not_replaced(tmp_path: Path) -> None:
    query = Running(CASES[0], tmp_path, 10)
    with before_each_read(running_before_reads(query, 1)):
        report = api.audit(str(query.root), api.Options(workers=1, batch=10))
    assert report.summary["batch_id"] == 10
    assert damage_ids(report) == {"SS108"}
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
    query = Running(CASES[1], tmp_path, 11)
    with before_each_read(snapshots_and_cleanup_before_the_first_read(query)):
        result = read(query.root)
    assert result == read(checkpoint_of(CASES[1]))
    assert result[0] != []


def snapshots_and_cleanup_before_the_first_read(query: Running) -> Callable[[Storage, str], None]:
    """Remove the snapshots; before the first read of a delta, restore them and run a batch."""
    snapshots = contents_below(query.root, "**/*.snapshot")
    remove_paths(query.root, "**/*.snapshot")

    def act(_storage: Storage, relative: str) -> None:
        if relative.endswith(".delta") and query.batch == 11:
            for path, content in snapshots.items():
                (query.root / path).write_bytes(content)
            query.run_next()

    return act


def test_streamed_rows_without_more_reads_are_an_error(tmp_path: Path) -> None:
    query = Running(CASES[1], tmp_path, 11)
    with (
        before_each_read(snapshots_and_cleanup_before_the_first_read(query)),
        mock.patch.multiple(stores, MORE_LOOKS=0),
        pytest.raises(OutpacedError),
    ):
        _rows(query.root)


def test_damage_seen_by_both_reads_is_reported(tmp_path: Path) -> None:
    root = copy_of("snapshot_in_middle", tmp_path)
    (root / "state/0/0/2.delta").write_bytes(b"LZ4Block")
    report = api.audit(str(root), api.Options(workers=1))
    assert damage_ids(report) == {"SS102"}


@pytest.mark.parametrize(
    ("folder", "absent"),
    [
        ("state/0/0", ("5.delta", "7.delta")),  # cleanup removes file by file
        ("offsets", ("3", "5")),
    ],
)
def test_listing_with_a_gap_is_repeated(
    folder: str, absent: tuple[str, ...], tmp_path: Path
) -> None:
    root = copy_of(CASES[0], tmp_path)
    listed, gaps = Storage._listing, [absent]

    def with_gap(self: Storage, relative: str) -> tuple[Entry, ...]:
        result = listed(self, relative)
        if relative != folder or not gaps:
            return result
        names = gaps.pop()
        return tuple(entry for entry in result if entry.name not in names)

    with mock.patch.object(Storage, "_listing", with_gap):
        report = api.audit(str(root), api.Options(workers=1))
    assert gaps == []
    assert damage_ids(report) == {"SS108"}
    assert report.complete
