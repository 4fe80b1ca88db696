"""Typed tables of stores, and how each problem mode reports what cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspector import api
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import StoreTable, store_tables, store_tasks
from inspector.exceptions import CheckpointError, InspectorError
from inspector.model import ProblemMode
from inspector.passes.typed_rows import schema_of_rows
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of, tree
from tests.reports import cell_values, slugs

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
JOIN = str(checkpoint_of("join_left_outer"))
MODES = tuple(ProblemMode)
MISSING = ["missing-version", "missing-delta"]  # slugs of a delta that is gone


def rows_of(table: StoreTable) -> list[dict[str, Any]]:
    return pa.Table.from_batches(table.batches, table.schema).to_pylist()


@pytest.mark.parametrize("mode", MODES)
def test_typed_rows_equal_the_report(mode: ProblemMode) -> None:
    (table,) = store_tables(GROUPS, None, TableOptions(mode=mode))
    assert table.name == "operator-0.default"
    result = cell_values(rows_of(table), "partition_id", "key")
    expected = cell_values(api.rows(GROUPS).primary.rows, "partition_id", "key")
    assert sorted(result, key=str) == sorted(expected, key=str) != []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("raw", "last"), [(False, "old_value"), (True, "old_value_row")])
def test_typed_table_has_no_problem_column(mode: ProblemMode, raw: bool, last: str) -> None:
    (table,) = store_tables(GROUPS, None, TableOptions(raw=raw, mode=mode), changes=True)
    assert table.schema.names[-1] == last
    assert rows_of(table)  # of batches with this schema


def test_typed_changes_from_a_batch() -> None:
    (table,) = store_tables(GROUPS, None, TableOptions(from_batch=4), changes=True)
    names = ("batch_id", "event", "record")
    result = sorted(cell_values(rows_of(table), *names))
    expected = api.changes(GROUPS, from_batch=4).primary.rows
    assert result == sorted(cell_values(expected, *names))
    assert result[0][0] == 4


def test_tasks_of_a_store_have_one_schema() -> None:
    run = Run.start(JOIN, None)
    result = store_tasks(run, TableOptions(from_batch=2), changes=True)
    assert [store for _, store in result] == [
        "left-keyToNumValues",
        "left-keyWithIndexToValue",
        "right-keyToNumValues",
        "right-keyWithIndexToValue",
    ]
    for tasks in result.values():
        assert set(attributes(tasks, "first_version")) == {3}
        assert set(attributes(tasks, "operator_name")) == {"symmetricHashJoin"}
        assert all(schema_of_rows(task) == schema_of_rows(tasks[0]) for task in tasks)


def test_unknown_where_field_is_refused() -> None:
    with pytest.raises(CheckpointError, match="no field"):
        store_tables(GROUPS, Options(where=("user=a",)))


def damaged(folder: Path) -> Path:
    """Return a checkpoint with an unreadable delta in partition 1 and a missing one in 0."""
    root = copy_of("join_left_outer", folder)
    (root / "state/0/1/left-keyToNumValues/3.delta").write_bytes(b"junk")
    (root / "state/0/0/left-keyToNumValues/3.delta").unlink()
    return root


def test_permissive_mode_reports_problems_with_rows(tmp_path: Path) -> None:
    root = damaged(tmp_path)
    before = tree(root)
    tables = store_tables(str(root), changes=True)
    assert [slugs(table.problems) for table in tables] == [MISSING, [], [], []]
    assert [bool(rows_of(table)) for table in tables] == [True] * 4
    assert [slugs(table.problems) for table in tables] == [[*MISSING, "bad-frame"], [], [], []]
    unreadable = tables[0].problems[-1]
    junk = root / "state/0/1/left-keyToNumValues/3.delta"
    assert (unreadable.path, unreadable.offset) == (str(junk), 0)
    assert tree(root) == before


def test_failfast_mode_ends_at_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InspectorError, match="mode 'dropmalformed'"):
        store_tables(str(damaged(tmp_path)), None, TableOptions(mode=ProblemMode.FAILFAST))


def test_failfast_mode_ends_at_an_unreadable_file(tmp_path: Path) -> None:
    root = copy_of("fmgws_event_ignore", tmp_path)
    (root / "state/0/1/3.delta").write_bytes(b"junk")
    (table,) = store_tables(str(root), None, TableOptions(mode=ProblemMode.FAILFAST), changes=True)
    with pytest.raises(InspectorError) as caught:
        rows_of(table)
    assert (caught.value.path, caught.value.offset) == (str(root / "state/0/1/3.delta"), 0)


def test_dropmalformed_mode_reports_no_problems(tmp_path: Path) -> None:
    root = damaged(tmp_path)
    silent = TableOptions(mode=ProblemMode.DROPMALFORMED)
    tables = store_tables(str(root), None, silent, changes=True)
    permissive = store_tables(str(root), changes=True)
    assert [rows_of(table) for table in tables] == [rows_of(table) for table in permissive]
    assert attributes(tables, "problems") == [[], [], [], []]
