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
from tests.profiles import costly

keys = st.sampled_from([b"", b"a" * 8, b"b" * 8, b"c" * 8])
values = st.none() | st.sampled_from([b"", b"v" * 8, b"w" * 16])
deltas = st.lists(st.tuples(keys, values), max_size=6)
V1, V2 = b"v" * 8, b"w" * 16


def checkpoint(
    root: Path,
    partitions: Sequence[Mapping[int, Sequence[Record]]],
    snapshots: Mapping[int, Sequence[Record]] | None = None,
) -> Path:
    newest = max((v for deltas in partitions for v in deltas), default=0)
    cases.write_logs(root, [Batch() for _ in range(newest)])
    for number, history in enumerate(partitions):
        cases.write_store(root / "state/0" / str(number), history, snapshots)
    cases.write_schema(root / "state/0/0", cases.USER, cases.EXPIRES_AT)
    return root


def at(root: Path, version: int) -> list[Task]:
    return [replace(task, version=version) for task in tasks_of(root)]


def differ(old: Sequence[Task], new: Sequence[Task], limit: int = 0) -> list[dict[str, Any]]:
    batches = differences_of(DiffTask(tuple(old), tuple(new), limit))
    return [row for batch in batches for row in batch.to_pylist()]


def rows(result: Sequence[dict[str, Any]]) -> dict[bytes, tuple[Any, ...]]:
    actual = [r for r in result if r["kind"] == "row"]
    by_key = {r["key"]: (r["change"], r["old_value"], r["value"]) for r in actual}
    assert len(by_key) == len(actual)
    return by_key


def versions(history: Sequence[Sequence[Record]]) -> list[dict[bytes, bytes]]:
    states: list[dict[bytes, bytes]] = [{}]
    for records in history:
        state = dict(states[-1])
        for key, value in records:
            state.pop(key, None)
            state.update({} if value is None else {key: value})
        states.append(state)
    return states


def expected(old: dict[bytes, bytes], new: dict[bytes, bytes]) -> dict[bytes, tuple[Any, ...]]:
    messages: dict[bytes, tuple[Any, ...]] = {}
    for key in {*old, *new}:
        before, after = old.get(key), new.get(key)
        change = "added" if before is None else "removed" if after is None else "changed"
        if before != after:
            messages[key] = (change, before, after)
    return messages


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
    states = versions(history)
    snapshots = {snapshot: list(states[snapshot].items())} if snapshot < len(states) else {}
    deltas = dict(enumerate(history, 1))
    root = checkpoint(tmp_path_factory.mktemp("c"), [deltas], snapshots)
    with mock.patch.object(diff, "PAIRING_BYTES", budget):
        for old in range(len(states)):
            for new in {0, max(old - 1, 0), len(states) - 1}:
                result = differ(at(root, old), at(root, new))
                want = expected(states[old], states[new])
                assert rows(result) == want
                counts = {r["change"]: r["rows"] for r in result if r["kind"] == "count"}
                names = ("added", "removed", "changed")
                kinds = [change for change, *_ in want.values()]
                assert counts == {name: kinds.count(name) for name in names}
                assert len(result) == len(want) + 3


def test_stores_with_other_numbers_of_partitions_are_compared_as_a_whole(tmp_path: Path) -> None:
    old = checkpoint(tmp_path / "old", [{1: [(b"a" * 8, V1)]}, {1: [(b"b" * 8, V1)]}])
    new = checkpoint(tmp_path / "new", [{1: [(b"b" * 8, V2), (b"c" * 8, V1), (b"a" * 8, V1)]}])
    result = differ(at(old, 1), at(new, 1))
    assert rows(result) == {b"b" * 8: ("changed", V1, V2), b"c" * 8: ("added", None, V1)}
    counts = [row for row in result if row["kind"] == "count"]
    assert {row["partition_id"] for row in counts} == {None}
    assert [row["old_value_bytes"] for row in counts] == [None, 0, 8]


