"""Facts of a partition are equal, whether its keys are read at once or in ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest

from inspector.analyses.shared.key_ranges import bound_ranges, in_whole
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import ALL_LEFTOVERS, Task, split_task
from inspector.engines.engine import BatchFunction
from inspector.facts.checks import ReadProblem, SnapshotDiffers
from inspector.facts.fact import Observed
from inspector.facts.join_rows import RowsTimedByKey, RowsTimedInRange
from inspector.facts.registry import facts_in, struct_of
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.merge.ranges import Listed, fold_ranges
from inspector.model import StoreId
from inspector.passes.worker import run_tasks
from inspector.schemas import task_batch
from inspector.state.compare import SnapshotDifference
from tests.attributes import attributes
from tests.fixture_folder import NEWEST

ALL = Path(NEWEST).parent
STORE = StoreId(0, "default", 4)
SAMPLE = (
    ("agg_update", 7),
    ("dedup_within_watermark", 2),
    ("fmgws_event_ignore", 7),
    ("fmgws_timer_only", 7),
    ("join_time_key", 7),
    ("session_window", 7),
)
CASES = sorted(attributes(ALL.glob("*/*/checkpoint"), "parent"))
REQUEST = {"fit": True, "top": 3, "matched": True, "fields": True, "expiring": True}


def run_each(function: BatchFunction, tasks: Iterable[Task]) -> Any:
    """Run tasks one after the other."""
    return chain(*(function([task_batch(task.to_json())]) for task in tasks))


def facts_of(tasks: Sequence[Task]) -> Counter[str]:
    """Return the facts of tasks after folding key ranges. Facts that add are added."""
    tasks = bound_ranges(tasks, run_each)
    facts = chain(*map(facts_in, run_each(run_tasks, tasks)))
    places = {(task.operator_id, task.partition_id): Listed(task.request.top) for task in tasks}
    return Counter(map(canonical, fold_ranges(in_whole(tasks, facts), places)))


def canonical(item: Observed[Any]) -> str:
    """Return a fact with its store and version as text. Its counts are sorted."""
    column = struct_of(type(item.fact)).array([item.fact])
    return repr((item.fact.kind, item.store, item.version, column.to_pylist()))


def check(path: Path, count: int, **request: Any) -> None:
    checkpoint = open_checkpoint(str(path / "checkpoint"))
    tasks = plan(checkpoint, checkpoint.newest_version, replace(ALL_LEFTOVERS, **request))
    split = list(chain(*(split_task(task, count) for task in tasks)))
    stores = list(chain(*attributes(tasks, "stores")))
    is_whole = any(attributes(stores, "family")) or any(attributes(stores, "several_values"))
    assert len(split) == len(tasks) * (1 if is_whole else count)
    assert facts_of(split) == facts_of(tasks)


@pytest.mark.parametrize(("name", "count"), SAMPLE)
def test_facts_of_key_ranges_equal_facts_of_the_partition(name: str, count: int) -> None:
    check(NEWEST / name, count, leftover_limit=2, **REQUEST)


@pytest.mark.full
@pytest.mark.parametrize(
    ("path", "count"),
    [
        pytest.param(path, count, id=f"{path.parent.name}/{path.name}-{count}")
        for path, count in zip(CASES[::9], cycle([2, 7]), strict=False)
    ],
)
def test_facts_of_key_ranges_equal_facts_of_every_fixture(path: Path, count: int) -> None:
    check(path, count, leftover_limit=1, rewrites=True, **REQUEST)
    check(path, count, leftover_limit=0)


def fold(facts: Iterable[Any]) -> list[Any]:
    """Fold facts of the key ranges of one partition."""
    observed = [Observed(STORE, 9, fact) for fact in facts]
    return attributes(fold_ranges(observed, {(0, 4): Listed()}), "fact")


def test_problem_of_all_ranges_is_reported_once() -> None:
    first, second = ReadProblem("io", "gone", "a"), ReadProblem("io", "gone", "b")
    assert fold([first, second, first, first]) == [first, second]


def test_snapshot_differences_of_ranges_add_to_one_problem() -> None:
    first = SnapshotDiffers("7", 7, SnapshotDifference(1, 0, 2))
    second = SnapshotDiffers("7", 7, SnapshotDifference(2, 3, 0))
    (problem,) = fold([first, second])
    assert isinstance(problem, ReadProblem)
    assert problem.slug == "snapshot-differs"
    assert "missing keys: 3, keys too many: 3, keys with another value: 2;" in problem.message
    assert (problem.path, problem.file_version) == ("7", 7)


def test_rows_timed_by_key_are_decided_over_all_ranges() -> None:
    """Each range has another majority. The sum of the majorities would be 11."""
    parts = [RowsTimedInRange((5, 4)), RowsTimedInRange((1, 6))]
    assert fold(parts) == [RowsTimedByKey(10)]


def test_keys_with_a_tenth_of_all_entries_are_listed() -> None:
    """An entry may be half of those of its range and less than a tenth of the partition's."""
    several_values, sample = KeyEntries(b"many", 18, 0, 0, 0), KeyEntries(b"few", 1, 0, 0, 0)
    sums = EntriesPerKey(1, 18, 18), EntriesPerKey(2, 2, 1)
    total, *listed = fold([sums[0], several_values, sums[1], sample])
    assert (total, listed) == (EntriesPerKey(3, 20, 18), [several_values])
    assert fold([sample, sums[1]])[0] == sample, "of that range alone it is half"


def test_facts_of_other_partitions_are_not_folded() -> None:
    observed = Observed(StoreId(0, "default", 5), 9, ReadProblem("io", "gone"))
    assert list(fold_ranges([observed, observed], {(0, 4): Listed()})) == [observed, observed]
