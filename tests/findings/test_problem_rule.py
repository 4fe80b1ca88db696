"""Rules about problems, and findings about files that a restart does not need."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inspector import api
from inspector.checkpoint.log_checks import LOST_ENTRY
from inspector.discovery.restart import Load
from inspector.findings.integrity.ss102_unreadable_file import UnreadableFile
from inspector.findings.integrity.ss104_snapshot_differs import SnapshotDiffers
from inspector.findings.problem_rule import lost_versions, short_message
from inspector.light_dataclasses import replace
from inspector.model import Problem, StoreId
from inspector.providers.chain import FileNames
from tests.attributes import attributes
from tests.fixture_folder import NEWEST
from tests.reports import findings_with_id
from tests.store_views import problem, problem_findings

STORE = StoreId(3, "default", 1)
CUT = problem("bad-frame", "state/0/1/1.delta")
SNAPSHOT = Problem("bad-frame", "got 1", "state/0/1/9.snapshot", 0, STORE, 9)


def restart(*, spared: bool = True, back: int | None = None, base: int = 4) -> Any:
    """Return a restart that loads one partition, with or without the files of problems."""
    return SimpleNamespace(
        names=FileNames("{}.delta", "{}.snapshot"),
        obstacles=(),
        loads=(Load(STORE, base, 5),),
        batch=7,
        again=True,
        back=back,
        loads_without=lambda _: spared,
        remedy=lambda _: "",
    )


@pytest.fixture(autouse=True)
def _plain_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let views use these restarts unchanged."""
    path = "inspector.findings.views.judged_version.replace"
    monkeypatch.setattr(path, lambda value, **_: value)


def test_unreadable_file_not_needed_by_restart_is_warning() -> None:
    (finding,) = problem_findings(UnreadableFile, CUT, restart=restart())
    assert finding.severity.word == "warning"
    assert finding.cause == (
        "At state/0/1/1.delta: got 1; the query restarts without it, and only earlier versions "
        "are lost."
    )
    assert finding.next_step.startswith("nothing is needed to go on, and Spark's cleanup removes ")
    (finding,) = problem_findings(SnapshotDiffers, problem("snapshot-differs"), restart=restart())
    assert finding.severity.word == "error"


def test_next_step_offers_copy_of_earlier_batch() -> None:
    of = restart(spared=False, back=1200)
    (finding,) = problem_findings(UnreadableFile, CUT, restart=of)
    assert "or go back to batch 1,200 in a copy (inspector copy PATH NEW --batch 1200 " in (
        finding.next_step
    )
    (finding,) = problem_findings(SnapshotDiffers, problem("snapshot-differs"), restart=of)
    assert finding.next_step == SnapshotDiffers.next_step


@pytest.mark.parametrize(
    ("problems", "words"),
    [
        ([SNAPSHOT], ", and no version is lost"),
        ([replace(SNAPSHOT, version=3)], ", and at most earlier versions are lost"),
        ([SNAPSHOT, replace(SNAPSHOT, version=0)], ", and at most earlier versions are lost"),
        ([SNAPSHOT, replace(CUT, version=1)], ", and only earlier versions are lost"),
        ([Problem(LOST_ENTRY, "got 1", "offsets/3")], ", and runs batch 7 again"),
        ([Problem("truncated", "got 1", "offsets/3")], ""),
    ],
)
def test_lost_versions_wording(problems: Sequence[Problem], words: str) -> None:
    assert lost_versions(problems, restart()) == words


def test_problems_are_grouped_into_one_finding_per_operator() -> None:
    second = replace(CUT, path="/c", store=StoreId(4, "default", 0))
    result = problem_findings(UnreadableFile, CUT, replace(CUT, path="/b"), second)
    assert attributes(result, "operator_id", "evidence") == [
        (3, "state/0/1/1.delta: got 1 (and 1 more, see problems)"),
        (4, "/c: got 1"),
    ]


def test_short_message_drops_expectation_of_long_message() -> None:
    long = problem("bad-frame", message=f"got {'x' * 90}, expected another")
    assert short_message(long) == f"got {'x' * 90}"
    assert short_message(problem("bad-frame", message="got 1, expected 2")) == "got 1, expected 2"


def test_threshold_sets_minimum_number_of_problems(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "agg_append/checkpoint", root)
    original = NEWEST / "agg_append/checkpoint/state/0"
    shutil.copy(original / "1/8.delta", root / "state/0/0/8.delta")
    shutil.copy(original / "1/9.delta", root / "state/0/0/9.delta")
    shutil.copy(original / "0/8.delta", root / "state/0/1/8.delta")
    shutil.copy(original / "0/9.delta", root / "state/0/1/9.delta")
    (finding,) = findings_with_id(api.audit(str(root)), "SS113")
    count = finding.occurrences or 0
    assert count > 1
    exact, above = ({"SS113": str(minimum)} for minimum in (count, count + 1))
    assert findings_with_id(api.audit(str(root), api.Options(thresholds=exact)), "SS113")
    assert not findings_with_id(api.audit(str(root), api.Options(thresholds=above)), "SS113")
