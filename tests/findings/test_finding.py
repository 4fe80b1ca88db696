"""What a finding is."""

from __future__ import annotations

from inspector.findings.catalogue import TIMEOUT_KEPT
from inspector.findings.finding import Finding, Severity
from inspector.model import Certainty


def test_severities_sort_and_are_spelt_in_lower_case() -> None:
    assert sorted(Severity) == [Severity.INFO, Severity.WARNING, Severity.ERROR]
    assert [one.word for one in Severity] == ["info", "warning", "error"]


def test_what_a_finding_leaves_open_is_said_by_its_kind() -> None:
    plain = Finding(TIMEOUT_KEPT, Certainty.PROVEN, "3 rows", "call state.remove()")
    assert (plain.cause, plain.severity) == (TIMEOUT_KEPT.cause, Severity.ERROR)
    assert plain.command == "leftovers"
    own = Finding(TIMEOUT_KEPT, Certainty.INFERRED, "", "", cause="It was.", severity=Severity.INFO)
    assert (own.cause, own.severity) == ("It was.", Severity.INFO)
