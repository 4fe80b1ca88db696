"""The verdict's level."""

from __future__ import annotations

import pytest

from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Finding, Kind
from inspector.findings.lifetime.ss201_never_expires import NeverExpires
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.findings.verdict import Level, level_of
from inspector.model import Certainty, Problem


@pytest.mark.parametrize(
    ("kinds", "slugs", "level"),
    [
        ((), (), Level.OK),
        ((), ("uncommitted",), Level.OK),
        ((SameValues.kind,), (), Level.INFO),
        ((NeverExpires.kind, SameValues.kind), (), Level.WARNING),
        ((NeverExpires.kind, KeptKeys.kind), ("uncommitted",), Level.ERROR),
        ((), ("storage",), Level.UNREADABLE),
        ((KeptKeys.kind,), ("uncommitted", "truncated"), Level.UNREADABLE),
    ],
)
def test_verdict_level_of_most_severe_finding(
    kinds: tuple[Kind, ...], slugs: tuple[str, ...], level: Level
) -> None:
    findings = [Finding(kind, Certainty.PROVEN, "", "") for kind in kinds]
    assert level_of(findings, [Problem(slug, "") for slug in slugs]) is level


def test_verdict_levels_are_ranked_by_urgency() -> None:
    assert sorted(Level, key=lambda level: level.rank) == list(Level)
