"""Facts to findings: all rules, the gravest first."""

import pytest

from inspector.analyses.shared.run import Run
from inspector.findings.finding import Finding, Severity
from inspector.findings.judge import judge
from inspector.model import Certainty
from tests.cli.support import checkpoint_of


def judged(run: Run) -> tuple[Finding, ...]:
    facts = run.facts()
    return judge(run.checkpoint, run.version, facts, run.problems(facts))


def kinds(case: str) -> list[str]:
    run = Run.start(str(checkpoint_of(case)), None)
    found = judged(run)
    # Inferred ones about single keys may stand beside them, and what is information.
    sure = [f for f in found if f.certainty is Certainty.PROVEN and f.severity is not Severity.INFO]
    return [f.kind.id for f in found if f.kind.id != "SS201" or f in sure]


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
def test_every_rule_is_asked(case: str, expected: list[str]) -> None:
    assert kinds(case) == expected


@pytest.mark.parametrize("case", ["fmgws_event_ignore", "agg_v1", "dedup_no_watermark"])
def test_the_gravest_come_first(case: str) -> None:
    run = Run.start(str(checkpoint_of(case)), None)
    found = judged(run)
    assert found
    assert list(found) == sorted(found, key=lambda f: (-f.severity, f.kind.id))
