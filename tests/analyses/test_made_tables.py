"""Tables that the driver has made, as tasks; and the rows of the files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses import made_tables
from inspector.analyses.made_tables import (
    MADE,
    file_rows,
    made_schema,
    made_spec,
    made_specs,
    run_made,
)
from inspector.discovery.checkpoint import open_checkpoint
from inspector.render.plain import problem_row
from tests import cases
from tests.cli.support import checkpoint_of, copy_of


@pytest.mark.parametrize("table", MADE)
def test_a_table_has_a_type_for_each_column(table: str) -> None:
    schema = made_schema(table)
    assert len(schema) == len(MADE[table])
    (batch,) = run_made(tasks(made_specs(table, [{}])))
    assert batch.schema == schema
    assert batch.to_pylist() == [dict.fromkeys(schema.names)]


def tasks(specs: list[str]) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"task_id": list(range(len(specs))), "spec": specs})]


def test_rows_are_dealt_out_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_tables, "_ROWS", 3)
    rows = [{"problem": f"p{n}", "offset": n or None, "message": "m"} for n in range(7)]
    specs = made_specs("problems", iter(rows))
    assert len(specs) == 3
    found = cases.run(specs, run_made)
    assert [(row["problem"], row["offset"]) for row in found] == [
        (row["problem"], row["offset"]) for row in rows
    ]
    assert {row["path"] for row in found} == {None}


def test_without_rows_there_are_no_tasks() -> None:
    assert made_specs("findings", []) == []


def test_any_batch_may_be_a_task() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, None], "b": [{"c": ["x"]}, {"c": None}]})
    (found,) = run_made(tasks([made_spec(batch)]))
    assert found.equals(batch)


def test_rows_of_problems_fit_their_columns(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    rows = [problem_row(found) for found in api.verify(str(path)).problems]
    assert cases.run(made_specs("problems", rows), run_made) == rows != []


def test_every_file_is_told_once(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    (path / "state/0/1/notes.txt").write_bytes(b"12")
    rows = list(file_rows(open_checkpoint(str(path))))
    on_disk = {str(file) for file in (path / "state/0").glob("[0-9]*/*") if file.is_file()}
    assert sorted(row["path"] for row in rows) == sorted(on_disk)
    assert {row["kind"] for row in rows} >= {"delta", "snapshot"}
    for row in rows:
        file = Path(row["path"])
        assert row["bytes"] == file.stat().st_size
        assert row["modified_ms"] == file.stat().st_mtime_ns // 1_000_000
        assert row["partition_id"] == int(file.parent.name)
        if row["kind"] in ("delta", "snapshot"):
            assert (row["version"], row["batch_id"]) == (int(file.stem), int(file.stem) - 1)
    (note,) = (row for row in rows if row["path"].endswith("notes.txt"))
    assert (note["version"], note["batch_id"], note["bytes"]) == (None, None, 2)


def test_files_of_a_join_name_their_store() -> None:
    rows = list(file_rows(open_checkpoint(str(checkpoint_of("join_window_key")))))
    for row in rows:
        assert Path(row["path"]).parent.name == row["store_name"]
    assert len({row["store_name"] for row in rows}) == 4
    assert {row["operator_name"] for row in rows} == {"symmetricHashJoin"}
