"""Tasks grouped by store."""

from __future__ import annotations

from pathlib import Path

from inspector.analyses.shared.stores import by_store
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from tests.cases import small_checkpoint


def test_tasks_grouped_by_store(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    result = by_store(plan(checkpoint, 4))
    assert {store: [len(task.stores) for task in tasks] for store, tasks in result.items()} == {
        (0, "left-keyToNumValues"): [1, 1, 1],
        (0, "left-keyWithIndexToValue"): [1, 1, 1],
        (1, "default"): [1, 1, 1],
    }
