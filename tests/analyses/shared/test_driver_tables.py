"""Tables whose rows the driver has, split into tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses import data_tables
from inspector.analyses.shared import data_tables as driver_tables
from inspector.analyses.shared.data_tables import batch_spec, batch_specs, run_batches
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.options import Options
from inspector.render.as_arrow import columns_of
from inspector.render.plain import FindingRow, ProblemRow, problem_row
from inspector.render.tabular import Column, values
from tests import cases
from tests.cli.support import copy_of
from tests.reports import cell_values

COLUMNS = ProblemRow.columns()
PROBLEMS = pa.schema(columns_of(COLUMNS))


@pytest.mark.parametrize(
    ("table", "expected"), [("findings", FindingRow.columns()), ("problems", COLUMNS)]
)
def test_schema_has_a_type_for_each_column(table: str, expected: tuple[Column, ...]) -> None:
    schema = data_tables()[table].schema("nowhere", Options(), TableOptions())
    assert len(schema) == len(expected)
    (batch,) = run_batches(tasks(batch_specs(schema, expected, [{}])))
    assert batch.schema == schema
    assert batch.to_pylist() == [dict.fromkeys(schema.names)]


def tasks(specs: list[str]) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"task_id": list(range(len(specs))), "spec": specs})]


def test_rows_are_split_into_tasks_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_tables, "_ROWS", 3)
    rows = [{"problem": f"p{n}", "offset": n or None, "message": "m"} for n in range(7)]
    specs = batch_specs(PROBLEMS, COLUMNS, iter(rows))
    assert len(specs) == 3
    outcome = cases.run(specs, run_batches)
    assert cell_values(outcome, "problem", "offset", "path") == [
        ("p0", None, None),
        ("p1", 1, None),
        ("p2", 2, None),
        ("p3", 3, None),
        ("p4", 4, None),
        ("p5", 5, None),
        ("p6", 6, None),
    ]


def test_no_rows_make_no_tasks() -> None:
    assert batch_specs(PROBLEMS, COLUMNS, []) == []


def test_record_batch_as_a_task() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, None], "b": [{"c": ["x"]}, {"c": None}]})
    (run_batch,) = run_batches(tasks([batch_spec(batch)]))
    assert run_batch.equals(batch)


def test_problem_rows_fit_their_columns(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").write_bytes(b"junk")
    rows = [values(problem_row(problem)) for problem in api.verify(str(path)).problems]
    assert cases.run(batch_specs(PROBLEMS, COLUMNS, rows), run_batches) == rows != []
