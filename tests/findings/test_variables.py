"""SS214 to SS216: state variables and their timers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from inspector.facts.variable_entries import EntriesPerKey, TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Severity
from inspector.findings.variables import VariableLife, judge_variable
from inspector.operators.transform_with_state import Family

NEWEST = VersionFacts(rows=4, key_bytes=100, value_bytes=60)
LIST = VariableLife(1, "visits", Family.LIST, True, NEWEST)
GROWN = EntriesPerKey(2, 3000, 2000, Counter({10: 1, 9: 1}), 9)


def test_timers_of_keys_without_state_are_information() -> None:
    timers = VariableLife(1, "$procTimers_keyToTimestamp", Family.TIMERS, True, NEWEST)
    (found,) = judge_variable(replace(timers, timers=TimersWithoutState(9, 3, 120, 2)))
    assert (found.kind.id, found.severity) == ("SS214", Severity.INFO)
    assert (found.rows, found.bytes, found.certainty.value) == (3, 120, "proven")
    assert found.evidence == "3 timers of 9: 2 keys without a value in any state variable"
    assert found.cause == "Spark will fire 3 timers for 2 keys without any state."
    assert not list(judge_variable(replace(timers, timers=TimersWithoutState(9))))


def test_a_variable_that_is_no_longer_declared() -> None:
    (found,) = judge_variable(replace(LIST, declared=False, entries=GROWN))
    assert (found.kind.id, found.rows, found.bytes) == ("SS215", 4, 160)
    assert "handle.deleteIfExists('visits')" in found.next_step
    assert not list(judge_variable(replace(LIST, declared=None)))
    assert not list(judge_variable(replace(LIST, declared=False, newest=VersionFacts())))
    helper = replace(LIST, family=Family.ROW_COUNTER, declared=False)
    assert not list(judge_variable(helper))


def test_the_index_of_a_variable_that_was_deleted() -> None:
    index = replace(LIST, store_name="$ttl_visits", family=Family.TTL_INDEX, declared=None)
    (found,) = judge_variable(replace(index, deleted="visits"))
    assert (found.kind.id, found.severity, found.rows) == ("SS215", Severity.INFO, 4)
    assert (
        found.cause == "The state variable 'visits' was deleted, and Spark left its index behind."
    )
    assert not list(judge_variable(replace(index, deleted="visits", newest=VersionFacts())))


def test_a_list_that_only_grows() -> None:
    (found,) = judge_variable(replace(LIST, entries=GROWN))
    assert (found.kind.id, found.rows, found.certainty.value) == ("SS216", 2, "inferred")
    assert found.severity is Severity.WARNING
    assert found.cause == (
        "The list state 'visits' only grows and has no TTL: 2 keys have 64 entries or more, up to "
        "2,000."
    )
    assert found.evidence.startswith("2 keys with 64 entries or more, to which entries were added")
    (few,) = judge_variable(
        replace(LIST, family=Family.MAP, entries=replace(GROWN, growing=Counter({7: 1})))
    )
    assert few.severity is Severity.INFO
    assert few.cause.endswith("has no TTL: 1 key has 64 entries or more, up to 2,000.")


@pytest.mark.parametrize(
    ("keys", "removed", "found"),
    [(40, 0, True), (60, 0, False), (40, 1, False), (16, 1, True), (17, 1, False)],
)
def test_timers_that_only_gather(keys: int, removed: int, *, found: bool) -> None:
    timers = VariableLife(
        *(1, "$eventTimers_keyToTimestamp", Family.TIMERS, True, NEWEST),
        timers=TimersWithoutState(160, owners=keys),
        changed=VersionFacts(inserts=160, removed_rows=removed),
        window=8,
    )
    findings = list(judge_variable(timers))
    assert [one.kind.id for one in findings] == ["SS219"] * found
    assert all(("none fired" in one.cause) == (not removed) for one in findings)
    assert all(removed == 0 or "160 timers for 16 keys" in one.cause for one in findings)


@pytest.mark.parametrize(
    "entries", [replace(GROWN, versions=4), replace(GROWN, growing=Counter({5: 5})), None]
)
def test_few_entries_or_versions_say_nothing(entries: EntriesPerKey | None) -> None:
    assert not list(judge_variable(replace(LIST, entries=entries)))
