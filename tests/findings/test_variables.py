"""SS214 to SS216: state variables and their timers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from inspector.facts.variables import EntriesPerKey, TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Severity
from inspector.findings.thresholds import Thresholds
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
    assert (found.kind.id, found.rows, found.certainty.value) == ("SS216", 1, "inferred")
    assert found.cause == "The list of a key in 'visits' only grows, up to 2,000 entries."
    assert found.evidence.startswith(
        "1 key with 1,024 entries or more, to which entries were added"
    )
    (both,) = judge_variable(
        replace(LIST, family=Family.MAP, entries=GROWN), Thresholds(entries_per_key=500)
    )
    assert both.cause.startswith("The map of 2 keys ")


@pytest.mark.parametrize(
    "entries", [replace(GROWN, versions=4), replace(GROWN, growing=Counter({9: 5})), None]
)
def test_few_entries_or_versions_say_nothing(entries: EntriesPerKey | None) -> None:
    assert not list(judge_variable(replace(LIST, entries=entries)))
