"""The rows of one version, with their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.records import RecordBlock
from inspector.facts.copied import RowPrints
from inspector.light_dataclasses import replace
from inspector.model import StoreFile
from inspector.passes import live_rows
from inspector.passes.binary_columns import records_of
from inspector.passes.live_rows import live_prints
from inspector.passes.store_reader import StoreReader, open_stores
from tests import cases
from tests.attributes import attributes
from tests.cases import Batch, run, run_rows, small_checkpoint, tasks_of
from tests.encode import Record
from tests.passes.support import rows_of_store, snapshot_of, specs_of, states_after
from tests.profiles import costly
from tests.reports import cell_values, rows_where, slugs

Rows = list[dict[str, Any]]
keys = st.sampled_from([b"", b"a" * 8, b"b" * 8, b"c" * 16])
new_values = st.none() | st.sampled_from([b"", b"v" * 8, b"w" * 16])
deltas = st.lists(st.tuples(keys, new_values), max_size=8)


def rows_of(root: Path, version: int | None = None) -> Rows:
    return run(specs_of(root, version), run_rows)


def write_history(
    root: Path, history: list[list[Record]], snapshot: int
) -> list[dict[bytes, bytes]]:
    """Write deltas, and a snapshot if there is such a version, and return the rows by version."""
    cases.write_logs(root, [Batch()] * len(history))
    states = states_after(history)
    deltas = dict(enumerate(history, 1))
    cases.write_store(root / "state/0/0", deltas, snapshot_of(states, snapshot))
    return states


@costly
@given(history=st.lists(deltas, min_size=1, max_size=4), snapshot=st.integers(0, 4))
def test_the_rows_are_those_of_a_dict(
    tmp_path_factory: pytest.TempPathFactory, history: list[list[Record]], snapshot: int
) -> None:
    root = tmp_path_factory.mktemp("c")
    for version, state in enumerate(write_history(root, history, snapshot)):
        rows = rows_where(rows_of(root, version), kind="row", version=version)
        assert rows == rows_of(root, version)
        assert sorted(cell_values(rows, "key", "value")) == sorted(state.items())


@costly
@given(history=st.lists(deltas, min_size=1, max_size=3), passes=st.integers(1, 2))
def test_prints_of_a_version_are_those_of_its_rows(
    tmp_path_factory: pytest.TempPathFactory, history: list[list[Record]], passes: int
) -> None:
    """Blocks that are read for the second time come after a key that is there twice."""
    root = tmp_path_factory.mktemp("c")
    write_history(root, history, snapshot=0)
    (task,) = tasks_of(root)
    task = replace(task, passes=passes)
    ((store, reader),) = open_stores(task)
    rows = cell_values(rows_of(root), "key", "value")
    assert live_prints(task, store, reader) == RowPrints.of_rows(rows)
    assert reader.problems == []


def newest_first(root: Path) -> tuple[list[tuple[bytes, bytes]], StoreReader]:
    """The rows of the only store, in the reverse of the files' order, and their reader."""
    (task,) = tasks_of(root)
    ((store, reader),) = open_stores(task)
    blocks = list(live_rows.live_blocks_newest_first(task, store, reader))
    return [row for block, rows in blocks for row in records_of(block, rows)], reader


@costly
@given(
    history=st.lists(deltas, min_size=1, max_size=4),
    snapshot=st.integers(0, 4),
    held_bytes=st.sampled_from([0, 20, 1 << 20]),
)
def test_rows_of_the_newest_files_first_are_the_live_rows(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[list[Record]],
    snapshot: int,
    held_bytes: int,
) -> None:
    root = tmp_path_factory.mktemp("c")
    state = write_history(root, history, snapshot)[-1]
    with mock.patch.object(live_rows, "HELD_BYTES", held_bytes):
        rows, reader = newest_first(root)
    assert sorted(rows) == sorted(state.items())
    assert reader.problems == []


