"""Tasks split by ranges of keys."""

from __future__ import annotations

from dataclasses import replace

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import (
    ALL_LEFTOVERS,
    MOST_RANGES,
    Task,
    files_to_replay,
    needs_bounds,
    split_task,
    with_bounds,
)
from inspector.facts.timers import CallBounds
from tests.fixture_folder import NEWEST


def tasks(name: str, *, fit: bool = False) -> list[Task]:
    checkpoint = open_checkpoint(str(NEWEST / name / "checkpoint"))
    return plan(checkpoint, checkpoint.newest_version, replace(ALL_LEFTOVERS, fit=fit))


def test_split_task_json_round_trip() -> None:
    (task, *_) = tasks("agg_update", fit=True)
    assert split_task(task, 1) == [task]
    split = split_task(task, 3)
    assert [entry.key_range and entry.key_range.number for entry in split] == [0, 1, 2]
    assert len({item.key_range and item.key_range.seed for item in split}) == 1
    assert [Task.from_json(element.to_json()) for element in split] == split
    assert split != split_task(task, 3), "the seed is drawn anew"
    assert len(split_task(task, 1 << 20)) == MOST_RANGES


def test_only_the_first_range_checks_files() -> None:
    (task, *_) = tasks("agg_update", fit=True)
    assert any(store.side_files for store in task.stores)
    first, second = split_task(task, 2, seed=1)
    assert first.stores == task.stores
    assert first.speaks_for_files
    assert not second.speaks_for_files
    assert not any(store.side_files for store in second.stores)
    assert task.speaks_for_files


def test_split_tasks_with_timers_need_bounds() -> None:
    (timers, *_), (windows, *_) = tasks("fmgws_event_idle"), tasks("agg_update")
    assert not needs_bounds(timers)
    first, second = split_task(timers, 2)
    assert needs_bounds(first)
    assert not needs_bounds(split_task(windows, 2)[0])
    store = second.store_id(second.stores[0])
    result = with_bounds(second, {store: {3: CallBounds(1, 2, 3)}})
    assert result.stores[0].call_bounds == {3: (1, 2, 3, -1, -1, 0, 0)}
    assert Task.from_json(result.to_json()) == result


def test_files_to_replay_of_a_task() -> None:
    (task, *_) = tasks("snapshot_in_middle")
    for store in task.stores:
        result = files_to_replay(task, store)
        assert result
        assert {file.path for file in result} <= {file.path for file in store.files}
        assert [file.version for file in result] == sorted(file.version or 0 for file in result)
