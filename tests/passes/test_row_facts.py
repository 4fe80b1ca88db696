"""Facts of the judged version's rows: those that Spark wrote, and any, in any split of the work."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from compare_with_spark import truth
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.field_sizes import RowBytes, measure_rows
from inspector.discovery.tasks import Task
from inspector.facts.join_rows import MatchedRows
from inspector.facts.size_distributions import FieldSizes
from inspector.merge.collect import Facts, collect
from inspector.model import JOIN_ROW_STORES, StoreName
from inspector.operators.rule import RowPart
from inspector.passes.worker import run_fields, run_tasks
from inspector.sparktypes import StructType
from tests import cases
from tests.attributes import attributes
from tests.cases import (
    Batch,
    observed,
    problems_in,
    run,
    run_rows,
    small_checkpoint,
    tasks_of,
)
from tests.cli.support import copy_of
from tests.encode import Record
from tests.fixture_folder import FIXTURES
from tests.passes.support import specs_of, tasks_batch, texts_of
from tests.profiles import costly
from tests.reports import cell_values

JOIN = "4.3.0/join_left_outer"
VICTIM = "state/0/1/left-keyWithIndexToValue/10.delta"

keys = st.sampled_from(["", "a", "eight888", "nineteen characters"]).map(cases.user)
timers = st.none() | st.integers(-1, 1 << 40)
new_values = st.builds(cases.group_state, st.none() | st.integers(0, 9), timers)
short = st.sampled_from([b"", b"\0" * 8])
deltas = st.lists(st.tuples(keys | short, st.none() | new_values | short), max_size=8)


def checkpoint_of(root: Path, partitions: list[list[list[Record]]]) -> Path:
    """A group state of some partitions, each with a delta for every version."""
    cases.write_logs(root, [Batch()] * 3)
    for number, histories in enumerate(partitions):
        cases.write_store(root / "state/0" / str(number), dict(enumerate(histories, 1)))
    cases.write_schema(root / "state/0/0", cases.USER, cases.GROUP_STATE)
    return root


def measured(schema: StructType, rows: list[bytes]) -> RowBytes:
    lengths = np.array(list(map(len, rows)), np.int64)
    return measure_rows(schema, b"".join(rows), np.cumsum(lengths) - lengths, lengths)


def matched(tasks: list[Task]) -> list[Task]:
    return [replace(task, request=replace(task.request, matched=True)) for task in tasks]


def facts_of(function: Any, tasks: list[Task], seed: int = 0) -> Facts:
    """The facts of tasks that were split and shuffled."""
    random = Random(seed)
    specs = random.sample(texts_of(tasks), len(tasks))
    cut = random.randrange(len(specs) + 1)
    first, none, second = tasks_batch(specs[:cut]), tasks_batch([]), tasks_batch(specs[cut:])
    return collect(reversed([*function([first]), *function([none]), *function([second])]))


@costly
@given(
    partitions=st.lists(st.lists(deltas, min_size=3, max_size=3), min_size=1, max_size=3),
    version=st.integers(1, 3),
    seed=st.integers(0, 9),
)
def test_the_sum_is_what_all_rows_measure(
    tmp_path_factory: pytest.TempPathFactory,
    partitions: list[list[list[Record]]],
    version: int,
    seed: int,
) -> None:
    root = checkpoint_of(tmp_path_factory.mktemp("c"), partitions)
    rows = run(specs_of(root, version), run_rows)
    name = StoreName(0, "default")
    assert facts_of(run_fields, tasks_of(root, version), seed).fields == {
        (name, RowPart.KEY): measured(cases.USER, cell_values(rows, "key")),
        (name, RowPart.VALUE): measured(cases.GROUP_STATE, cell_values(rows, "value")),
    }


def test_row_facts_of_selected_keys(tmp_path: Path) -> None:
    puts = [cases.put(cases.user("a"), 2), cases.put(cases.user("b"), 2)]
    (task,) = tasks_of(checkpoint_of(tmp_path, [[puts, [], []]]))
    fields = facts_of(run_fields, [replace(task, where=("value=b",))]).fields
    assert fields[StoreName(0, "default"), RowPart.KEY] == measured(cases.USER, [cases.user("b")])


def test_field_sizes_replay_no_version(tmp_path: Path) -> None:
    result = observed(specs_of(small_checkpoint(tmp_path)), run_fields)
    assert set(attributes(result, "fact.kind", "version")) == {(FieldSizes.kind, 4)}
    places = Counter(attributes(result, "store", "fact.side"))
    assert set(places.values()) == {1}
    assert len(places) == 2 * 9


def test_store_without_schema_has_problems_and_no_fields(tmp_path: Path) -> None:
    (task,) = tasks_of(checkpoint_of(tmp_path, [[[], [], []]]))
    bare = replace(task, stores=(replace(task.stores[0], key_schema=None, value_schema=None),))
    assert observed([bare.to_json()], run_fields) == []
    (tmp_path / "state/0/0/2.delta").write_bytes(b"broken")
    (problem,) = problems_in(observed([bare.to_json()], run_fields))
    assert problem.path == str(tmp_path / "state/0/0/2.delta")


# --- joins -----------------------------------------------------------------------------------


LEFT, RIGHT = StoreName(0, JOIN_ROW_STORES[0]), StoreName(0, JOIN_ROW_STORES[1])


@pytest.mark.parametrize("case", [JOIN, "3.5.9/join_left_outer", "4.3.0/join_one_sided"])
@pytest.mark.parametrize("seed", range(2))
def test_matched_rows_equal_matched_rows_of_spark(case: str, seed: int) -> None:
    recorded = truth(FIXTURES / case)
    newest = max(recorded)
    flags = Counter(
        (row["store"], dict(row["v"])["matched"])
        for row in recorded[newest]
        if row["store"] in JOIN_ROW_STORES
    )
    tasks = matched(tasks_of(FIXTURES / case / "checkpoint", newest))
    assert facts_of(run_tasks, tasks, seed).sums(MatchedRows) == {
        LEFT: MatchedRows(flags[LEFT.store_name, True], flags[LEFT.store_name, False]),
        RIGHT: MatchedRows(flags[RIGHT.store_name, True], flags[RIGHT.store_name, False]),
    }


def test_matched_rows_are_counted_on_request() -> None:
    tasks = tasks_of(FIXTURES / JOIN / "checkpoint")
    plain = observed(texts_of(tasks))
    requested = observed(texts_of(matched(tasks)))
    assert [item for item in requested if not isinstance(item.fact, MatchedRows)] == plain
    assert len(requested) > len(plain)


@pytest.mark.parametrize("case", ["4.3.0/agg_update", "4.0.5/join_inner_v1"])
def test_matched_flag_exists_in_joins_of_format_2(case: str) -> None:
    tasks = matched(tasks_of(FIXTURES / case / "checkpoint"))
    assert facts_of(run_tasks, tasks).sums(MatchedRows) == {}


# --- what cannot be read ---------------------------------------------------------------------


@pytest.mark.parametrize("function", [run_tasks, run_fields])
def test_a_file_that_cannot_be_read_is_one_problem(tmp_path: Path, function: Any) -> None:
    root = copy_of("join_left_outer", tmp_path)
    tasks = matched(tasks_of(root))
    (root / VICTIM).write_bytes(b"broken")
    (problem,) = facts_of(function, tasks).problems
    assert problem.path == str(root / VICTIM)


def test_damaged_partition_does_not_stop_matched_counts(tmp_path: Path) -> None:
    root = copy_of("join_left_outer", tmp_path)
    tasks = matched(tasks_of(root))
    sums = facts_of(run_tasks, [task for task in tasks if task.partition_id != 1]).sums(MatchedRows)
    complete = facts_of(run_tasks, tasks).sums(MatchedRows)
    (root / VICTIM).write_bytes(b"broken")
    result = facts_of(run_tasks, tasks).sums(MatchedRows)
    assert result == {LEFT: sums[LEFT], RIGHT: complete[RIGHT]}
    assert result != complete


@pytest.mark.parametrize("function", [run_tasks, run_fields])
def test_version_0_has_no_rows(tmp_path: Path, function: Any) -> None:
    facts = facts_of(function, matched(tasks_of(copy_of("join_left_outer", tmp_path), 0)))
    assert set(facts.sums(MatchedRows).values()) <= {MatchedRows()}
    assert set(attributes(facts.fields.values(), "rows")) <= {0}
    assert facts.problems == []
