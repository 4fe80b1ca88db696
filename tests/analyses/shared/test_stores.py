"""Rows, histories, differences and typed tables, as calls."""

from __future__ import annotations

from pathlib import Path

from inspector.analyses.shared.stores import by_store
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from tests.cases import small_checkpoint
from tests.cli.support import checkpoint_of

GROUPS = str(checkpoint_of("fmgws_event_ignore"))
JOIN = str(checkpoint_of("join_left_outer"))
SNAPSHOTS = str(checkpoint_of("snapshots_cleaned"))
UNCOMMITTED = str(checkpoint_of("uncommitted"))


def test_tasks_grouped_by_store(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    result = by_store(plan(checkpoint, 4))
    assert [(location, len(tasks)) for location, tasks in result.items()] == [
        ((0, "left-keyToNumValues"), 3),
        ((0, "left-keyWithIndexToValue"), 3),
        ((1, "default"), 3),
    ]
    assert all(len(task.stores) == 1 for tasks in result.values() for task in tasks)
