"""Rows in which two versions differ, against plain dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.discovery.tasks import Task
from inspector.passes import row_differences as diff
from inspector.passes.row_differences import DiffTask, differences_of
from inspector.passes.store_reader import StoreReader
from tests import cases
from tests.cases import Batch, tasks_of, user
from tests.encode import Record
from tests.passes.support import rows_in, snapshot_of, states_after
from tests.profiles import costly
from tests.reports import cell_values, rows_where

keys = st.sampled_from([b"", b"a" * 8, b"b" * 8, b"c" * 8])
new_values = st.none() | st.sampled_from([b"", b"v" * 8, b"w" * 16])
deltas = st.lists(st.tuples(keys, new_values), max_size=6)
V1, V2 = b"v" * 8, b"w" * 16


def checkpoint(
    root: Path,
    partitions: Sequence[Mapping[int, Sequence[Record]]],
    snapshots: Mapping[int, Sequence[Record]] | None = None,
) -> Path:
    cases.write_logs(root, [Batch()] * max(0, *map(len, partitions)))
    for number, history in enumerate(partitions):
        cases.write_store(root / "state/0" / str(number), history, snapshots)
    cases.write_schema(root / "state/0/0", cases.USER, cases.EXPIRES_AT)
    return root


def at(root: Path, version: int) -> list[Task]:
    return [replace(task, version=version) for task in tasks_of(root)]


def differ(old: Sequence[Task], new: Sequence[Task], limit: int = 0) -> list[dict[str, Any]]:
    return rows_in(differences_of(DiffTask(tuple(old), tuple(new), limit)))


def rows(result: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return key, change, old value and new value of each row, sorted by key."""
    return sorted(
        cell_values(rows_where(result, kind="row"), "key", "change", "old_value", "value")
    )


