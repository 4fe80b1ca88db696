"""Keys that are shown are read again: the facts are those of a map that keeps them all."""

from __future__ import annotations

import shutil
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import ALL_LEFTOVERS, Task
from inspector.kernel.loader import kernel_name
from inspector.passes.observe import StorePass
from inspector.passes.shown_keys import shows_few
from inspector.passes.store_reader import StoreReader, open_stores
from inspector.providers.chain import replay_steps
from tests.fixture_folder import NEWEST
from tests.reports import slugs


def tasks_of(path: Path, **request: Any) -> list[Task]:
    checkpoint = open_checkpoint(str(path))
    return plan(checkpoint, checkpoint.newest_version, replace(ALL_LEFTOVERS, **request))


def judged(task: Task, *, exact: bool, remove: Path | None = None) -> tuple[list[str], StoreReader]:
    """The facts on the judged version of a task's store; a file may go before keys are shown."""
    ((store, reader),) = open_stores(task)
    pass_ = StorePass(task, store, reader, exact=exact)
    for step in replay_steps(reader.provider.files_of(store.files), task.version):
        change = pass_.advance(step)
        assert change is not None
        assert list(pass_.emit_version(change, step))
    assert pass_.state.tracking.hashed is not exact
    if remove is not None:
        shutil.rmtree(remove)
    return sorted(map(repr, pass_.emit_last())), reader


@pytest.mark.parametrize(
    "name",
    [
        *("agg_update", "fmgws_event_ignore", "snapshot_in_middle"),
        *("rocksdb_agg_update_snapshots", "rocksdb_agg_update_snapshots_rowsum"),
        *("rocksdb_dedup_within_watermark", "rocksdb_fmgws_event_ignore"),
    ],
)
def test_facts_of_hashed_keys_equal_facts_of_kept_keys(name: str) -> None:
    display = 0
    for task in tasks_of(NEWEST / name / "checkpoint", fit=True, top=4, leftover_limit=3):
        result, reader = judged(task, exact=False)
        assert result == judged(task, exact=True)[0]
        assert not reader.problems
        display += sum("TopKey(" in item or "Leftover(" in item for item in result)
    assert display


def test_files_that_are_gone_by_then_are_a_problem(tmp_path: Path) -> None:
    shutil.copytree(NEWEST / "agg_update" / "checkpoint", tmp_path / "c")
    task = tasks_of(tmp_path / "c", top=2, leftover_limit=3)[0]
    folder = tmp_path / "c" / "state" / "0" / str(task.partition_id)
    result, reader = judged(task, exact=False, remove=folder)
    assert not any("TopKey(" in item for item in result)
    assert set(slugs(reader.problems)) == {"vanished"}


@pytest.mark.skipif(kernel_name() != "c", reason="the other kernel reads file by file")
def test_keys_of_deltas_that_were_just_read_together_need_no_file(tmp_path: Path) -> None:
    shutil.copytree(NEWEST / "fmgws_processing_time" / "checkpoint", tmp_path / "c")
    task = tasks_of(tmp_path / "c", top=2, leftover_limit=3)[0]
    ((store, reader),) = open_stores(task)
    pass_ = StorePass(task, store, reader)
    deque(pass_.read_together(replay_steps(reader.provider.files_of(store.files), task.version)))
    shutil.rmtree(tmp_path / "c" / "state")
    assert pass_.is_complete
    assert any("TopKey(" in repr(item) for item in pass_.emit_last())
    assert not reader.problems


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("agg_update", [True]),
        ("join_time_key", [False] * 4),
        ("session_window", [False]),
        ("rocksdb_agg_update", [True]),
        # Keys that disappear between zip files are removed by their bytes.
        ("rocksdb_agg_update_zips_one", [False]),
        ("rocksdb_join_left_outer_v3", [False] * 4),
        ("rocksdb_tws_event", [False] * 7),
    ],
)
def test_facts_that_need_keys_keep_them(name: str, expected: list[bool]) -> None:
    task = tasks_of(NEWEST / name / "checkpoint", leftover_limit=5)[0]
    assert [shows_few(task, store) for store in task.stores] == expected


def test_leftovers_without_limit_keep_keys() -> None:
    task = tasks_of(NEWEST / "agg_update" / "checkpoint", leftover_limit=0)[0]
    assert not shows_few(task, task.stores[0])
