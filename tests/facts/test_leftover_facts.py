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
from tests.attributes import attributes
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
    rows = [
        (cases.micros(1_500_000), bytes(32)),
        (cases.micros(900_000), bytes(8)),
        (cases.micros(800_000), bytes(16)),
        (cases.micros(1_600_000), bytes(8)),
    ]
    cases.write_store(root / "state/0/0", {1: rows, 2: [], 3: []})
    (task,) = cases.tasks_of(root)
    result = cases.observed([replace(task, request=Request(leftover_limit=limit)).to_json()])
    clocks = attributes(cases.facts_of_type(result, Leftover), "clock_ms")
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
    clocks = Clocks.of(
        state.versions, dict(zip(attributes(task.clocks, "batch_id"), task.clocks, strict=True))
    )
    (leftovers,) = past_clock(state, cases.KEY_TIME, clocks, Certainty.PROVEN, "why")
    result = list(observe_leftovers(state, leftovers))
    assert list(map(type, result)) == [LeftoverCount, LeftoverAge, Leftover]
    assert set(attributes(result, "reason", "expired_version")) == {("why", 2)}
    assert not list(observe_leftovers(state, replace(leftovers, ids=leftovers.ids[:0])))
