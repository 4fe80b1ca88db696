"""Leftovers as facts: the total of all, and the ones that are listed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from inspector.checkpoint.storage import Storage
from inspector.facts.clocks import Clocks
from inspector.facts.leftovers import find_leftovers
from inspector.passes.leftover_rows import tell_leftovers
from inspector.passes.store_reader import StoreReader
from tests import cases
from tests.cases import Batch, Step, replay


def test_the_oldest_and_the_largest_leftovers_are_listed_and_all_are_counted(
    tmp_path: Path,
) -> None:
    root = cases.write_logs(tmp_path, [Batch(1), Batch(1000), Batch(2000)])
    cases.write_operator(root, 0, "dedupe", "default")
    cases.write_schema(root / "state/0/0", cases.EVENT_TIME, cases.EXPIRES_AT)
    sizes = {1500: 32, 900: 8, 800: 16, 1600: 8}
    rows = [(cases.micros(1000 * ms), bytes(size)) for ms, size in sizes.items()]
    cases.write_store(root / "state/0/0", {1: rows, 2: [], 3: []})
    (task,) = cases.tasks_of(root)
    for limit, listed in ((1, {800, 1500}), (2, {800, 900, 1500}), (0, set(sizes))):
        found = cases.run([replace(task, leftover_limit=limit).to_json()])
        clocks = [row["clock_ms"] for row in found if row["kind"] == "leftover"]
        assert (set(clocks), len(clocks)) == (listed, len(listed))
        (total,) = [row for row in found if row["kind"] == "leftovers"]
        assert (total["rows"], total["value_bytes"], total["expired_version"]) == (4, 64, 2)


def test_each_fact_says_what_it_rests_on(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(1), Batch(1000)])
    cases.write_operator(root, 0, "dedupe", "default")
    cases.write_store(root / "state/0/0", {1: [], 2: []})
    (task,) = cases.tasks_of(root)
    reader = StoreReader(task, Storage(task.url), task.store_id(task.stores[0]))
    track = cases.tracked(cases.KEY_TIME, cases.EVENT_TIME, cases.EXPIRES_AT)
    state, _, _ = replay([Step([(cases.micros(900_000), b"")]), Step([])], track)
    clocks = Clocks.of(state.versions, {clock.batch_id: clock for clock in task.clocks})
    (leftovers,) = find_leftovers(state, cases.KEY_TIME, clocks, reason="why")
    found = list(tell_leftovers(task, reader, state, leftovers))
    assert [row["kind"] for row in found] == ["leftovers", "leftover_age", "leftover"]
    assert {(row["reason"], row["expired_version"]) for row in found} == {("why", 2)}
    assert not list(tell_leftovers(task, reader, state, replace(leftovers, ids=leftovers.ids[:0])))
