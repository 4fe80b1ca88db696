"""Every record of every delta, with what it did; against a plain dict."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.passes import record_effects as changes
from inspector.passes.record_effects import ChangesTask
from tests import cases
from tests.cases import Batch, tasks_of, user
from tests.encode import Record
from tests.fixture_folder import NEWEST
from tests.passes.support import effects_of, rows_in
from tests.profiles import costly
from tests.reports import cell_values, rows_where

keys = st.sampled_from([b"", b"a" * 8, b"b" * 8])
new_values = st.none() | st.sampled_from([b"", b"v" * 8, b"w" * 16])
deltas = st.lists(st.tuples(keys, new_values), max_size=6)
V1, V2 = b"v" * 8, b"w" * 16


def changes_of(root: Path, version: int | None = None, **options: Any) -> list[dict[str, Any]]:
    return rows_of(*(ChangesTask(task, **options) for task in tasks_of(root, version)))


def rows_of(*requests: ChangesTask) -> list[dict[str, Any]]:
    return rows_in(chain(*map(changes.changes_of, requests)))


def checkpoint(
    root: Path,
    history: dict[int, list[Record]],
    snapshots: dict[int, list[Record]] | None = None,
) -> Path:
    """Write one partition with these deltas and snapshots by version."""
    cases.write_logs(root, [Batch()] * max(history, default=0))
    cases.write_store(root / "state/0/0", history, snapshots)
    cases.write_schema(root / "state/0/0", cases.USER, cases.EXPIRES_AT)
    return root


def brief(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return cell_values(rows_where(rows, kind="change"), "version", "event", "key", "value")


EVENTS = {  # by the old and the new value
    (None, b""): "insert",
    (None, V1): "insert",
    (None, V2): "insert",
    (b"", b""): "same_value",
    (b"", V1): "update",
    (b"", V2): "update",
    (V1, b""): "update",
    (V1, V1): "same_value",
    (V1, V2): "update",
    (V2, b""): "update",
    (V2, V1): "update",
    (V2, V2): "same_value",
    (b"", None): "removal",
    (V1, None): "removal",
    (V2, None): "removal",
    (None, None): "absent_removal",
}
SIZES = {None: None, b"": 0, V1: 8, V2: 16}


@costly
@given(history=st.lists(deltas, min_size=1, max_size=4))
def test_records_are_listed_in_order_with_effect(
    tmp_path_factory: pytest.TempPathFactory, history: list[list[Record]]
) -> None:
    root = checkpoint(tmp_path_factory.mktemp("c"), dict(enumerate(history, 1)))
    expected = [
        (version, record, EVENTS[old, new], key, new, SIZES[old])
        for version, record, key, old, new in effects_of(history)
    ]
    columns = ("version", "record", "event", "key", "value", "old_value_bytes")
    assert cell_values(changes_of(root), *columns) == expected


def event_and_nulls(row: dict[str, Any]) -> tuple[str, bool, bool, bool]:
    """Return the event of a change, and if it has an old value, a new value and a record number."""
    has_old, has_new = row["old_value"] is not None, row["value"] is not None
    return row["event"], has_old, has_new, row["record"] is not None


def net(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What versions did to their keys: the first value and the last, where these differ."""
    ends: dict[tuple[int, bytes], tuple[bytes | None, bytes | None]] = {}
    for row in rows:
        position = row["version"], row["key"]
        before, _ = ends.get(position, (row["old_value"], None))
        ends[position] = before, row["value"]
    return {(*location, *values) for location, values in ends.items() if values[0] != values[1]}


INSERT, UPDATE = ("insert", False, True, True), ("update", True, True, True)
REMOVAL = ("removal", True, False, False)


@pytest.mark.parametrize(
    ("zips", "events"),
    [
        ("agg_update_zips_one", {INSERT, UPDATE, REMOVAL}),
        ("agg_update_zips_cleaned_one", {REMOVAL}),
    ],
)
def test_snapshots_without_deltas_are_compared(zips: str, events: set[Any]) -> None:
    """Another run of the same query wrote the changelogs that this one did not write."""
    result = changes_of(NEWEST / f"rocksdb_{zips}" / "checkpoint", old_values=True)
    result = rows_where(result, kind="change")
    oldest = min(cell_values(result, "version"))
    changelogs = NEWEST / "rocksdb_agg_update/checkpoint"
    expected = net(changes_of(changelogs, old_values=True, first_version=oldest))
    assert len(expected) > 20
    assert net(result) == expected
    assert len(result) == len(expected)
    assert {event_and_nulls(row) for row in result} == events


