"""Which records are of a task's range: of the stores of a join by the join key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Task, split_task
from inspector.passes.tracked import range_filter
from tests.fixture_folder import NEWEST


def first_task(name: str) -> Task:
    checkpoint = open_checkpoint(str(NEWEST / name / "checkpoint"))
    return plan(checkpoint, checkpoint.newest_version)[0]


def masks(name: str) -> dict[str, list[int]]:
    task, _ = split_task(first_task(name), 2)
    result = {store.store_name: range_filter(task, store) for store in task.stores}
    return {store: [] if item is None else item.masks.tolist() for store, item in result.items()}


def test_a_task_about_all_keys_has_no_filter() -> None:
    task = first_task("agg_update")
    assert range_filter(task, task.stores[0]) is None


def test_whole_keys_count_where_none_has_a_part_in_common() -> None:
    assert masks("agg_update") == {"default": []}


def test_sessions_go_by_their_group() -> None:
    """Null bits, and the session's start in the last word, do not count."""
    (value,) = masks("session_window").values()
    assert value[0] == value[-1] == 0


def test_the_stores_of_a_join_go_by_the_join_key() -> None:
    assert masks("join_time_key") == {
        "left-keyToNumValues": [0, -1],
        "left-keyWithIndexToValue": [0, -1, 0],
        "right-keyToNumValues": [0, -1],
        "right-keyWithIndexToValue": [0, -1, 0],
    }


@pytest.mark.parametrize("store_number", range(4))
def test_without_a_schema_whole_keys_count(store_number: int) -> None:
    task, _ = split_task(first_task("join_time_key"), 2)
    bare = replace(task, stores=tuple(replace(item, key_schema=None) for item in task.stores))
    result = range_filter(bare, bare.stores[store_number])
    assert result is not None
    assert result.masks.tolist() == []
