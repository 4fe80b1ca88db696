"""The main finding of a report, and the sentence about its cause."""

from __future__ import annotations

from graphlib import TopologicalSorter
from itertools import chain
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared import conclusion
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.rule import all_kinds
from inspector.findings.verdict import RANKS, cause_sentence, main_finding
from inspector.model import Certainty, StoreName
from inspector.sparktypes.ddl import parse_ddl
from tests.attributes import attributes
from tests.cli.support import checkpoint_of
from tests.encode import row

KINDS = {kind.id: kind for kind in all_kinds()}


def finding(kind: str, **options: Any) -> Finding:
    """Return a finding about the store of operator 0, unless the options name another store."""
    complete: dict[str, Any] = {"operator_id": 0, "store_name": "default"}
    return Finding(KINDS[kind], Certainty.PROVEN, "evidence", "next", **(complete | options))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), None),
        (("SS304",), "SS304"),
        (("SS304", "SS201"), "SS201"),
        (("SS203", "SS102"), "SS102"),
        (("SS110", "SS202"), "SS202"),
        (("SS205", "SS206"), "SS206"),
        (("SS202", "SS206"), "SS206"),
        (("SS201", "SS203"), "SS203"),
        (("SS204", "SS201"), "SS201"),
        (("SS105", "SS101"), "SS101"),
        (("SS301", "SS210"), "SS210"),
    ],
)
def test_main_finding_is_the_cause_and_not_its_symptom(
    kinds: tuple[str, ...], expected: str | None
) -> None:
    findings = [finding(kind) for kind in kinds]
    first, last = main_finding(findings, {}), main_finding(findings[::-1], {})
    assert first == last
    assert (first and first.kind.id) == expected


def test_main_finding_of_equal_severity_has_more_bytes() -> None:
    small, large = finding("SS201", operator_id=0), finding("SS202", operator_id=1)
    assert main_finding([small, large], {small: 10, large: 1000}) is large
    assert main_finding([small, large], {small: 1000, large: 10}) is small


def test_never_removed_rows_rank_last_if_the_state_does_not_grow() -> None:
    meant_to_stay, spelled = finding("SS201", severity=Severity.INFO), finding("SS223")
    assert main_finding([meant_to_stay, spelled], {meant_to_stay: 100}) is spelled
    gathering = finding("SS201")
    assert main_finding([gathering, spelled], {gathering: 100}) is gathering


@pytest.mark.parametrize(("size", "is_named"), [(1000, True), (500, False)])
def test_small_store_is_not_the_main_finding(size: int, *, is_named: bool) -> None:
    sample, maximum = (
        finding("SS204"),
        finding("SS219", store_name="timers", severity=Severity.INFO),
    )
    found = main_finding([sample, maximum], {sample: 100, maximum: size}, 1200)
    assert (found is maximum) is is_named
    assert main_finding([sample, maximum], {maximum: size}, 1200) is sample


def test_stuck_query_ranks_before_state_size_unless_rows_leak() -> None:
    stuck = finding("SS124", operator_id=None, store_name=None, severity=Severity.WARNING)
    inferred = Finding(KINDS["SS205"], Certainty.INFERRED, "evidence", "next", 0, "left")
    costly = finding("SS302", severity=Severity.WARNING)
    assert main_finding([inferred, stuck], {inferred: 1000}) is stuck
    assert main_finding([costly, stuck], {costly: 1000}) is stuck
    leaking, unreadable = finding("SS202", severity=Severity.WARNING), finding("SS102")
    assert main_finding([stuck, leaking], {}) is leaking
    assert main_finding([stuck, unreadable], {}) is unreadable
    # An information about a stuck query is ranked as all other findings are.
    noted = finding("SS124", operator_id=None, store_name=None, severity=Severity.INFO)
    assert main_finding([noted, costly], {costly: 1000}) is costly


def test_cause_in_another_store_is_not_the_main_finding() -> None:
    here, elsewhere = finding("SS204"), finding("SS201", operator_id=1)
    assert main_finding([here, elsewhere], {here: 100, elsewhere: 1}) is here


@pytest.mark.parametrize(
    ("fields", "key", "messages"),
    [
        ("a string, b bigint", ["", 1], "a is empty"),
        ("a string, b bigint", [None, 1], "a is null"),
        ("field0 string, index bigint", ["", 1], "key column 1 is empty"),
        ("a string, b bigint", ["x", 1], "sha256:"),
    ],
)
def test_key_without_text_is_not_redacted(
    fields: str, key: list[Any], messages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: list[Any] = []

    def judge(*arguments: Any) -> tuple[Finding, ...]:
        words.append(arguments[6])
        return ()

    monkeypatch.setattr(conclusion, "judge", judge)
    api.audit(str(checkpoint_of("agg_update")))
    schema = parse_ddl(fields)
    text = words[0](StoreName(0, "default"), row(schema, key), schema)
    assert text.startswith(messages)


@pytest.mark.parametrize(
    ("store", "size", "sentence"),
    [
        ("default", 60, "None goes; fat."),
        ("default", 40, "None goes."),
        ("other", 60, "None goes."),
    ],
)
def test_cause_sentence_of_wide_rows_that_are_never_removed(
    store: str, size: int, sentence: str
) -> None:
    never = finding("SS201", cause="None goes.")
    wide = finding("SS313", store_name=store, cause="Fat.")
    assert cause_sentence([never, wide], never, {never: 100, wide: size}, 100) == sentence
    assert cause_sentence([never, wide], wide, {never: 100, wide: size}, 100) == "Fat."


def test_cause_sentence_names_the_hot_key() -> None:
    hot, never = finding("SS307", cause="One key."), finding("SS201", cause="None goes.")
    side = finding("SS205", cause="The side.")
    assert cause_sentence([hot, side], side, {}, 100) == "One key; the side."
    assert cause_sentence([hot, never], never, {}, 100) == "None goes; one key."
    uploads = finding("SS310", cause="Whole zips.", store_name=None)
    assert cause_sentence([uploads, never], never, {}, 100) == "None goes; whole zips."


def test_upload_finding_ranks_last() -> None:
    uploads, never = finding("SS310", store_name=None), finding("SS201", severity=Severity.INFO)
    assert main_finding([uploads, never], {}, growing=False) is never
    assert main_finding([uploads], {}, growing=False) is uploads


def test_every_kind_of_finding_has_a_rank() -> None:
    def ranked(kind: Kind) -> bool:
        return any(kind.group in groups and kind.severity >= minimum for groups, minimum in RANKS)

    assert [kind.id for kind in all_kinds() if not ranked(kind)] == []


def test_causes_and_symptoms_have_no_cycle() -> None:
    symptoms = dict(attributes(all_kinds(), "id", "explains"))
    assert symptoms.keys() >= set(chain.from_iterable(symptoms.values()))
    TopologicalSorter(symptoms).prepare()  # raises CycleError
