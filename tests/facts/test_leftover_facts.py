"""Leftovers as facts: the total of all leftovers, and the listed ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inspector.discovery.tasks import Request
from inspector.facts.expired import Clocks, past_clock
from inspector.facts.leftover_facts import Leftover, LeftoverAge, LeftoverCount, observe_leftovers
from inspector.model import Certainty
from tests import cases
from tests.cases import Batch, Step, replay


@pytest.mark.parametrize(
    ("limit", "listed"), [(1, [800, 1500]), (2, [800, 900, 1500]), (0, [800, 900, 1500, 1600])]
)
def test_oldest_and_largest_leftovers_are_listed_up_to_the_limit(
    tmp_path: Path, limit: int, listed: list[int]
) -> None:
    root = cases.write_logs(tmp_path, [Batch(1), Batch(1000), Batch(2000)])
    cases.write_operator(root, 0, "dedupe", "default")
    cases.write_schema(root / "state/0/0", cases.EVENT_TIME, cases.EXPIRES_AT)
    sizes = {1500: 32, 900: 8, 800: 16, 1600: 8}
    rows = [(cases.micros(1000 * ms), bytes(size)) for ms, size in sizes.items()]
    cases.write_store(root / "state/0/0", {1: rows, 2: [], 3: []})
    (task,) = cases.tasks_of(root)
    result = cases.observed([replace(task, request=Request(leftover_limit=limit)).to_json()])
    clocks = [fact.clock_ms for fact in cases.facts_of_type(result, Leftover)]
    assert sorted(map(int, filter(None, clocks))) == listed
    (total,) = cases.facts_of_type(result, LeftoverCount)
    assert (total.rows, total.value_bytes, total.expired_version) == (4, 64, 2)


def test_leftover_facts_have_reason_and_expired_version(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(1), Batch(1000)])
    cases.write_operator(root, 0, "dedupe", "default")
    cases.write_store(root / "state/0/0", {1: [], 2: []})
    (task,) = cases.tasks_of(root)
    track = cases.tracked(cases.KEY_TIME, cases.EVENT_TIME, cases.EXPIRES_AT)
    state, _, _ = replay([Step([(cases.micros(900_000), b"")]), Step([])], track)
    clocks = Clocks.of(state.versions, {clock.batch_id: clock for clock in task.clocks})
    (leftovers,) = past_clock(state, cases.KEY_TIME, clocks, Certainty.PROVEN, "why")
    result = list(observe_leftovers(state, leftovers))
    assert list(map(type, result)) == [LeftoverCount, LeftoverAge, Leftover]
    assert {(item.reason, item.expired_version) for item in result} == {("why", 2)}
    assert not list(observe_leftovers(state, replace(leftovers, ids=leftovers.ids[:0])))
