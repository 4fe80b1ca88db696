"""Rows and changes with their types, made of the files; against a plain dict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, starmap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import InspectorError
from inspector.model import Problem, ProblemMode
from inspector.passes.problem_mode import problems_in, without_problems
from inspector.passes.typed_rows import TypedTask, run_typed_rows, schema_of_rows
from inspector.sparktypes import StructType
from tests import cases, encode
from tests.cases import Batch, group_state, tasks_of, user
from tests.encode import Record
from tests.passes.support import effects_of, rows_in, states_after, tasks_batch
from tests.profiles import costly
from tests.reports import cell_values, row_where, rows_where

Rows = list[dict[str, Any]]
NAMES = ("a", "b", "cc")


def checkpoint(
    root: Path,
    history: Sequence[Sequence[Record]],
    *,
    value: StructType | None = cases.GROUP_STATE,
) -> Path:
    """Write one partition with these deltas."""
    cases.write_logs(root, [Batch()] * len(history))
    cases.write_store(root / "state/0/0", dict(enumerate(history, 1)))
    if value is not None:
        cases.write_schema(root / "state/0/0", cases.USER, value)
    return root


def task_of(root: Path, **options: Any) -> TypedTask:
    (task,) = tasks_of(root)
    return TypedTask(task, "flatMapGroupsWithState", **options)


def batches_of(expected: TypedTask) -> list[pa.RecordBatch]:
    batches = list(run_typed_rows([tasks_batch([expected.to_json()])]))
    # from_batches raises an error if a batch has another schema.
    pa.Table.from_batches(batches, schema_of_rows(expected)).validate(full=True)
    return batches


def read(root: Path, **options: Any) -> Rows:
    return rows_in(batches_of(task_of(root, **options)))


def problems_of(batches: list[pa.RecordBatch]) -> list[Problem]:
    return list(chain(*map(problems_in, batches)))


def entry(name: str, visits: int | None) -> Record:
    return user(name), None if visits is None else group_state(visits, -1)


def state(visits: int | None) -> dict[str, Any] | None:
    if visits is None:
        return None
    return {"groupState": {"visits": visits}, "timeoutTimestamp": -1}


def test_a_row_has_structs_its_place_and_its_sizes(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[entry("ann", 2)], []])
    (row,) = read(root, raw=True)
    assert row == {
        "operator_id": 0,
        "operator_name": "flatMapGroupsWithState",
        "store_name": "default",
        "partition_id": 0,
        "version": 2,
        "batch_id": 1,
        "key_bytes": len(user("ann")),
        "value_bytes": len(group_state(2, -1)),
        "row_bytes": len(user("ann")) + len(group_state(2, -1)),
        "expires_at": None,
        "last_put_batch": 0,
        "key": {"value": "ann"},
        "value": state(2),
        "key_row": user("ann"),
        "value_row": group_state(2, -1),
        "problem": None,
    }
    (plain,) = read(root, mode=ProblemMode.FAILFAST)
    assert list(plain) == [
        *("operator_id", "operator_name", "store_name", "partition_id", "version", "batch_id"),
        *("key_bytes", "value_bytes", "row_bytes", "expires_at", "last_put_batch", "key", "value"),
    ]


LATEST_US = (2**63 - 1) // 1000 * 1000
"""The latest whole millisecond that a timestamp in microseconds can hold."""


@pytest.mark.parametrize(
    ("timer_ms", "expires_at_us"),
    [(5, 5000), (0, 0), (-1, None), (2**63 - 1, LATEST_US), (-(2**63), -LATEST_US)],
)
def test_a_timer_of_any_size_is_a_time(
    tmp_path: Path, timer_ms: int, expires_at_us: int | None
) -> None:
    root = checkpoint(tmp_path, [[(user("ann"), group_state(2, timer_ms))]])
    (batch,) = batches_of(task_of(root))
    assert batch.column("expires_at").cast(pa.int64()).to_pylist() == [expires_at_us]


OLD_VALUES = {
    repr((None, None, None)),
    repr((state(1), group_state(1, -1), 40)),
    repr((state(2), group_state(2, -1), 40)),
    repr((state(3), group_state(3, -1), 40)),
}
"""The old values of a change with their rows and sizes in bytes."""

histories = st.lists(
    st.lists(st.tuples(st.sampled_from(NAMES), st.none() | st.integers(1, 3)), max_size=6),
    min_size=1,
    max_size=4,
)


@costly
@given(history=histories, first=st.integers(0, 3), raw=st.booleans())
def test_changes_are_those_of_a_dict(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[list[tuple[str, int | None]]],
    first: int,
    raw: bool,
) -> None:
    deltas = [list(starmap(entry, records)) for records in history]
    root = checkpoint(tmp_path_factory.mktemp("c"), deltas)
    expected = [
        (version, version - 1, {"value": name}, state(new), state(old), new and new == old, record)
        for version, record, name, old, new in effects_of(history)
        if version >= first
    ]
    result = read(root, changes=True, first_version=first, raw=raw)
    columns = ("version", "batch_id", "key", "value", "old_value", "same_value", "record")
    assert cell_values(result, *columns) == expected
    raw_columns = ("old_value", "old_value_row", "old_value_bytes")
    assert set(map(repr, cell_values(result, *raw_columns) if raw else ())) <= OLD_VALUES
    rows = {row["key"]["value"]: row["value"] for row in read(root)}
    *_, now = states_after(history)
    assert rows == {name: state(visits) for name, visits in now.items()}


def test_the_old_value_may_come_from_a_snapshot(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[], [entry("a", 2), entry("b", 1)]])
    (root / "state/0/0/1.delta").unlink()
    cases.write_store(root / "state/0/0", {}, {1: [entry("a", 1)]})
    changes = cell_values(read(root, changes=True), "event", "old_value", "same_value")
    assert changes == [("update", state(1), False), ("insert", None, False)]


def test_old_value_is_unknown_after_gap(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[entry("a", 1)]] * 3)
    (root / "state/0/0/2.delta").write_bytes(b"junk")
    rows = rows_where(read(root, changes=True), problem=None)
    changes = cell_values(rows, "version", "event", "old_value", "same_value")
    assert changes == [(1, "insert", None, False), (3, "put", None, None)]


def test_without_a_schema_key_and_values_are_bytes(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[entry("a", 1)], [entry("a", 2)]], value=None)
    (row,) = read(root)
    assert (row["key"], row["value"]) == (user("a"), group_state(2, -1))
    assert read(root, changes=True)[1]["old_value"] == group_state(1, -1)


@pytest.mark.parametrize("changes", [False, True])
def test_store_without_records_has_no_typed_rows(tmp_path: Path, changes: bool) -> None:
    root = checkpoint(tmp_path, [[], []])
    assert read(root, changes=changes) == []
    task = task_of(root, changes=changes)
    empty = replace(task, task=replace(task.task, version=0))
    assert batches_of(empty) == []


def test_typed_rows_of_selected_keys(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[entry("a", 1), entry("b", 1)], [entry("a", 2), entry("b", 2)]])
    task = task_of(root, changes=True)
    task = replace(task, task=replace(task.task, where=("value=b",)))
    rows = cell_values(rows_in(batches_of(task)), "key", "old_value")
    assert rows == [({"value": "b"}, None), ({"value": "b"}, state(1))]


# --- what cannot be read -------------------------------------------------------------------------


def spoilt(root: Path) -> Path:
    checkpoint(root, [[entry("a", 1)], [entry("b", 1)], [entry("c", 1)]])
    (root / "state/0/0/2.delta").write_bytes(b"junk")
    return root


@pytest.mark.parametrize("changes", [False, True])
def test_failfast_names_the_place(tmp_path: Path, changes: bool) -> None:
    with pytest.raises(InspectorError, match="permissive") as caught:
        read(spoilt(tmp_path), changes=changes, mode=ProblemMode.FAILFAST)
    assert caught.value.path == str(tmp_path / "state/0/0/2.delta")
    assert caught.value.offset == 0


@pytest.mark.parametrize(
    ("changes", "good_keys"), [(False, []), (True, [{"value": "a"}, {"value": "c"}])]
)
def test_permissive_mode_has_row_for_problem(
    tmp_path: Path, changes: bool, good_keys: list[Any]
) -> None:
    batches = batches_of(task_of(spoilt(tmp_path), changes=changes))
    (problem,) = problems_of(batches)
    path = str(tmp_path / "state/0/0/2.delta")
    assert (problem.path, problem.offset, problem.version) == (path, 0, 2)
    problem_row = row_where(rows_in(batches), version=2)
    assert problem_row["problem"] is not None
    position = {"store_name": "default", "partition_id": 0, "version": 2}
    nulls = {"key": None, "value": None, "key_bytes": None}
    assert problem_row == problem_row | position | nulls
    good_rows = rows_where(rows_in(batches), problem=None)
    result = rows_in(map(without_problems, batches))
    assert [row | {"problem": None} for row in result] == good_rows
    assert cell_values(result, "key") == good_keys


def test_dropmalformed_leaves_it_out(tmp_path: Path) -> None:
    result = read(spoilt(tmp_path), changes=True, mode=ProblemMode.DROPMALFORMED)
    assert cell_values(result, "key") == [{"value": "a"}, {"value": "c"}]
    assert "problem" not in result[0]


MISFIT: list[Record] = [
    entry("a", 1),
    (b"short", group_state(1, -1)),
    (user("b"), encode.row(cases.USER, ("text",)) + b"12345678" * 9),
]


def test_values_that_do_not_fit_are_null_and_counted(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [MISFIT])
    (problem,) = problems_of(batches_of(task_of(root)))
    assert problem.slug == "bad-row"
    assert problem.message.startswith(
        "keys or values that do not match the schema and are shown as null: 2"
    )
    rows = rows_where(read(root, raw=True), problem=None)
    assert cell_values(rows, "key_row", "key", "value") == [
        (user("a"), {"value": "a"}, state(1)),
        (b"short", None, state(1)),
        (user("b"), {"value": "b"}, None),
    ]


def test_misfits_fail_fast_too(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [MISFIT])
    with pytest.raises(InspectorError, match="do not match the schema") as caught:
        read(root, mode=ProblemMode.FAILFAST)
    assert str(tmp_path) in str(caught.value), "it says where"


def test_unfit_old_value_is_reported_once(tmp_path: Path) -> None:
    bad: Record = (user("a"), encode.row(cases.USER, ("text",)) + b"12345678" * 9)
    root = checkpoint(tmp_path, [[bad], [entry("a", 1)]])
    (problem,) = problems_of(batches_of(task_of(root, changes=True)))
    assert problem.message.startswith(
        "keys or values that do not match the schema and are shown as null: 1"
    )


def test_problems_of_the_listing_come_first_and_statements_do_not_fail(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[entry("a", 1)]])
    statement = Problem("uncommitted", "no commit", "p")
    first, second = read(root, listed=(statement,))
    assert first["problem"] is not None
    assert (second["problem"], second["key"]) == (None, {"value": "a"})
    assert len(read(root, listed=(statement,), mode=ProblemMode.FAILFAST)) == 1
    missing = replace(statement, slug="missing-version")
    with pytest.raises(InspectorError, match=r"^p: no commit"):
        read(root, listed=(missing,), mode=ProblemMode.FAILFAST)


def test_a_task_survives_its_way_as_text(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [[]])
    (problem,) = problems_of(batches_of(task_of(spoilt(root))))
    task = task_of(
        root, changes=True, first_version=7, raw=True, mode=ProblemMode.FAILFAST, listed=(problem,)
    )
    assert TypedTask.from_json(task.to_json()) == task
