"""The ladder of sizes of state in RocksDB, which is not on the heap of executors."""

from __future__ import annotations

from inspector import api
from inspector.analyses.memory import OffHeapRow, RungRow
from tests.cli.support import checkpoint_of
from tests.reports import cell_values

PATH = str(checkpoint_of("rocksdb_session_window"))


def test_memory_ladder_of_rocksdb_has_no_heap() -> None:
    report = api.memory(PATH)
    ladder, off_heap = report.tables
    assert off_heap.name == OffHeapRow.table_name
    assert ladder.name == RungRow.table_name
    assert cell_values(ladder.rows, "rung", "bytes", "counted") == [
        ("delta files", 5369, "exact"),
        ("snapshot files", 0, "exact"),
        ("raw bytes", 14_130, "exact"),
        ("keys", 960, "exact"),
        ("values", 2160, "exact"),
        ("rows", 3120, "exact"),
    ]
    assert "heap" not in " ".join(report.summary)
    assert "local disks, in RocksDB, and not on their heaps" in report.footnotes[0]


def test_heap_options_with_rocksdb_have_a_footnote() -> None:
    assert len(api.memory(PATH).footnotes) == 1
    *_, last = api.memory(PATH, heap=1 << 30, jdk=21).footnotes
    assert last == "--heap and --jdk are about maps on the heap, and changed nothing here."
