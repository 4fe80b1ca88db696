"""SST files that snapshots of RocksDB share, as ``files`` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from inspector import api
from inspector.analyses.files import NOT_HERE, files
from inspector.analyses.shared.run import Run
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import cell_values, rows_of_table, table_names

if TYPE_CHECKING:
    from inspector.engines.engine import Engine

CASE = "rocksdb_tws_event"


def test_snapshot_table_of_each_partition() -> None:
    report = api.files(str(checkpoint_of(CASE)))
    rows = rows_of_table(report, "snapshots")
    names = ("partition_id", "version", "tables", "missing_tables", "new_tables", "new_bytes")
    assert cell_values(rows, *names) == [(0, 1, 1, 0, None, None), (1, 1, 1, 0, None, None)]
    assert cell_values(rows, "entries", "live_rows", "entries_per_row", "entry_bytes") == [
        (20, 20, 1, 1719),
        (25, 25, 1, 2337),
    ]
    assert (report.summary["orphan_tables"], report.summary["orphan_table_bytes"]) == (0, 0)
    assert report.summary["table_bytes"] == sum(cell_values(rows, "table_bytes"))


def test_no_snapshot_table_without_shared_files() -> None:
    report = api.files(str(checkpoint_of("agg_update")))
    assert "snapshots" not in table_names(report)
    assert "orphan_tables" not in report.summary


class ByExecutors:
    """The part of an engine that shows that its executors read the files."""

    reader = object()


def test_footnote_if_spark_reads_the_files() -> None:
    run = Run.start(str(checkpoint_of(CASE)), None)
    run.engine = cast("Engine", ByExecutors())
    report = files(run)
    assert "snapshots" not in table_names(report)
    assert list(report.footnotes) == [NOT_HERE]
    assert list(report.problems) == list(run.listed)


def test_orphaned_and_missing_sst_files(tmp_path: Path) -> None:
    path = copy_of(CASE, tmp_path)
    (table,) = (path / "state/0/0/SSTs").glob("*.sst")
    size = table.stat().st_size
    table.rename(table.with_name("000099-left-over.sst"))
    report = api.files(str(path))
    left, right = rows_of_table(report, "snapshots")
    assert (left["missing_tables"], left["entries"], left["entries_per_row"]) == (1, None, None)
    assert left["table_bytes"] == size
    assert right["missing_tables"] == 0
    assert (report.summary["orphan_tables"], report.summary["orphan_table_bytes"]) == (1, size)
    siblings = rows_of_table(report, "other_files")
    assert cell_values(siblings, "partition_id", "orphans") == [(0, 1), (1, 0)]


def test_unreadable_snapshot_is_a_problem(tmp_path: Path) -> None:
    path = copy_of(CASE, tmp_path)
    snapshot = path / "state/0/0/1.zip"
    snapshot.write_bytes(snapshot.read_bytes()[:100])
    report = api.files(str(path))
    assert len(rows_of_table(report, "snapshots")) == 1
    assert report.summary["orphan_tables"] is None
    (problem,) = report.problems
    assert (problem.path, problem.version) == (str(snapshot), 1)
