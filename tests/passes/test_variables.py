"""Where the stores of a transformWithState meet."""

from __future__ import annotations

import json

from inspector.facts.variable_entries import EntriesPerKey, KeyEntries, TimersWithoutState
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.passes.store_facts import emit_variables
from tests.attributes import attributes
from tests.cases import observed_in
from tests.fixture_folder import NEWEST
from tests.reports import cell_values, rows_where

CASE = NEWEST / "rocksdb_tws_event"
TIMERS = "$eventTimers_keyToTimestamp"


def test_timers_of_keys_that_the_log_of_calls_knows_as_empty() -> None:
    labels = json.loads((CASE / "expected_leftovers.json").read_text())
    bare = cell_values(rows_where(labels, **{"class": "timer_without_state"}), "key")
    facts = Facts(observed_in(CASE / "checkpoint"))
    (value,) = facts.sums(TimersWithoutState).values()
    assert value == TimersWithoutState(13, len(bare), value.without_bytes, len(set(bare)), 13)
    assert list(facts.sums(TimersWithoutState)) == [StoreName(0, TIMERS)]


def test_entries_of_lists_and_maps_are_those_of_the_newest_version() -> None:
    counts = json.loads((CASE / "truth_counts.json").read_text())
    newest = rows_where(counts, ver=max(cell_values(counts, "ver")))
    facts = Facts(observed_in(CASE / "checkpoint"))
    entries = facts.sums(EntriesPerKey)
    amounts, pages = entries[StoreName(0, "amounts")], entries[StoreName(0, "pages")]
    assert len(entries) == 2
    assert amounts.entries == sum(cell_values(rows_where(newest, cf="amounts"), "rows"))
    assert pages.entries == sum(cell_values(rows_where(newest, cf="pages"), "rows"))
    assert set(attributes(facts.of(KeyEntries), "store.store_name")) == {"amounts", "pages"}
    assert EntriesPerKey() + pages == pages


def test_only_transform_with_state_has_variables() -> None:
    facts = Facts(observed_in(NEWEST / "dedup_event_time" / "checkpoint"))
    assert (facts.sums(TimersWithoutState), facts.sums(EntriesPerKey), facts.of(KeyEntries)) == (
        {},
        {},
        [],
    )
    assert callable(emit_variables)
