"""The ladder of sizes where no executor has the state on its heap."""

from __future__ import annotations

from inspector import api
from inspector.analyses.shared.ladder import LADDER, rocksdb_keeps
from tests.cases import rocksdb_cases

CASE = next(case for case in rocksdb_cases("4.3.0") if case.name == "rocksdb_session_window")


def test_there_is_no_heap_and_every_number_is_counted() -> None:
    report = api.memory(str(CASE / "checkpoint"))
    (ladder,) = report.tables
    assert ladder.name == LADDER.name
    assert [row["rung"] for row in ladder.rows][-3:] == ["keys", "values", "rows"]
    assert {row["counted"] for row in ladder.rows} == {"exact"}
    assert not any("heap" in name for name in report.summary)
    assert "local disks, in RocksDB, and not on their heaps" in report.footnotes[0]
    sizes = {row["rung"]: row["bytes"] for row in ladder.rows}
    assert sizes["rows"] == sizes["keys"] + sizes["values"] > 0


def test_what_rocksdb_keeps_is_told_of_each_store() -> None:
    assert "136.0 MiB unless" in rocksdb_keeps(1)
    assert "for each of 4 stores, 544.0 MiB in all," in rocksdb_keeps(4)
