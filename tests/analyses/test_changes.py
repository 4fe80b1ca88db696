"""Reports of changes."""

from __future__ import annotations

from pathlib import Path

from inspector.analyses.changes import changes_report
from inspector.analyses.shared.judged import Subject
from inspector.schemas import CHANGES, batch_of
from tests.analyses.change_cases import KEY, change, checkpoint


def test_changes_report_reads_batches_lazily(tmp_path: Path) -> None:
    result = checkpoint(tmp_path)
    bad = change(2, "", slug="bad-frame", message="bad") | {"kind": "problem"}
    batches = (batch_of(CHANGES, [row]) for row in (change(1, "insert", KEY), bad))
    report = changes_report(Subject(result, 2), batches, raw=True)
    assert report.complete
    (row,) = report.primary.rows
    assert row["key_hex"] == KEY.hex()
    assert not report.complete
