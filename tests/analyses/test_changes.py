"""Changes as a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspector.analyses.changes import changes_report
from inspector.discovery.checkpoint import Checkpoint, open_checkpoint
from inspector.schemas import CHANGES, batch_of
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


def change(version: int, event: str, value: bytes | None = None, **more: Any) -> dict[str, Any]:
    place = {"operator_id": 0, "store_name": "default", "partition_id": 0}
    row = {"kind": "change", "version": version, "event": event, "key": KEY, "value": value}
    return place | row | {"record": 0, "path": f"{version}.delta"} | more


def test_changes_are_read_while_they_are_written(tmp_path: Path) -> None:
    found = checkpoint(tmp_path)
    bad = change(2, "", slug="bad-frame", message="bad") | {"kind": "problem"}
    batches = (batch_of(CHANGES, [row]) for row in (change(1, "insert", KEY), bad))
    report = changes_report(found, 2, batches, [], raw=True)
    assert report.complete
    (row,) = report.primary.rows
    assert row["key_hex"] == KEY.hex()
    assert not report.complete
