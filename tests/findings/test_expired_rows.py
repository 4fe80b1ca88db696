"""Expired keys that are still there, as findings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.expired_rows import PAST, Place, judge_leftovers, judge_open
from inspector.findings.finding import Finding, Severity
from inspector.model import Certainty, TimeoutKind
from inspector.operators.rule import RowKind

PROVEN, INFERRED, UNDECIDED = Certainty
PLACE = Place(2, "default", "call state.remove()")


def total(kind: LeftoverClass, certainty: Certainty = PROVEN, rows: int = 3) -> LeftoverCount:
    return LeftoverCount(kind, certainty, 9, rows=rows, key_bytes=80, value_bytes=160, fired=1)


def judged(*leftovers: LeftoverCount) -> list[Finding]:
    return list(judge_leftovers(PLACE, leftovers))


@pytest.mark.parametrize("kind", LeftoverClass)
@pytest.mark.parametrize("certainty", [PROVEN, INFERRED])
def test_each_class_of_leftovers_is_a_finding(kind: LeftoverClass, certainty: Certainty) -> None:
    (found,) = judged(total(kind, certainty))
    assert found.kind.id == ("SS202" if kind in PAST else "SS203")
    assert (found.certainty, found.rows, found.bytes) == (certainty, 3, 240)
    assert (found.operator_id, found.store_name) == (2, "default")
    assert found.evidence.startswith("3 rows: " if kind in PAST else "3 keys: ")
    assert found.next_step
    assert "3 " in found.cause
    assert found.cause.endswith(".")
    assert ("ost likely" in found.cause) == (certainty is INFERRED and kind not in PAST)


def test_who_removed_rows_is_not_in_complete_mode() -> None:
    passed = total(LeftoverClass.PAST_WATERMARK, INFERRED)
    (found,) = judge_leftovers(PLACE, [passed])
    assert "keeps, as complete output mode keeps every group." in found.cause
    (found,) = judge_leftovers(replace(PLACE, removes=True), [passed])
    assert found.cause.endswith("keeps, though it removed others.")


KEPT, IGNORED, REARMED = (
    LeftoverClass.KEPT_WITHOUT_TIMEOUT,
    LeftoverClass.IGNORED_TIMEOUT,
    LeftoverClass.REARMED,
)


@pytest.mark.parametrize(
    ("found", "severity"),
    [
        (total(KEPT), Severity.ERROR),
        (total(IGNORED), Severity.ERROR),
        (total(KEPT, INFERRED), Severity.WARNING),
        (total(IGNORED, INFERRED), Severity.WARNING),
        (total(REARMED), Severity.INFO),
        (replace(total(REARMED), fired=2, changed=3), Severity.INFO),
        (replace(total(REARMED), fired=1, untouched=3), Severity.INFO),
        (replace(total(REARMED), fired=2, untouched=3), Severity.WARNING),
        (total(LeftoverClass.PAST_WATERMARK), Severity.WARNING),
    ],
)
def test_only_what_is_proven_to_be_stuck_is_an_error(
    found: LeftoverCount, severity: Severity
) -> None:
    (one,) = judged(found)
    assert one.severity is severity


def test_one_key_is_said_in_the_singular() -> None:
    (found,) = judged(total(KEPT, rows=1))
    assert found.cause == (
        "The timeout of 1 key fired and the function kept it without a timeout, so nothing but "
        "new data can have it removed."
    )
    assert found.evidence.startswith("1 key: ")


@pytest.mark.parametrize("before_window", [False, True])
@pytest.mark.parametrize("kind", LeftoverClass)
def test_the_evidence_of_one_row_is_in_the_singular(
    kind: LeftoverClass, before_window: bool
) -> None:
    one = replace(total(kind, rows=1), needs=Needs.BEFORE_WINDOW if before_window else None)
    several = replace(one, rows=2)
    (alone,), (together,) = judged(one), judged(several)
    assert not re.search(r"\b(them|they|their)\b", alone.evidence)
    assert re.search(r"\b(them|they|their)\b", together.evidence)


def test_keys_that_were_set_again_are_dated_by_their_first_timeout() -> None:
    anew = replace(total(REARMED), expired_version=16, fired=12, first_expired_version=5)
    (found,) = judged(anew)
    assert found.evidence.endswith("the first of these timeouts fired in batch 4")
    assert "up to 12 times in a row" in found.cause
    (found,) = judged(replace(anew, first_expired_version=None))
    assert found.evidence.endswith("these timeouts fired in batch 15 or later")
    (found,) = judged(replace(total(KEPT), first_expired_version=5))
    assert found.evidence.endswith("the oldest since batch 8")


def test_proven_and_likely_keys_that_were_set_again_are_one_cause() -> None:
    idle = replace(total(REARMED), fired=4, untouched=3)
    likely = replace(idle, certainty=INFERRED, rows=5, fired=5)
    now_and_then = replace(total(REARMED, INFERRED, rows=9))
    proven, inferred, other = judged(idle, likely, now_and_then)
    assert proven.cause == inferred.cause
    assert proven.cause.startswith(
        "Most likely the timeout of 8 keys fired (up to 5 times in a row; proven of 3), and the "
    )
    assert other.cause.startswith("Most likely the timeout of 9 keys fired, and the function ")


def test_the_advice_of_the_rule_is_the_next_step_where_it_helps() -> None:
    (kept,), (anew,) = judged(total(KEPT)), judged(total(REARMED))
    assert kept.next_step == "call state.remove()"
    assert "in place of setting another" in anew.next_step
    (found,) = judge_leftovers(replace(PLACE, advice=""), [total(KEPT)])
    assert "leftovers" in found.next_step


def test_classes_are_distinguished_and_empty_ones_left_out() -> None:
    kinds = [total(kind) for kind in LeftoverClass]
    found = judged(*kinds, total(REARMED, INFERRED, rows=0), total(REARMED, UNDECIDED))
    assert len({one.evidence for one in found}) == len(LeftoverClass) == len(found)


def test_what_became_of_the_leftovers_is_said() -> None:
    one = replace(
        total(REARMED),
        fired=4,
        untouched=2,
        changed=1,
        empty=0,
        reason="because",
    )
    (found,) = judged(one)
    for words in ("2 with their state unchanged", "1 with their state changed", "(", "because"):
        assert words in found.evidence
    assert "up to 4 times in a row" in found.evidence
    assert "no state" not in found.evidence
    (found,) = judged(replace(one, needs=Needs.BEFORE_WINDOW))
    assert "since before version 9" in found.evidence


@pytest.mark.parametrize("kind", LeftoverClass)
def test_what_is_undecided_never_warns(kind: LeftoverClass) -> None:
    open_ = replace(total(kind, UNDECIDED), untouched=3, reason="because")
    (found,) = judge_open(PLACE, [open_, replace(open_, rows=1)], said=False)
    assert (found.kind.id, found.severity) == ("SS210", Severity.INFO)
    assert (found.certainty, found.rows, found.bytes) == (UNDECIDED, 4, 480)
    assert found.evidence == "4 keys: because"
    assert "4 keys" in found.cause
    assert "undecided" in found.next_step
    assert not list(judge_open(PLACE, [replace(open_, rows=0)], said=False))


def test_what_an_option_would_prove_is_said_of_undecided_keys() -> None:
    open_ = replace(total(KEPT, UNDECIDED), reason="because")
    provable = {TimeoutKind.EVENT_TIME: 1, TimeoutKind.PROCESSING_TIME: 252}
    (plain,) = judge_open(PLACE, [open_], said=False)
    (found,) = judge_open(PLACE, [open_], said=False, provable=provable)
    assert found.next_step == (
        "if the query uses event-time timeouts, with --timeout-kind event 1 key is proven to be "
        "left behind; if the query uses processing-time timeouts, with --timeout-kind processing "
        f"252 keys are proven to be left behind; {plain.next_step}"
    )


def test_what_was_set_again_with_a_changed_state_waits_for_its_timer() -> None:
    """It is the life that a key should have, or is judged again when the timer runs out."""
    changed = replace(total(REARMED, UNDECIDED), changed=3)
    assert not list(judge_open(PLACE, [changed], said=False))
    assert list(judge_open(PLACE, [replace(changed, leftover_class=KEPT)], said=False))


@pytest.mark.parametrize(
    ("row_kind", "id_", "cause", "noun"),
    [
        (RowKind.TTL_VALUE, "SS212", "The TTL of 2 values has run out, ", "2 values: "),
        (RowKind.TIMER, "SS213", "The time of 2 timers has come, ", "2 timers: "),
    ],
)
def test_values_with_ttl_and_timers_have_findings_of_their_own(
    row_kind: RowKind, id_: str, cause: str, noun: str
) -> None:
    two = replace(total(LeftoverClass.PAST_PROCESSING_TIME, PROVEN, 2), expired_version=5)
    (found,) = judge_leftovers(Place(0, "seen", "", row_kind), [two])
    assert (found.kind.id, found.rows, found.bytes) == (id_, 2, 240)
    assert found.cause.startswith(cause)
    assert found.evidence.startswith(noun)


def test_timers_that_wait_for_the_next_batch_are_undecided() -> None:
    one = replace(total(LeftoverClass.PAST_WATERMARK, UNDECIDED, 1), expired_version=5, reason="so")
    place = Place(0, "$eventTimers_keyToTimestamp", "", RowKind.TIMER)
    (found,) = judge_open(place, [one], said=False)
    assert found.cause == (
        "The time of 1 timer has come, and the next batch will show whether it fires."
    )
    assert found.evidence == "1 timer: so"


def test_rows_that_the_watermark_has_passed_may_be_where_none_arrives() -> None:
    two = replace(total(LeftoverClass.PAST_WATERMARK, UNDECIDED, 2), expired_version=5, reason="so")
    (found,) = judge_open(PLACE, [two], said=False)
    assert found.cause == (
        "The watermark of the query has passed 2 keys, and the files do not show whether it "
        "reaches the operator."
    )
    kept = replace(two, leftover_class=KEPT)
    (mixed,) = judge_open(PLACE, [two, kept], said=False)
    assert "whether a timeout left 4 keys behind" in mixed.cause
