"""What a finding is."""

from __future__ import annotations

from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.model import Certainty


def test_severities_sort_and_are_spelt_in_lower_case() -> None:
    assert sorted(Severity) == [Severity.INFO, Severity.WARNING, Severity.ERROR]
    assert [item.word for item in Severity] == ["info", "warning", "error"]


def test_what_a_finding_leaves_open_is_said_by_its_kind() -> None:
    plain = Finding(KeptKeys.kind, Certainty.PROVEN, "3 rows", "call state.remove()")
    assert (plain.cause, plain.severity) == (KeptKeys.kind.cause, Severity.ERROR)
    assert plain.command == "leftovers"
    own = Finding(
        KeptKeys.kind, Certainty.INFERRED, "", "", cause="It was.", severity=Severity.INFO
    )
    assert (own.cause, own.severity) == ("It was.", Severity.INFO)
