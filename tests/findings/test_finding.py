"""What a finding is."""

from __future__ import annotations

from inspector.findings.finding import Severity


def test_severities_sort_and_are_spelt_in_lower_case() -> None:
    assert sorted(Severity) == [Severity.INFO, Severity.WARNING, Severity.ERROR]
    assert [one.word for one in Severity] == ["info", "warning", "error"]
