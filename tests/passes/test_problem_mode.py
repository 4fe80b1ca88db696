"""What becomes of what cannot be read, in each of the three modes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import InspectorError
from inspector.model import READABLE, Problem, ProblemMode, StoreId
from inspector.passes.problem_mode import (
    COLUMN,
    problem_batches,
    problem_of_text,
    problems_in,
    refuse,
    with_problems,
    without_problems,
)

COLUMNS: list[tuple[str, pa.DataType]] = [
    ("operator_id", pa.int64()),
    ("store_name", pa.string()),
    ("partition_id", pa.int32()),
    ("rows", pa.int64()),
]
STORE = StoreId(1, "default", 2)
BAD = Problem("truncated", "got 3 bytes, expected 4", "/c/state/1/2/5.delta", 17, STORE, 5)
MILD = Problem("snapshot-differs", "it differs", "/c/state/1/2/5.snapshot", None, STORE, 5)


def batches(mode: ProblemMode, *problems: Problem) -> list[pa.RecordBatch]:
    schema = with_problems(COLUMNS, mode)
    return list(problem_batches(schema, mode, problems))


NAMES = ["operator_id", "store_name", "partition_id", "rows"]


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        (ProblemMode.PERMISSIVE, [*NAMES, COLUMN]),
        (ProblemMode.FAILFAST, NAMES),
        (ProblemMode.DROPMALFORMED, NAMES),
    ],
)
def test_permissive_table_has_problem_column(mode: ProblemMode, names: list[str]) -> None:
    assert with_problems(COLUMNS, mode).names == names


def test_permissive_row_has_store_and_problem_json() -> None:
    (batch,) = batches(ProblemMode.PERMISSIVE, BAD, MILD)
    first, second = batch.to_pylist()
    text = first.pop(COLUMN)
    expected: dict[str, Any] = {"operator_id": 1, "store_name": "default", "partition_id": 2}
    assert first == {**expected, "rows": None}
    assert json.loads(text) == BAD.to_row()
    assert problem_of_text(text) == BAD
    assert problem_of_text(second[COLUMN]) == MILD


def test_failfast_raises_read_errors_only() -> None:
    with pytest.raises(InspectorError, match=r"byte 17: got .*'permissive'") as caught:
        batches(ProblemMode.FAILFAST, MILD, BAD)
    assert (caught.value.path, caught.value.offset) == (BAD.path, BAD.offset)
    assert batches(ProblemMode.FAILFAST, MILD) == []


def test_refuse_knows_every_statement_about_readable_files() -> None:
    refuse(Problem(slug, "m") for slug in READABLE)
    with pytest.raises(InspectorError, match=r"^second"):
        refuse([Problem(READABLE[0], "m"), Problem("second", "second"), Problem("third", "third")])


def test_dropmalformed_reports_nothing() -> None:
    assert batches(ProblemMode.DROPMALFORMED, BAD, MILD) == []


@pytest.mark.parametrize("mode", ProblemMode)
def test_without_problems_there_is_no_batch(mode: ProblemMode) -> None:
    assert batches(mode) == []


words = st.text(max_size=5)
numbers = st.none() | st.integers(0, 2**40)
problems = st.builds(
    Problem,
    st.sampled_from(["truncated", "bad-row", "uncommitted"]),
    words,
    st.none() | words,
    numbers,
    st.none() | st.builds(StoreId, st.integers(0, 9), words, st.integers(0, 999)),
    numbers,
)


@given(problems)
def test_a_row_is_a_problem_again(problem: Problem) -> None:
    row = problem.to_row()
    result = Problem.from_row(row)
    assert result.to_row() == row
    assert problem.store is None or result == problem


@given(st.lists(st.one_of(st.integers(0, 9), problems), max_size=6))
def test_rows_and_problems_part_again(items: list[int | Problem]) -> None:
    schema = with_problems(COLUMNS, ProblemMode.PERMISSIVE)
    rows: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Problem):
            (batch,) = batches(ProblemMode.PERMISSIVE, item)
            rows += batch.to_pylist()
        else:
            rows.append({"rows": item})
    batch = pa.RecordBatch.from_pylist(rows, schema)
    bad = [item for item in items if isinstance(item, Problem)]
    assert list(map(Problem.to_row, problems_in(batch))) == list(map(Problem.to_row, bad))
    plain = without_problems(batch)
    assert plain.schema.names == NAMES
    assert plain.column("rows").to_pylist() == [i for i in items if isinstance(i, int)]
