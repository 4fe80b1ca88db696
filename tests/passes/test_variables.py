"""Where the stores of a transformWithState meet."""

from __future__ import annotations

import json

from inspector.facts.variable_entries import EntriesPerKey, KeyEntries, TimersWithoutState
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.passes.store_facts import emit_variables
from tests.cases import observed_in
from tests.fixture_folder import NEWEST

CASE = NEWEST / "rocksdb_tws_event"
TIMERS = "$eventTimers_keyToTimestamp"


def test_timers_of_keys_that_the_log_of_calls_knows_as_empty() -> None:
    labels = json.loads((CASE / "expected_leftovers.json").read_text())
    bare = [row for row in labels if row["class"] == "timer_without_state"]
    facts = Facts(observed_in(CASE / "checkpoint"))
    (value,) = facts.sums(TimersWithoutState).values()
    keys = len({row["key"] for row in bare})
    assert value == TimersWithoutState(13, len(bare), value.without_bytes, keys, 13)
    assert {store for _, store in facts.sums(TimersWithoutState)} == {TIMERS}


def test_entries_of_lists_and_maps_are_those_of_the_newest_version() -> None:
    counts = json.loads((CASE / "truth_counts.json").read_text())
    newest = max(row["ver"] for row in counts)
    facts = Facts(observed_in(CASE / "checkpoint"))
    result = {store: element.entries for (_, store), element in facts.sums(EntriesPerKey).items()}
    assert set(result) == {"amounts", "pages"}
    for store, entries in result.items():
        of_store = [row for row in counts if (row["cf"], row["ver"]) == (store, newest)]
        assert entries == sum(row["rows"] for row in of_store)
    listed = {item.store.store_name for item in facts.of(KeyEntries)}
    assert listed == {"amounts", "pages"}
    pages = facts.sums(EntriesPerKey)[StoreName(0, "pages")]
    assert EntriesPerKey() + pages == pages


def test_only_transform_with_state_has_variables() -> None:
    facts = Facts(observed_in(NEWEST / "dedup_event_time" / "checkpoint"))
    assert (facts.sums(TimersWithoutState), facts.sums(EntriesPerKey), facts.of(KeyEntries)) == (
        {},
        {},
        [],
    )
    assert callable(emit_variables)
