"""SS203: timeout fired and key kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss203_kept_keys import IGNORED, KEPT, REARMED, KeptKeys
from inspector.model import Certainty
from inspector.operators.rule import StoreRule
from tests.cases import TIMER
from tests.store_views import leftover_view

PROVEN, INFERRED, UNDECIDED = Certainty
RULE = StoreRule(expiry=TIMER, advice="call state.remove() in the branch where state.hasTimedOut")


def total(kind: LeftoverClass, certainty: Certainty = PROVEN, rows: int = 3) -> LeftoverCount:
    return LeftoverCount(kind, certainty, 9, rows=rows, key_bytes=80, value_bytes=160, fired=1)


def findings(*totals: LeftoverCount, rule: StoreRule = RULE) -> list[Finding]:
    view = leftover_view(rule, *totals, operator_name="flatMapGroupsWithState")
    return list(KeptKeys().findings(view))


@pytest.mark.parametrize(
    ("result", "severity"),
    [
        (total(KEPT), Severity.ERROR),
        (total(IGNORED), Severity.ERROR),
        (total(KEPT, INFERRED), Severity.WARNING),
        (total(IGNORED, INFERRED), Severity.WARNING),
        (total(REARMED), Severity.INFO),
        (replace(total(REARMED), fired=2, changed=3), Severity.INFO),
        (replace(total(REARMED), fired=1, untouched=3), Severity.INFO),
        (replace(total(REARMED), fired=2, untouched=3), Severity.WARNING),
    ],
)
def test_only_proven_stuck_keys_are_an_error(result: LeftoverCount, severity: Severity) -> None:
    (finding,) = findings(result)
    assert (finding.kind.id, finding.severity) == ("SS203", severity)
    assert (finding.certainty, finding.rows, finding.bytes) == (result.certainty, 3, 240)
    assert finding.cause.startswith(
        "3 keys" if result.certainty is PROVEN else "Most likely 3 keys"
    )


def test_keys_kept_after_timeout_leaked() -> None:
    (items,), (item,) = findings(total(KEPT)), findings(total(KEPT, rows=1))
    assert items.cause == (
        "3 keys leaked: their timeout fired and the function did not call state.remove()."
    )
    assert item.cause == (
        "1 key leaked: its timeout fired and the function did not call state.remove()."
    )
    assert items.evidence == (
        "3 keys were kept without a timeout after their timeout fired, the oldest since batch 8"
    )
    assert "For the keys that are there a copy can have the function called" in items.next_step


def test_unhandled_timeouts_fire_again() -> None:
    (finding,) = findings(total(IGNORED))
    assert finding.cause.endswith("did nothing about it, so that it fires again in every batch.")
    assert finding.next_step.startswith("call state.remove() in the branch ")
    assert "need no copy: their timers are set" in finding.next_step


def test_rearmed_timeouts_are_dated_by_first_timeout() -> None:
    again = replace(total(REARMED), expired_version=16, fired=12, first_expired_version=5)
    (finding,) = findings(again)
    assert finding.cause == (
        "3 keys were kept: their timeout fired (up to 12 times in a row), and the function set a "
        "new one and did not call state.remove()."
    )
    assert "the first since batch 4" in finding.evidence
    assert "in place of setting another" in finding.next_step
    (finding,) = findings(replace(again, first_expired_version=None))
    assert "the first since batch 15 or later" in finding.evidence


def test_proven_and_likely_rearmed_keys_have_equal_cause() -> None:
    idle = replace(total(REARMED), fired=4, untouched=3)
    likely = replace(idle, certainty=INFERRED, rows=5, fired=5)
    proven, inferred, second = findings(idle, likely, total(REARMED, INFERRED, rows=9))
    assert proven.cause == inferred.cause
    assert proven.cause.startswith(
        "Most likely 8 keys were kept: their timeout fired (up to 5 times in a row; proven of 3), "
    )
    assert second.cause.startswith("Most likely 9 keys were kept: their timeout fired, and ")


def test_two_timeouts_in_a_row_and_a_single_proven_key_are_named() -> None:
    proven = replace(total(REARMED, rows=1), fired=2, untouched=1)
    finding, _ = findings(proven, replace(proven, certainty=INFERRED, rows=5))
    assert finding.cause.startswith(
        "Most likely 6 keys were kept: their timeout fired (up to 2 times in a row; proven of 1), "
    )


def test_evidence_has_state_changes_after_timeout() -> None:
    changes = {"fired": 4, "untouched": 2, "changed": 1, "empty": 0, "reason": "because"}
    (finding,) = findings(replace(total(REARMED), **changes))  # type: ignore[arg-type]
    assert finding.evidence.endswith(
        "(2 with their state unchanged, 1 with their state changed; up to 4 times in a row; "
        "because)"
    )
    (finding,) = findings(replace(total(KEPT), needs=Needs.BEFORE_WINDOW))
    assert finding.evidence.endswith("since before version 9, the oldest that can be read")


def test_undecided_keys_and_rows_past_watermark_have_no_finding() -> None:
    assert findings(total(KEPT, UNDECIDED), total(KEPT, rows=0)) == []
    assert findings(total(LeftoverClass.PAST_WATERMARK)) == []
    assert findings() == []