def test_newest_files_first_until_one_cannot_be_read(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path / "c", [Batch(), Batch()])
    files = {1: [(b"a" * 8, b"v" * 8)], 2: [(b"b" * 8, b"v" * 8)]}
    cases.write_store(root / "state/0/0", files, {})
    rows, reader = newest_first(root)
    assert rows == [(b"b" * 8, b"v" * 8), (b"a" * 8, b"v" * 8)]
    (root / "state/0/0/1.delta").write_bytes(b"broken")
    rows, reader = newest_first(root)
    assert attributes(reader.problems, "path") == [str(root / "state/0/0/1.delta")]
    (root / "state/0/0/1.delta").unlink()
    rows, reader = newest_first(root)
    assert rows == []
    assert slugs(reader.problems) == ["missing-version"]


@pytest.mark.parametrize(("records", "times"), [([b"a", b"b"], 1), ([b"a", b"a"], 2)])
def test_files_with_each_key_once_are_read_once(
    records: list[bytes], times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = cases.write_logs(tmp_path / "c", [Batch()])
    cases.write_store(root / "state/0/0", {1: [(key * 8, b"v" * 8) for key in records]}, {})
    (task,) = tasks_of(root)
    ((store, reader),) = open_stores(task)
    read: list[str] = []
    decode = reader.blocks

    def blocks(file: StoreFile) -> Iterator[RecordBlock]:
        read.append(file.path)
        return decode(file)

    monkeypatch.setattr(reader, "blocks", blocks)
    assert live_prints(task, store, reader).rows == len(set(records))
    assert len(read) == times


def test_prints_of_half_a_version_are_those_of_no_row(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/0/2.delta").write_bytes(b"broken")
    (task,) = (task for task in tasks_of(root) if (task.operator_id, task.partition_id) == (1, 0))
    ((store, reader),) = open_stores(task)
    assert live_prints(task, store, reader) == RowPrints()
    assert attributes(reader.problems, "path") == [str(root / "state/1/0/2.delta")]


def test_every_row_has_its_place(tmp_path: Path) -> None:
    rows = rows_of(small_checkpoint(tmp_path), 2)
    assert len({cases.place(row) for row in rows}) == 9
    keys_of_store = cell_values(rows_of_store(rows, 1, "default", 0), "key")
    assert keys_of_store == [cases.micros(2_000_000), cases.micros(None)]


def test_half_a_version_is_no_answer(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/0/2.delta").write_bytes(b"broken")
    mine = rows_of_store(rows_of(root), 1, "default", 0)
    assert cell_values(mine, "kind", "path") == [("problem", str(root / "state/1/0/2.delta"))]


def test_missing_delta_is_version_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/0/2.delta").unlink()
    mine = rows_of_store(rows_of(root), 1, "default", 0)
    assert cell_values(mine, "kind", "slug") == [("problem", "missing-version")]
    assert "2.delta is missing" in mine[0]["message"]


def test_a_broken_snapshot_is_passed_over_for_the_deltas(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    complete = rows_of_store(rows_of(root), 1, "default", 1)
    (root / "state/1/1/3.snapshot").write_bytes(b"broken")
    mine = rows_of_store(rows_of(root), 1, "default", 1)
    live = rows_where(mine, kind="row")
    assert sorted(cell_values(live, "key")) == sorted(cell_values(complete, "key"))
    problem_paths = cell_values(rows_where(mine, kind="problem"), "path")
    assert problem_paths == [str(root / "state/1/1/3.snapshot")]


def test_a_broken_snapshot_whose_deltas_are_gone_has_no_rows(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/1/3.snapshot").write_bytes(b"broken")
    (root / "state/1/1/1.delta").unlink()
    mine = rows_of_store(rows_of(root), 1, "default", 1)
    assert cell_values(mine, "kind", "path") == [("problem", str(root / "state/1/1/3.snapshot"))]


def test_version_0_has_no_rows(tmp_path: Path) -> None:
    assert rows_of(small_checkpoint(tmp_path), 0) == []
