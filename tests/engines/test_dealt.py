"""Which tasks share a Spark task."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.engines.dealt import FEW, PER_CORE, SLOT_BYTES, SLOTS, deal, handing, slots_for
from inspector.engines.engine import Work
from inspector.schemas import TASKS

weights = st.lists(st.integers(0, 10**9), max_size=200)


def work_of(sizes: list[int]) -> list[Work]:
    return [Work(str(i), size) for i, size in enumerate(sizes)]


def load(hand: list[Work]) -> int:
    return sum(each.weight for each in hand)


@given(weights, st.integers(1, 50))
def test_each_task_is_dealt_once_and_the_heaviest_start_first(sizes: list[int], slots: int) -> None:
    work = work_of(sizes)
    hands = deal(work, slots)
    assert len(hands) == slots
    assert sorted(each.spec for hand in hands for each in hand) == sorted(w.spec for w in work)
    assert [load(hand) for hand in hands] == sorted(map(load, hands), reverse=True)
    if len(work) >= slots:
        assert all(hands)


@given(weights.filter(bool), st.integers(1, 50))
def test_no_slot_has_much_more_than_its_share(sizes: list[int], slots: int) -> None:
    # Of greedy dealing: the fullest slot has at most its share and one task more.
    fullest = load(deal(work_of(sizes), slots)[0])
    assert fullest <= sum(sizes) / slots + max(sizes)


def test_a_large_task_runs_alone() -> None:
    hands = deal(work_of([1, 1, 100, 1, 1]), 2)
    assert [[each.weight for each in hand] for hand in hands] == [[100], [1, 1, 1, 1]]


def test_few_or_heavy_tasks_are_not_put_together() -> None:
    assert slots_for([]) == 1
    assert slots_for(work_of([0] * FEW)) == FEW
    assert slots_for(work_of([10] * 1000)) == FEW
    assert slots_for(work_of([SLOT_BYTES] * 1000)) == 1000
    assert slots_for(work_of([SLOT_BYTES] * 10_000)) == SLOTS


def test_few_cores_get_few_tasks_each() -> None:
    assert slots_for(work_of([SLOT_BYTES] * 1000), cores=2) == 2 * PER_CORE
    assert slots_for(work_of([0] * 3), cores=2) == 3
    assert slots_for(work_of([SLOT_BYTES] * 1000), cores=1) == 1  # nobody waits for another
    assert slots_for(work_of([SLOT_BYTES] * 10_000), cores=2000) == SLOTS


def numbers(*slots: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(slots, pa.int64())})


@given(weights, st.integers(1, 50))
def test_each_slot_is_handed_its_tasks(sizes: list[int], slots: int) -> None:
    hands = deal(work_of(sizes), slots)
    run = handing(lambda batches: iter(batches), hands)
    found = [run([numbers(slot)]) for slot in range(slots)]
    tasks = [[task for batch in each for task in batch.to_pylist()] for each in found]
    assert [[task["spec"] for task in each] for each in tasks] == [
        [work.spec for work in hand] for hand in hands
    ]
    assert [task["task_id"] for each in tasks for task in each] == list(range(len(sizes)))
    assert [batch.schema for batch in run([numbers(*range(slots))])] == [TASKS] * len(sizes)


def test_specs_that_are_much_alike_are_sent_small() -> None:
    path = "s3a://bucket/checkpoint/state/0/7/"
    specs = [str([f"{path}{n}.delta" for n in range(i, i + 100)]) for i in range(50)]
    run = handing(lambda batches: iter(batches), [[Work(spec) for spec in specs]])
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", exc_type=ImportError)
    assert len(cloudpickle.dumps(run)) < sum(map(len, specs)) / 5
    assert [task["spec"] for batch in run([numbers(0)]) for task in batch.to_pylist()] == specs
