"""Groups of tasks that share a Spark task, and the Spark partition of each group."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

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
from tests.attributes import attributes

weights = st.lists(st.integers(0, 10**9), max_size=200)


def work_of(sizes: list[int]) -> list[Work]:
    return [Work(str(i), size) for i, size in enumerate(sizes)]


def weights_of(groups: list[list[Work]]) -> list[list[int]]:
    """Return the weights of the tasks of each group."""
    return [attributes(group, "weight") for group in groups]


def loads_of(groups: list[list[Work]]) -> list[int]:
    """Return the sum of the weights of each group."""
    return list(map(sum, weights_of(groups)))


@given(weights, st.integers(1, 50))
def test_every_task_is_in_one_group_heaviest_first(sizes: list[int], count: int) -> None:
    groups = pack(work_of(sizes), count)
    tasks = sorted(chain(*groups), key=lambda item: int(item.spec))
    assert tasks == work_of(sizes)
    assert loads_of(groups) == sorted(loads_of(groups), reverse=True)
    assert len(groups) == count
    assert all(groups) or len(sizes) < count


@given(weights.filter(bool), st.integers(1, 50))
def test_group_load_is_at_most_share_plus_one_task(sizes: list[int], count: int) -> None:
    # In greedy packing, the fullest group has at most its share and one more task.
    fullest = loads_of(pack(work_of(sizes), count))[0]
    assert fullest <= sum(sizes) / count + max(sizes)


@given(
    st.lists(st.builds(Work, st.just("{}"), st.integers(0, 10**8), files=st.integers(0, 300))),
    st.integers(1, 50),
)
def test_group_cost_includes_files(work: list[Work], count: int) -> None:
    costs = [sum(attributes(group, "cost")) for group in pack(work, count)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] <= sum(costs) / count + max([0, *attributes(work, "cost")])


def test_cost_of_a_task_includes_its_files() -> None:
    assert Work("{}", 1000, files=3).cost == 1000 + 3 * FILE_COST


def test_large_task_is_alone_in_its_group() -> None:
    groups = pack(work_of([1, 1, 100, 1, 1]), 2)
    assert weights_of(groups) == [[100], [1, 1, 1, 1]]


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


def specs_in(batches: Iterable[pa.RecordBatch]) -> list[str]:
    return pa.Table.from_batches(batches, TASKS)["spec"].to_pylist()  # type: ignore[return-value]


@given(weights, st.integers(1, 50))
def test_by_group_runs_the_tasks_of_each_group(sizes: list[int], count: int) -> None:
    groups = pack(work_of(sizes), count)
    run = by_group(lambda batches: iter(batches), groups)
    for number, group in enumerate(groups):
        assert specs_in(run([numbers(number)])) == attributes(group, "spec")
    tasks = pa.Table.from_batches(run([numbers(*range(count))]), TASKS)
    assert tasks["task_id"].to_pylist() == list(range(len(sizes)))


def test_similar_specs_are_compressed() -> None:
    specs = [" ".join([f"s3a://bucket/checkpoint/state/0/{i}/7.delta"] * 100) for i in range(50)]
    run = by_group(lambda batches: iter(batches), [list(map(Work, specs))])
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", exc_type=ImportError)
    assert len(cloudpickle.dumps(run)) < sum(map(len, specs)) / 5
    assert specs_in(run([numbers(0)])) == specs


# --- Spark's partitions, which tests/engines/test_hadoop.py compares with Spark -------------------


@pytest.mark.parametrize("count", [1, 2, 7, 200, 4096])
def test_partition_keys_cover_every_partition(count: int) -> None:
    keys = partition_keys(count)
    assert [partition_of(key, count) for key in keys] == list(range(count))


def test_partition_of_int_uses_sparks_hash() -> None:
    # SELECT hash(0), hash(1), hash(-1)
    assert partition_of(0, 1 << 40) == 933211791
    assert partition_of(1, 1 << 40) == (1 << 40) - 559580957
    assert partition_of(-1, 1 << 40) == (1 << 40) - 1604776387
