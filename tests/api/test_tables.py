"""Rows, histories, differences and typed tables, as calls."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from inspector import api
from inspector.api.tables import by_store
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import FactRequest, plan
from inspector.exceptions import CheckpointError
from tests.cases import small_checkpoint
from tests.cli.support import checkpoint_of, copy_of

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
JOIN = str(checkpoint_of("join_left_outer"))
SNAPSHOTS = str(checkpoint_of("snapshots_cleaned"))
UNCOMMITTED = str(checkpoint_of("uncommitted"))


def test_rows_of_the_keys_that_are_looked_for() -> None:
    by_json = api.rows(GROUPS, api.Options(key='{"value": "lapsed-004"}'), raw=True)
    (row,) = by_json.primary.rows
    assert row["key"] == {"value": "lapsed-004"}
    by_hex = api.rows(GROUPS, api.Options(key=row["key_hex"]), raw=True)
    assert list(by_hex.primary.rows) == [row]
    nobody = api.rows(GROUPS, api.Options(where=("value=nobody",)))
    assert list(nobody.primary.rows) == []
    assert "no such row" in nobody.primary.empty


def test_a_history_reaches_from_the_oldest_version_to_the_newest() -> None:
    report = api.history(GROUPS, api.Options(where=("value=lapsed-004",)))
    assert [(row["batch_id"], row["event"]) for row in report.primary.rows] == [
        (0, "insert"),
        (4, "update"),
    ]
    with pytest.raises(CheckpointError, match="--key"):
        api.history(GROUPS)
    with pytest.raises(CheckpointError, match="no field"):
        api.history(GROUPS, api.Options(where=("user=a",)))


def test_uncommitted_versions_are_read_if_asked() -> None:
    options = api.Options(key="{}")
    committed = api.history(UNCOMMITTED, options).primary.rows
    every = list(api.history(UNCOMMITTED, options, uncommitted=True).primary.rows)
    newest = [row for row in every if row["version"] == 5]
    assert newest
    assert not any(row["committed"] for row in newest)
    assert [row for row in every if row["version"] < 5] == list(committed)


def test_the_default_difference_is_what_the_last_batch_changed() -> None:
    report = api.diff(SNAPSHOTS, raw=True)
    wanted = [
        (
            row["key_hex"],
            {"insert": "added", "update": "changed", "removal": "removed"}[row["event"]],
        )
        for row in api.changes(SNAPSHOTS, from_batch=13, raw=True).primary.rows
    ]
    assert sorted((r["key_hex"], r["change"]) for r in report.primary.rows) == sorted(wanted)


@pytest.mark.parametrize(
    ("ends", "versions"),
    [
        (api.Ends(), (12, 13)),
        (api.Ends(from_batch=3), (4, 13)),
        (api.Ends(from_version=3, to_batch=5), (3, 6)),
        (api.Ends(to_version=1), (0, 1)),
    ],
)
def test_ends_are_batches_or_versions(ends: api.Ends, versions: tuple[int, int]) -> None:
    summary = api.diff(GROUPS, ends=ends).summary
    assert (summary["from_version"], summary["to_version"]) == versions
    with pytest.raises(CheckpointError, match="does not exist"):
        api.diff(GROUPS, ends=api.Ends(from_version=99))


def test_a_checkpoint_does_not_differ_from_its_copy(tmp_path: Path) -> None:
    copy = str(copy_of("fmgws_event_ignore", tmp_path))
    report = api.diff(GROUPS, copy)
    assert list(report.primary.rows) == []
    assert [row["rows"] for row in report.tables[1].rows] == [0, 0, 0]
    older = api.diff(GROUPS, copy, ends=api.Ends(from_batch=11))
    assert len(list(older.primary.rows)) == 15


def test_stores_of_one_checkpoint_alone_are_named() -> None:
    report = api.diff(GROUPS, JOIN)
    assert sum("only in" in note for note in report.notes) == 5
    assert list(report.primary.rows) == []


def test_other_numbers_of_partitions(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    options = api.Options(operator_id=1)
    one = small_checkpoint(tmp_path / "other")
    for partition in (1, 2):
        for file in (one / "state/1" / str(partition)).iterdir():
            file.unlink()
        (one / "state/1" / str(partition)).rmdir()
    report = api.diff(str(root), str(one), options)
    rows = list(report.primary.rows)
    assert {row["change"] for row in rows} == {"removed"}
    assert {row["partition_id"] for row in rows} == {1, 2}


def test_typed_tables_hold_what_rows_show() -> None:
    tables = api.typed_tables(JOIN)
    assert [table.name for table in tables] == [
        "operator-0.left-keyToNumValues",
        "operator-0.left-keyWithIndexToValue",
        "operator-0.right-keyToNumValues",
        "operator-0.right-keyWithIndexToValue",
    ]
    counts = [pa.Table.from_batches(t.batches, t.schema).num_rows for t in tables]
    assert sum(counts) == len(list(api.rows(JOIN).primary.rows))
    changes = api.typed_tables(JOIN, wanted=api.Typed(changes=True))
    counts = [pa.Table.from_batches(t.batches, t.schema).num_rows for t in changes]
    assert sum(counts) == len(list(api.changes(JOIN).primary.rows))


def test_report_tables_are_the_same_as_text() -> None:
    reports = api.report_tables(JOIN)
    rows = [row for _, report in reports for row in report.primary.rows]
    assert sorted(map(str, rows)) == sorted(map(str, api.rows(JOIN).primary.rows))
    later = api.report_tables(JOIN, changes=True, from_batch=3)
    assert {row["batch_id"] >= 3 for _, report in later for row in report.primary.rows} == {True}


def test_problems_of_the_listing_are_told_once(tmp_path: Path) -> None:
    root = copy_of("join_left_outer", tmp_path)
    (root / "state/0/0/left-keyToNumValues/3.delta").unlink()
    assert [bool(table.problems) for table in api.typed_tables(str(root))] == [True] + [False] * 3


def test_tasks_by_store(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    found = by_store(plan(checkpoint, FactRequest(4)))
    assert [(place, len(tasks)) for place, tasks in found.items()] == [
        ((0, "left-keyToNumValues"), 3),
        ((0, "left-keyWithIndexToValue"), 3),
        ((1, "default"), 3),
    ]
    assert all(len(task.stores) == 1 for tasks in found.values() for task in tasks)
