"""One line that says what was found."""

import pytest

from inspector.analyses.shared.verdict import verdict
from inspector.findings.catalogue import NEVER_EXPIRES, SAME_VALUE, TIMEOUT_KEPT
from inspector.findings.finding import Finding, Kind
from inspector.model import Certainty, Problem


@pytest.mark.parametrize(
    ("kinds", "problems", "expected"),
    [
        ((), 0, "no findings"),
        ((), 2, "no findings; 2 problems"),
        ((TIMEOUT_KEPT,), 0, "1 error"),
        ((SAME_VALUE, NEVER_EXPIRES, TIMEOUT_KEPT, SAME_VALUE), 0, "1 error, 1 warning, 2 info"),
        ((NEVER_EXPIRES,), 1, "1 warning; 1 problems"),
    ],
)
def test_a_verdict_counts_by_severity(
    kinds: tuple[Kind, ...], problems: int, expected: str
) -> None:
    findings = [Finding(kind, Certainty.PROVEN, "", "") for kind in kinds]
    assert verdict(findings, [Problem("storage", "")] * problems) == expected
