"""One line that says what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from inspector.findings.finding import Finding
from inspector.model import Problem


def verdict(findings: Sequence[Finding], problems: Sequence[Problem]) -> str:
    """One line: what was found, by severity; and whether all could be read."""
    severities = Counter(finding.kind.severity.word for finding in findings)
    words = [f"{severities[s]} {s}" for s in ("error", "warning", "info") if severities[s]]
    text = ", ".join(words) if words else "no findings"
    return f"{text}; {len(problems)} problems" if problems else text