def counts(result: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return each change with its number of rows."""
    return cell_values(rows_where(result, kind="count"), "change", "rows")


def expected(old: dict[bytes, bytes], new: dict[bytes, bytes]) -> list[tuple[Any, ...]]:
    added = [(key, "added", None, new[key]) for key in new.keys() - old]
    removed = [(key, "removed", old[key], None) for key in old.keys() - new]
    changed = [(k, "changed", old[k], new[k]) for k in old.keys() & new if old[k] != new[k]]
    return sorted([*added, *removed, *changed])


@costly
@given(
    history=st.lists(deltas, min_size=1, max_size=4),
    snapshot=st.integers(1, 4),
    budget=st.sampled_from([1, 200, diff.PAIRING_BYTES]),
)
def test_differences_between_any_two_versions(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[list[Record]],
    snapshot: int,
    budget: int,
) -> None:
    states = states_after(history)
    snapshots = snapshot_of(states, snapshot)
    deltas = dict(enumerate(history, 1))
    root = checkpoint(tmp_path_factory.mktemp("c"), [deltas], snapshots)
    with mock.patch.object(diff, "PAIRING_BYTES", budget):
        for old in range(len(states)):
            for new in {0, max(old - 1, 0), len(states) - 1}:
                result = differ(at(root, old), at(root, new))
                difference = expected(states[old], states[new])
                assert rows(result) == difference
                changes = [change for _, change, _, _ in difference]
                assert counts(result) == [
                    ("added", changes.count("added")),
                    ("removed", changes.count("removed")),
                    ("changed", changes.count("changed")),
                ]
                assert len(result) == len(difference) + 3


def test_stores_with_other_numbers_of_partitions_are_compared_as_a_whole(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", [{1: [(b"a" * 8, V1)]}, {1: [(b"b" * 8, V1)]}])
    new = checkpoint(tmp_path / "new", [{1: [(b"b" * 8, V2), (b"c" * 8, V1), (b"a" * 8, V1)]}])
    result = differ(at(old, 1), at(new, 1))
    assert rows(result) == [
        (b"b" * 8, "changed", V1, V2),
        (b"c" * 8, "added", None, V1),
    ]
    totals = rows_where(result, kind="count")
    assert cell_values(totals, "partition_id", "old_value_bytes") == [
        (None, None),
        (None, 0),
        (None, 8),
    ]


def test_a_limit_is_of_rows_and_not_of_counts(tmp_path: Path) -> None:
    records: list[Record] = [(user(str(n)), V1) for n in range(50)]
    root = checkpoint(tmp_path, [{1: records}])
    result = differ(at(root, 0), at(root, 1), limit=7)
    assert len(rows(result)) == 7
    assert counts(result) == [("added", 50), ("removed", 0), ("changed", 0)]


def test_differences_of_selected_keys(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [{1: [(user("a"), V1), (user("b"), V1)], 2: [(user("a"), V2)]}])
    (task,) = tasks_of(root)
    task = replace(task, where=("value=a",))
    result = differ([replace(task, version=0)], [replace(task, version=2)])
    assert rows(result) == [(user("a"), "added", None, V2)]


VALUE_SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true}]}'


def counted(number: int) -> bytes:
    """A value of that schema."""
    return bytes(8) + number.to_bytes(8, "little")


def test_differences_with_selected_old_or_new_value(tmp_path: Path) -> None:
    first: list[Record] = [
        *((user("a"), counted(5)), (user("b"), counted(5))),
        *((user("c"), counted(5)), (user("d"), counted(5))),
    ]
    then: list[Record] = [
        *((user("a"), counted(15)), (user("b"), counted(6)), (user("c"), None)),
        *((user("e"), counted(20)), (user("f"), counted(1))),
    ]
    root = checkpoint(tmp_path, [{1: first, 2: then}])

    def at_least(number: int) -> list[dict[str, Any]]:
        (task,) = tasks_of(root)
        stores = (replace(task.stores[0], value_schema=VALUE_SCHEMA),)
        task = replace(task, stores=stores, where=(f"value.n>={number}",))
        return differ([replace(task, version=1)], [replace(task, version=2)])

    result = at_least(10)
    changed = (user("a"), "changed", counted(5), counted(15))
    added = (user("e"), "added", None, counted(20))
    assert rows(result) == [changed, added]
    assert counts(result) == [("added", 1), ("removed", 0), ("changed", 1)]
    assert rows(at_least(5)) == [
        changed,
        (user("b"), "changed", counted(5), counted(6)),
        (user("c"), "removed", counted(5), None),
        added,
    ]
    assert rows(at_least(99)) == []


def test_a_version_that_cannot_be_made_is_not_compared(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [{1: [(b"a" * 8, V1)], 2: [], 3: []}])
    (root / "state/0/0/2.delta").unlink()
    result = differ(at(root, 1), at(root, 3))
    assert cell_values(result, "kind", "slug") == [("problem", "missing-version")]
    (root / "state/0/0/2.delta").write_bytes(b"broken")
    result = differ(at(root, 2), at(root, 3))
    assert cell_values(result, "kind", "slug") == [("problem", "bad-frame")]


def test_a_broken_snapshot_is_passed_over_for_the_deltas(tmp_path: Path) -> None:
    history = {1: [(b"a" * 8, V1)], 2: [(b"b" * 8, V1)], 3: [(b"a" * 8, V2)]}
    root = checkpoint(tmp_path, [history], {2: [(b"a" * 8, V1), (b"b" * 8, V1)]})
    (root / "state/0/0/2.snapshot").write_bytes(b"broken")
    result = differ(at(root, 2), at(root, 3))
    assert rows(result) == [(b"a" * 8, "changed", V1, V2)]
    assert cell_values(rows_where(result, kind="problem"), "slug") == ["bad-frame"]


def test_file_removed_between_passes_is_problem(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [{1: [(b"a" * 8, V1)], 2: [(b"a" * 8, V2)]}])
    read = StoreReader.blocks
    seen: list[str] = []

    def once(self: Any, file: Any) -> Any:
        seen.append(file.path)
        if seen.count(file.path) > 1:
            Path(file.path).write_bytes(b"broken")
        return read(self, file)

    with mock.patch.object(StoreReader, "blocks", once):
        result = differ(at(root, 1), at(root, 2))
    assert set(cell_values(rows_where(result, kind="problem"), "slug")) == {"vanished"}


def test_a_task_survives_its_way_as_text(tmp_path: Path) -> None:
    tasks = tuple(at(checkpoint(tmp_path, [{1: []}]), 1))
    diff_task = DiffTask(tasks, tasks, 3)
    assert DiffTask.from_json(diff_task.to_json()) == diff_task
