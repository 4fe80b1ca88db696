"""Table files that snapshots share, as ``files`` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inspector import api
from inspector.analyses.files import NOT_HERE, files
from inspector.analyses.shared.run import Run
from inspector.render.report import Report
from tests.cli.support import checkpoint_of, copy_of

if TYPE_CHECKING:
    from inspector.engines.engine import Engine

CASE = "rocksdb_tws_event"


def tables(report: Report) -> dict[str, list[Any]]:
    return {table.name: list(table.rows) for table in report.tables}


def test_snapshot_table_of_each_partition() -> None:
    report = api.files(str(checkpoint_of(CASE)))
    rows = tables(report)["snapshots"]
    assert [row["partition_id"] for row in rows] == [0, 1]
    for row in rows:
        assert (row["version"], row["tables"], row["missing_tables"]) == (1, 1, 0)
        assert row["new_tables"] is row["new_bytes"] is None
        assert row["entries"] == row["live_rows"]
        assert row["entries_per_row"] == 1
        assert row["entry_bytes"] > row["entries"] * 8
    assert (report.summary["orphan_tables"], report.summary["orphan_table_bytes"]) == (0, 0)
    assert report.summary["table_bytes"] == sum(row["table_bytes"] for row in rows)


def test_no_snapshot_table_without_shared_files() -> None:
    report = api.files(str(checkpoint_of("agg_update")))
    assert "snapshots" not in tables(report)
    assert "orphan_tables" not in report.summary


class ByExecutors:
    """As much of an engine as says that it reads the files itself."""

    reader = object()


def test_footnote_if_spark_reads_the_files() -> None:
    run = Run.start(str(checkpoint_of(CASE)), None)
    run.engine = cast("Engine", ByExecutors())
    report = files(run)
    assert "snapshots" not in tables(report)
    assert list(report.footnotes) == [NOT_HERE]
    assert list(report.problems) == list(run.listed)


def test_orphaned_and_missing_sst_files(tmp_path: Path) -> None:
    path = copy_of(CASE, tmp_path)
    (table,) = (path / "state/0/0/SSTs").glob("*.sst")
    size = table.stat().st_size
    table.rename(table.with_name("000099-left-over.sst"))
    report = api.files(str(path))
    left, right = tables(report)["snapshots"]
    assert (left["missing_tables"], left["entries"], left["entries_per_row"]) == (1, None, None)
    assert left["table_bytes"] == size
    assert right["missing_tables"] == 0
    assert (report.summary["orphan_tables"], report.summary["orphan_table_bytes"]) == (1, size)
    siblings = {row["partition_id"]: row["orphans"] for row in tables(report)["other_files"]}
    assert siblings == {0: 1, 1: 0}


def test_unreadable_snapshot_is_a_problem(tmp_path: Path) -> None:
    path = copy_of(CASE, tmp_path)
    snapshot = path / "state/0/0/1.zip"
    snapshot.write_bytes(snapshot.read_bytes()[:100])
    report = api.files(str(path))
    assert len(tables(report)["snapshots"]) == 1
    assert report.summary["orphan_tables"] is None
    assert [(problem.path, problem.version) for problem in report.problems] == [(str(snapshot), 1)]
