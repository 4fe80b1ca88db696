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
from inspector.model import KeyRange
from tests.attributes import attributes
from tests.fixture_folder import NEWEST


def tasks(name: str, *, fit: bool = False) -> list[Task]:
    checkpoint = open_checkpoint(str(NEWEST / name / "checkpoint"))
    return plan(checkpoint, checkpoint.newest_version, replace(ALL_LEFTOVERS, fit=fit))


def test_split_task_json_round_trip() -> None:
    (task, *_) = tasks("agg_update", fit=True)
    assert split_task(task, 1) == [task]
    first, second, third = split_task(task, 3, seed=5)
    assert (first.key_range, second.key_range) == (KeyRange(0, 3, 5), KeyRange(1, 3, 5))
    assert Task.from_json(third.to_json()) == third
    assert split_task(task, 3) != split_task(task, 3), "each split has another random seed"
    assert len(split_task(task, 1 << 20)) == MOST_RANGES


def test_only_the_first_range_checks_files() -> None:
    (task, *_) = tasks("agg_update", fit=True)
    assert any(attributes(task.stores, "side_files"))
    first, second = split_task(task, 2, seed=1)
    assert first.stores == task.stores
    assert first.speaks_for_files
    assert not second.speaks_for_files
    assert not any(attributes(second.stores, "side_files"))
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
    (store,) = task.stores
    assert [file.path.rpartition("/")[2] for file in files_to_replay(task, store)] == [
        *("1.delta", "2.delta", "3.delta", "4.delta", "5.delta"),
        *("6.delta", "7.delta", "8.delta", "9.delta", "10.delta"),
    ]
