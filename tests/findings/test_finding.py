"""Severities and default values of findings."""

from __future__ import annotations

from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.model import Certainty
from tests.attributes import attributes


def test_severity_order_and_words() -> None:
    assert sorted(Severity) == [Severity.INFO, Severity.WARNING, Severity.ERROR]
    assert attributes(Severity, "word") == ["info", "warning", "error"]


def test_finding_takes_defaults_from_its_kind() -> None:
    plain = Finding(KeptKeys.kind, Certainty.PROVEN, "3 rows", "call state.remove()")
    assert (plain.cause, plain.severity) == (KeptKeys.kind.cause, Severity.ERROR)
    assert plain.command == "leftovers"
    own = Finding(
        KeptKeys.kind, Certainty.INFERRED, "", "", cause="It was.", severity=Severity.INFO
    )
    assert (own.cause, own.severity) == ("It was.", Severity.INFO)
