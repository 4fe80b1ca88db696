"""A checkpoint of group state, and change records for reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspector.discovery.checkpoint import Checkpoint, open_checkpoint
from tests import cases
from tests.cases import Batch, user

KEY = user("a")


def checkpoint(root: Path) -> Checkpoint:
    batches = [Batch(0, 1000), Batch(2000, 3000), Batch(2000, 4000, committed=False)]
    cases.write_logs(root, batches)
    cases.write_operator(root, 0, "flatMapGroupsWithState", "default")
    for partition in (0, 1):
        cases.write_store(root / "state/0" / str(partition), {1: [], 2: [], 3: []})
    cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    return open_checkpoint(str(root))


def change(version: int, event: str, value: bytes | None = None, **options: Any) -> dict[str, Any]:
    location = {"operator_id": 0, "store_name": "default", "partition_id": 0}
    row = {"kind": "change", "version": version, "event": event, "key": KEY, "value": value}
    return location | row | {"record": 0, "path": f"{version}.delta"} | options