@costly
@given(history=st.lists(deltas, min_size=1, max_size=4), key=st.none() | keys)
def test_old_values_are_listed_on_request(
    tmp_path_factory: pytest.TempPathFactory, history: list[list[Record]], key: bytes | None
) -> None:
    root = checkpoint(tmp_path_factory.mktemp("c"), dict(enumerate(history, 1)))
    (task,) = tasks_of(root)
    task = replace(task, key=() if key is None else (f"hex:{key.hex()}",))
    rows = rows_of(ChangesTask(task, old_values=True))
    expected = [
        (item, new, old) for _, _, item, old, new in effects_of(history) if key in (None, item)
    ]
    assert cell_values(rows, "key", "value", "old_value") == expected
    plain = rows_of(ChangesTask(task))
    assert plain == [row | {"old_value": None} for row in rows]


def test_an_old_value_may_be_of_a_snapshot_and_is_forgotten_behind_a_fault(tmp_path: Path) -> None:
    puts: list[Record] = [(b"a" * 8, V1)]
    root = checkpoint(tmp_path, {3: puts, 4: puts, 5: puts, 6: puts}, {2: [(b"a" * 8, V2)]})
    (root / "state/0/0/4.delta").write_bytes(b"broken")
    rows = rows_where(changes_of(root, old_values=True), kind="change")
    assert cell_values(rows, "version", "old_value") == [(3, V2), (5, None), (6, V1)]


def test_snapshot_rows_begin_history_on_request(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, {2: [(b"a" * 8, V1)], 3: [(b"a" * 8, V1)]}, {2: [(b"a" * 8, V1)]})
    put = (2, "put", b"a" * 8, V1)
    same = (3, "same_value", b"a" * 8, V1)
    assert brief(changes_of(root)) == [put, same]
    base = (2, "in_snapshot", b"a" * 8, V1)
    assert brief(changes_of(root, bases=True)) == [put, base, same]


def test_older_changes_are_replayed_but_not_listed(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, {1: [(b"a" * 8, V1)], 2: [(b"a" * 8, V2)]})
    assert brief(changes_of(root, first_version=2)) == [(2, "update", b"a" * 8, V2)]


def test_effects_are_unknown_after_unreadable_file(tmp_path: Path) -> None:
    records: list[Record] = [(b"a" * 8, V1), (b"b" * 8, None)]
    history = {1: records, 2: records, 3: records, 4: records}
    root = checkpoint(tmp_path, history, {4: [(b"a" * 8, V1)]})
    (root / "state/0/0/2.delta").write_bytes(b"broken")
    rows = changes_of(root, bases=True)
    assert cell_values(rows_where(rows, kind="change"), "version", "event") == [
        *((1, "insert"), (1, "absent_removal")),
        *((3, "put"), (3, "removal")),
        *((4, "same_value"), (4, "absent_removal"), (4, "in_snapshot")),
    ]
    (path,) = cell_values(rows_where(rows, kind="problem"), "path")
    assert path == str(root / "state/0/0/2.delta")


def test_a_snapshot_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, {3: [(b"a" * 8, V1)]}, {2: [(b"a" * 8, V1)]})
    (root / "state/0/0/2.snapshot").write_bytes(b"broken")
    rows = changes_of(root)
    assert brief(rows) == [(3, "put", b"a" * 8, V1)]
    assert cell_values(rows_where(rows, kind="problem"), "slug") == ["bad-frame"]


def test_record_effects_of_selected_keys(tmp_path: Path) -> None:
    records: list[Record] = [(user("a"), V1), (user("b"), V1), (user("a"), None)]
    root = checkpoint(tmp_path, {1: records})
    (task,) = tasks_of(root)
    rows = rows_of(ChangesTask(replace(task, where=("value=a",))))
    assert cell_values(rows, "record", "event") == [(0, "insert"), (2, "removal")]


def test_a_value_that_is_looked_for_changes_no_event(tmp_path: Path) -> None:
    def counted(number: int) -> bytes:
        return bytes(8) + number.to_bytes(8, "little")

    records: list[Record] = [
        *((user("a"), counted(1)), (user("a"), counted(20)), (user("b"), counted(30))),
        *((user("a"), None), (user("b"), counted(30))),
    ]
    root = checkpoint(tmp_path, {1: records})
    (task,) = tasks_of(root)
    schema = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true}]}'
    store = replace(task.stores[0], value_schema=schema)
    expected = replace(task, where=("value.n>10",), stores=(store,))
    rows = rows_of(ChangesTask(expected, old_values=True))
    assert cell_values(rows, "record", "event", "old_value") == [
        (1, "update", counted(1)),
        (2, "insert", None),
        (4, "same_value", counted(30)),
    ]


def test_a_task_survives_its_way_as_text(tmp_path: Path) -> None:
    (task,) = tasks_of(checkpoint(tmp_path, {1: []}))
    changes_task = ChangesTask(replace(task, key=("00",), where=("value=a",)), True, 7, True)
    assert ChangesTask.from_json(changes_task.to_json()) == changes_task
