"""Facts become findings of all rules, the most severe first."""

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.run import Run
from inspector.findings.finding import Finding, Severity
from inspector.findings.judge import judge
from inspector.model import Certainty
from tests.attributes import attributes
from tests.cli.support import checkpoint_of
from tests.reports import findings_with_id


def judged(run: Run) -> tuple[Finding, ...]:
    facts = run.facts()
    return judge(run.checkpoint, run.version, facts, run.problems(facts))


def kinds(case: str) -> list[str]:
    """Return the ids of the findings, except inferred ones and information about SS201."""
    result = attributes(
        judged(Run.start(str(checkpoint_of(case)), None)), "kind.id", "certainty", "severity"
    )
    return [
        id_
        for id_, certainty, severity in result
        if id_ != "SS201" or (certainty is Certainty.PROVEN and severity is not Severity.INFO)
    ]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("agg_update", []),
        ("agg_v1", ["SS301"]),
        ("agg_complete", ["SS202"]),
        ("dedup_no_watermark", ["SS201"]),
        ("fmgws_event_ignore", ["SS203"]),
        ("fmgws_event_remove", []),
        ("join_left_outer", []),
    ],
)
def test_judge_applies_all_rules(case: str, expected: list[str]) -> None:
    assert kinds(case) == expected


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "agg_v1", "dedup_no_watermark"])
def test_most_severe_findings_come_first(case: str) -> None:
    run = Run.start(str(checkpoint_of(case)), None)
    result = judged(run)
    assert result
    assert list(result) == sorted(result, key=lambda f: (-f.severity, f.kind.id))


def test_evidence_names_two_attempts_at_one_batch(tmp_path: Path) -> None:
    """Temporary files of versions that exist: Spark kept the files of the first attempts."""
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("trouble_kept_timeouts"), root)
    (before,) = findings_with_id(api.audit(str(root)), "SS203")
    folder = root / "state/0/0"
    for name in ("3.delta", "4.delta", "99.delta"):
        temporary = folder / f".{name}.0f6d2c1e-6b1f-4a5e-8a1d-000000000001.TID7.tmp"
        shutil.copy(folder / "3.delta", temporary)
    (after,) = findings_with_id(api.audit(str(root)), "SS203")
    words = "two attempts wrote versions 3-4: this is proven of the files, and the running query"
    assert after.evidence.startswith(f"{before.evidence}; {words}")
    assert (after.severity, after.certainty) == (before.severity, before.certainty)
