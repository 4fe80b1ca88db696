"""SS124: batch that was planned and has written nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from inspector import api
from inspector.findings.finding import Finding, Severity
from inspector.findings.integrity import ss124_unwritten_batch
from inspector.findings.verdict import Level
from tests.checkpoint_files import files_below
from tests.cli.support import run
from tests.fixture_folder import NEWEST
from tests.listings import newest_batch
from tests.reports import finding_ids, findings_with_id

LATER_MS = 1_000


def planned(tmp_path: Path) -> tuple[Path, int, int]:
    """Return a checkpoint with a further planned batch that has not run.

    Returned with it are the time of the plan and the usual gap between batches, in milliseconds.
    """
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "agg_update/checkpoint", root)
    entries = sorted((root / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    text = entries[-1].read_text("utf-8")
    match = re.search(r'"batchTimestampMs":(\d+)', text)
    assert match is not None
    at = int(match[1]) + LATER_MS
    new = root / "offsets" / str(int(entries[-1].name) + 1)
    new.write_text(text.replace(match[1], str(at)), "utf-8")
    logged = "\n".join(entry.read_text("utf-8") for entry in entries)
    times = re.findall(r'"batchTimestampMs":(\d+)', logged)
    gaps = np.diff(np.array(times, np.int64))
    return root, at, int(np.median(gaps))


def findings(root: Path, now: int, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    monkeypatch.setattr(ss124_unwritten_batch, "epoch_ms", lambda: now)
    return findings_with_id(api.audit(str(root)), "SS124")


def test_severity_depends_on_age_of_planned_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, at, gap = planned(tmp_path)
    assert not findings(root, at + gap, monkeypatch)
    assert not findings(root, at - 5_000, monkeypatch)  # the clock of another machine
    (noted,) = findings(root, at + 4 * gap, monkeypatch)
    assert noted.severity is Severity.INFO
    (late,) = findings(root, at + 10 * gap + 60_000, monkeypatch)
    assert late.severity is Severity.WARNING


def test_first_screen_has_time_and_age_of_planned_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, at, _ = planned(tmp_path)
    monkeypatch.setattr(ss124_unwritten_batch, "epoch_ms", lambda: at + 3 * 3_600_000)
    report = api.audit(str(root))
    assert report.level is Level.WARNING
    batch = newest_batch(root)
    first, *_ = run("audit", root).out.splitlines()
    assert first.startswith(f"Warning: Batch {batch} was planned at ")
    assert report.verdict is not None
    assert report.verdict.cause is not None
    assert "has written nothing for 3 h: it runs, or it failed." in report.verdict.cause.sentence


def test_batch_that_is_writing_state_has_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, at, _ = planned(tmp_path)
    version = newest_batch(root) + 1
    begun = root / f"state/0/0/.{version}.delta.0f6d2c1e-6b1f-4a5e-8a1d-000000000001.TID1.tmp"
    begun.write_bytes(b"")
    assert not findings(root, at + 3_600_000, monkeypatch)
    begun.rename(root / f"state/0/0/{version}.delta")
    assert not findings(root, at + 3_600_000, monkeypatch)


@pytest.mark.parametrize("case", ["agg_update", "uncommitted", "restarted"])
def test_query_stopped_after_commit_has_no_finding(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not findings(NEWEST / case / "checkpoint", 1 << 42, monkeypatch)


def stateless(tmp_path: Path) -> tuple[Path, int]:
    """Return a checkpoint without state whose newest batch has no commit, and the time of its plan.

    The time is in milliseconds. The usual gap between batches is a second.
    """
    root, second = tmp_path / "checkpoint", 1_700_000_000
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    for batch in range(4):
        header = {"batchWatermarkMs": 0, "batchTimestampMs": (second + batch) * 1000}
        text = f"v1\n{json.dumps({**header, 'conf': {'a': 'b'}})}\n{batch}"
        (root / "offsets" / str(batch)).write_text(text, "utf-8")
        (root / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}', "utf-8")
    (root / "commits/3").unlink()
    (root / "metadata").write_text('{"id":"3213a404-e99a-4381-a6ba-59542cfc3041"}', "utf-8")
    return root, (second + 3) * 1000


def test_stateless_query_without_commit_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, at = stateless(tmp_path)
    (finding,) = findings(root, at + 3_600_000, monkeypatch)
    assert "Batch 3 was planned at " in finding.cause
    assert "has no commit for 1 h" in finding.cause


@pytest.mark.parametrize(
    ("age_ms", "severity"), [(59_999, Severity.INFO), (60_000, Severity.WARNING)]
)
def test_batch_of_short_gaps_is_a_warning_after_a_minute(
    age_ms: int, severity: Severity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, at = stateless(tmp_path)
    (finding,) = findings(root, at + age_ms, monkeypatch)
    assert finding.severity is severity


def test_time_dependent_audit_is_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, at, gap = planned(tmp_path)
    for file in files_below(root):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    options = api.Options(cache=str(tmp_path / "cache"))
    monkeypatch.setattr(ss124_unwritten_batch, "epoch_ms", lambda: at + gap)
    assert "SS124" not in finding_ids(api.audit(str(root), options))
    monkeypatch.setattr(ss124_unwritten_batch, "epoch_ms", lambda: at + 3 * 3_600_000)
    assert "SS124" in finding_ids(api.audit(str(root), options))