def test_a_limit_is_of_rows_and_not_of_counts(tmp_path: Path) -> None:
    records: list[Record] = [(user(str(n)), V1) for n in range(50)]
    root = checkpoint(tmp_path, [{1: records}])
    result = differ(at(root, 0), at(root, 1), limit=7)
    assert len(rows(result)) == 7
    assert [row["rows"] for row in result if row["kind"] == "count"] == [50, 0, 0]


def test_differences_of_selected_keys(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [{1: [(user("a"), V1), (user("b"), V1)], 2: [(user("a"), V2)]}])
    old, new = ([replace(t, where=("value=a",)) for t in at(root, v)] for v in (0, 2))
    assert rows(differ(old, new)) == {user("a"): ("added", None, V2)}


VALUE_SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true}]}'


def counted(number: int) -> bytes:
    """A value of that schema."""
    return bytes(8) + number.to_bytes(8, "little")


def test_differences_with_selected_old_or_new_value(tmp_path: Path) -> None:
    first: list[Record] = [(user(name), counted(5)) for name in "abcd"]
    then: list[Record] = [
        *((user("a"), counted(15)), (user("b"), counted(6)), (user("c"), None)),
        *((user("e"), counted(20)), (user("f"), counted(1))),
    ]
    root = checkpoint(tmp_path, [{1: first, 2: then}])

    def at_least(number: int) -> list[dict[str, Any]]:
        def tasks(version: int) -> list[Task]:
            typed = (
                replace(task, stores=(replace(task.stores[0], value_schema=VALUE_SCHEMA),))
                for task in at(root, version)
            )
            return [replace(task, where=(f"value.n>={number}",)) for task in typed]

        return differ(tasks(1), tasks(2))

    result = at_least(10)
    assert rows(result) == {
        user("a"): ("changed", counted(5), counted(15)),
        user("e"): ("added", None, counted(20)),
    }
    counts = {row["change"]: row["rows"] for row in result if row["kind"] == "count"}
    assert counts == {"added": 1, "removed": 0, "changed": 1}
    assert set(rows(at_least(5))) == {user(name) for name in "abce"}
    assert rows(at_least(99)) == {}


def test_a_version_that_cannot_be_made_is_not_compared(tmp_path: Path) -> None:
    root = checkpoint(tmp_path, [{1: [(b"a" * 8, V1)], 2: [], 3: []}])
    (root / "state/0/0/2.delta").unlink()
    result = differ(at(root, 1), at(root, 3))
    assert [(row["kind"], row["slug"]) for row in result] == [("problem", "missing-version")]
    (root / "state/0/0/2.delta").write_bytes(b"broken")
    result = differ(at(root, 2), at(root, 3))
    assert [(row["kind"], row["slug"]) for row in result] == [("problem", "bad-frame")]


def test_a_broken_snapshot_is_passed_over_for_the_deltas(tmp_path: Path) -> None:
    history = {1: [(b"a" * 8, V1)], 2: [(b"b" * 8, V1)], 3: [(b"a" * 8, V2)]}
    root = checkpoint(tmp_path, [history], {2: [(b"a" * 8, V1), (b"b" * 8, V1)]})
    (root / "state/0/0/2.snapshot").write_bytes(b"broken")
    result = differ(at(root, 2), at(root, 3))
    assert rows(result) == {b"a" * 8: ("changed", V1, V2)}
    assert [row["slug"] for row in result if row["kind"] == "problem"] == ["bad-frame"]


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
    assert {row["slug"] for row in result if row["kind"] == "problem"} == {"vanished"}


def test_a_task_survives_its_way_as_text(tmp_path: Path) -> None:
    tasks = tuple(at(checkpoint(tmp_path, [{1: []}]), 1))
    diff_task = DiffTask(tasks, tasks, 3)
    assert DiffTask.from_json(diff_task.to_json()) == diff_task
