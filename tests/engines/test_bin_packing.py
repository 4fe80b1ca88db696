"""Which tasks share a Spark task, and in which Spark partition a group of them runs."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.engines.bin_packing import (
    GROUP_BYTES,
    GROUPS_PER_CORE,
    MAX_GROUPS,
    UNGROUPED_TASKS,
    by_group,
    group_count,
    pack,
    partition_keys,
    partition_of,
)
from inspector.engines.engine import FILE_COST, Work
from inspector.schemas import TASKS

weights = st.lists(st.integers(0, 10**9), max_size=200)


def work_of(sizes: list[int]) -> list[Work]:
    return [Work(str(i), size) for i, size in enumerate(sizes)]


def load(group: list[Work]) -> int:
    return sum(item.weight for item in group)


@given(weights, st.integers(1, 50))
def test_every_task_is_in_one_group_heaviest_first(sizes: list[int], count: int) -> None:
    work = work_of(sizes)
    groups = pack(work, count)
    assert len(groups) == count
    assert sorted(item.spec for group in groups for item in group) == sorted(w.spec for w in work)
    assert [load(group) for group in groups] == sorted(map(load, groups), reverse=True)
    if len(work) >= count:
        assert all(groups)


@given(weights.filter(bool), st.integers(1, 50))
def test_group_load_is_at_most_share_plus_one_task(sizes: list[int], count: int) -> None:
    # Of greedy packing: the fullest group has at most its share and one task more.
    fullest = load(pack(work_of(sizes), count)[0])
    assert fullest <= sum(sizes) / count + max(sizes)


@given(
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 300)), min_size=1), st.integers(1, 50)
)
def test_group_cost_includes_files(tasks: list[tuple[int, int]], count: int) -> None:
    work = [Work(str(i), size, files=number) for i, (size, number) in enumerate(tasks)]
    costs = [sum(element.cost for element in group) for group in pack(work, count)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] <= sum(costs) / count + max(item.cost for item in work)
    assert sum(costs) == sum(size + FILE_COST * number for size, number in tasks)


def test_large_task_is_alone_in_its_group() -> None:
    groups = pack(work_of([1, 1, 100, 1, 1]), 2)
    assert [[item.weight for item in group] for group in groups] == [[100], [1, 1, 1, 1]]


def test_number_of_groups_for_few_or_heavy_tasks() -> None:
    assert group_count([]) == 1
    assert group_count(work_of([0] * UNGROUPED_TASKS)) == UNGROUPED_TASKS
    assert group_count(work_of([10] * 1000)) == UNGROUPED_TASKS
    assert group_count(work_of([GROUP_BYTES] * 1000)) == 1000
    assert group_count(work_of([GROUP_BYTES] * 10_000)) == MAX_GROUPS


def test_number_of_groups_for_few_cores() -> None:
    assert group_count(work_of([GROUP_BYTES] * 1000), cores=2) == 2 * GROUPS_PER_CORE
    assert group_count(work_of([0] * 3), cores=2) == 3
    assert group_count(work_of([GROUP_BYTES] * 1000), cores=1) == 1  # no core waits for another
    assert group_count(work_of([GROUP_BYTES] * 10_000), cores=2000) == MAX_GROUPS


def numbers(*groups: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(groups, pa.int64())})


@given(weights, st.integers(1, 50))
def test_by_group_runs_the_tasks_of_each_group(sizes: list[int], count: int) -> None:
    groups = pack(work_of(sizes), count)
    run = by_group(lambda batches: iter(batches), groups)
    result = [run([numbers(number)]) for number in range(count)]
    tasks = [[task for batch in entry for task in batch.to_pylist()] for entry in result]
    assert [[task["spec"] for task in element] for element in tasks] == [
        [work.spec for work in group] for group in groups
    ]
    assert [task["task_id"] for item in tasks for task in item] == list(range(len(sizes)))
    assert [batch.schema for batch in run([numbers(*range(count))])] == [TASKS] * len(sizes)


def test_similar_specs_are_compressed() -> None:
    path = "s3a://bucket/checkpoint/state/0/7/"
    specs = [str([f"{path}{n}.delta" for n in range(i, i + 100)]) for i in range(50)]
    run = by_group(lambda batches: iter(batches), [[Work(spec) for spec in specs]])
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", exc_type=ImportError)
    assert len(cloudpickle.dumps(run)) < sum(map(len, specs)) / 5
    assert [task["spec"] for batch in run([numbers(0)]) for task in batch.to_pylist()] == specs


# --- Spark's partitions; tests/engines/test_hadoop.py asks Spark itself ---------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 200, 4096])
def test_partition_keys_cover_every_partition(count: int) -> None:
    keys = partition_keys(count)
    assert [partition_of(key, count) for key in keys] == list(range(count))


def test_partition_of_int_uses_sparks_hash() -> None:
    # SELECT hash(0), hash(1), hash(-1)
    assert [partition_of(key, 1 << 40) for key in (0, 1, -1)] == [
        hashed % (1 << 40) for hashed in (933211791, -559580957, -1604776387)
    ]
