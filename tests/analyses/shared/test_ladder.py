"""The ladder of sizes where no executor has the state on its heap."""

from __future__ import annotations

from inspector import api
from inspector.analyses.memory import OffHeapRow, RungRow
from tests.cases import rocksdb_cases

CASE = next(case for case in rocksdb_cases("4.3.0") if case.name == "rocksdb_session_window")


def test_memory_ladder_of_rocksdb_has_no_heap() -> None:
    report = api.memory(str(CASE / "checkpoint"))
    ladder, off_heap = report.tables
    assert off_heap.name == OffHeapRow.table_name
    assert ladder.name == RungRow.table_name
    assert [row["rung"] for row in ladder.rows][-3:] == ["keys", "values", "rows"]
    assert {row["counted"] for row in ladder.rows} == {"exact"}
    assert not any("heap" in name for name in report.summary)
    assert "local disks, in RocksDB, and not on their heaps" in report.footnotes[0]
    sizes = {row["rung"]: row["bytes"] for row in ladder.rows}
    assert sizes["rows"] == sizes["keys"] + sizes["values"] > 0


def test_heap_options_with_rocksdb_have_a_footnote() -> None:
    path = str(CASE / "checkpoint")
    assert len(api.memory(path).footnotes) == 1
    *_, last = api.memory(path, heap=1 << 30, jdk=21).footnotes
    assert last == "--heap and --jdk are about maps on the heap, and changed nothing here."
