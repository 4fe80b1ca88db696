"""Differences as a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspector.analyses.diff import DiffWanted, diff
from inspector.discovery.checkpoint import open_checkpoint
from inspector.render.formats import render
from inspector.schemas import DIFF, batch_of
from tests.cases import micros, small_checkpoint

DUMMY = b"\0" * 16
PLACE = {"operator_id": 1, "store_name": "default", "partition_id": 0, "version": 4}


def batches() -> list[Any]:
    counts = [
        PLACE | {"kind": "count", "change": change, "rows": n, "key_bytes": 16 * n}
        for change, n in (("added", 2), ("removed", 1), ("changed", 0))
    ]
    added = PLACE | {"kind": "row", "change": "added", "key": micros(1), "value": DUMMY}
    gone = PLACE | {"kind": "row", "change": "removed", "key": micros(2), "old_value": DUMMY}
    problem = PLACE | {"kind": "problem", "slug": "bad-frame", "message": "bad", "path": "x"}
    told = [counts, [gone], [added, added], counts, [problem]]
    return [batch_of(DIFF, rows) for rows in told]


def test_rows_then_counts(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    ends = ((checkpoint, 3), (checkpoint, 4))
    report = diff(*ends, batches(), [], DiffWanted(raw=True))
    gone, added, _ = report.primary.rows
    assert gone["old_value_bytes"] == 16
    assert gone["value"] is gone["value_bytes"] is gone["value_hex"] is None
    assert added["key_hex"] == micros(1).hex()
    counts = list(report.tables[1].rows)
    assert [(row["change"], row["rows"], row["key_bytes"]) for row in counts] == [
        ("added", 4, 64),
        ("changed", 0, 0),
        ("removed", 2, 32),
    ]
    assert not report.complete
    assert report.summary["from_version"] == 3
    assert report.summary["to_batch_id"] == 3


def test_a_limit_leaves_the_counts_whole(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    ends = ((checkpoint, 3), (checkpoint, 4))
    report = diff(*ends, batches(), [], DiffWanted(limit=2))
    assert len(list(report.primary.rows)) == 2
    assert sum(row["rows"] for row in report.tables[1].rows) == 6
    assert not report.complete


def test_two_checkpoints_are_both_named(tmp_path: Path) -> None:
    old = open_checkpoint(str(small_checkpoint(tmp_path / "old")))
    new = open_checkpoint(str(small_checkpoint(tmp_path / "new")))
    report = diff((old, 4), (new, 4), [], [], DiffWanted(notes=["only here"]))
    assert report.summary["from_checkpoint"] == str(tmp_path / "old")
    assert report.summary["to_checkpoint"] == str(tmp_path / "new")
    assert "only here" in "".join(render(report))
