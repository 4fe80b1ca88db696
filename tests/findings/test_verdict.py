"""The verdict's level."""

from __future__ import annotations

import pytest

from inspector.findings.catalogue import NEVER_EXPIRES, TIMEOUT_KEPT
from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Finding, Kind
from inspector.findings.verdict import Level, level_of
from inspector.model import Certainty, Problem


@pytest.mark.parametrize(
    ("kinds", "slugs", "level"),
    [
        ((), (), Level.OK),
        ((), ("uncommitted",), Level.OK),
        ((SameValues.kind,), (), Level.INFO),
        ((NEVER_EXPIRES, SameValues.kind), (), Level.WARNING),
        ((NEVER_EXPIRES, TIMEOUT_KEPT), ("uncommitted",), Level.ERROR),
        ((), ("storage",), Level.UNREADABLE),
        ((TIMEOUT_KEPT,), ("uncommitted", "truncated"), Level.UNREADABLE),
    ],
)
def test_the_level_is_that_of_the_gravest(
    kinds: tuple[Kind, ...], slugs: tuple[str, ...], level: Level
) -> None:
    findings = [Finding(kind, Certainty.PROVEN, "", "") for kind in kinds]
    assert level_of(findings, [Problem(slug, "") for slug in slugs]) is level


def test_levels_are_ranked_by_urgency() -> None:
    assert sorted(Level, key=lambda level: level.rank) == list(Level)
