"""Where the stores of a transformWithState meet."""

from __future__ import annotations

import json

from inspector.facts.variables import EntriesPerKey, TimersWithoutState
from inspector.merge.collect import Facts
from inspector.passes.variables import emit_variables
from tests.cases import FIXTURES, observed_in

CASE = FIXTURES / "rocksdb_tws_event"
TIMERS = "$eventTimers_keyToTimestamp"


def test_timers_of_keys_that_the_log_of_calls_knows_as_empty() -> None:
    labels = json.loads((CASE / "expected_leftovers.json").read_text())
    bare = [row for row in labels if row["class"] == "timer_without_state"]
    facts = Facts(observed_in(CASE / "checkpoint"))
    (found,) = facts.timers_without_state.values()
    keys = len({row["key"] for row in bare})
    assert found == TimersWithoutState(13, len(bare), found.without_bytes, keys)
    assert {store for _, store in facts.timers_without_state} == {TIMERS}


def test_entries_of_lists_and_maps_are_those_of_the_newest_version() -> None:
    counts = json.loads((CASE / "truth_counts.json").read_text())
    newest = max(row["ver"] for row in counts)
    facts = Facts(observed_in(CASE / "checkpoint"))
    found = {store: each.entries for (_, store), each in facts.entries_per_key.items()}
    assert set(found) == {"amounts", "pages"}
    for store, entries in found.items():
        of_store = [row for row in counts if (row["cf"], row["ver"]) == (store, newest)]
        assert entries == sum(row["rows"] for row in of_store)
    listed = {one.store.store_name for one in facts.key_entries}
    assert listed == {"amounts", "pages"}
    assert EntriesPerKey() + facts.entries_per_key[0, "pages"] == facts.entries_per_key[0, "pages"]  # type: ignore[index]


def test_other_operators_have_no_variables() -> None:
    facts = Facts(observed_in(FIXTURES / "dedup_event_time" / "checkpoint"))
    assert (facts.timers_without_state, facts.entries_per_key, facts.key_entries) == ({}, {}, [])
    assert callable(emit_variables)
