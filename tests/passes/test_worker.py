"""Tasks in, facts out: in any split and order; what is broken becomes a problem and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from inspector.engines.engine import Job, Work
from inspector.engines.local import LocalEngine
from inspector.facts.checks import ReadProblem
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import JudgedLeftover, Leftover
from inspector.facts.registry import BATCH_ROWS, facts_in, facts_schema
from inspector.facts.versions import VersionFacts
from inspector.passes.worker import run_fields, run_tasks
from inspector.schemas import ROWS, TASKS, batch_of
from tests import cases, encode
from tests.cases import (
    Seen,
    facts_of_type,
    observed,
    observed_in,
    place,
    problems_in,
    run,
    run_rows,
    small_checkpoint,
    tasks_of,
)
from tests.profiles import sampled


def counted(result: Iterable[Seen]) -> Counter[str]:
    return Counter(map(repr, result))


def versions_in(result: list[Seen]) -> list[Observed[VersionFacts]]:
    return [item for item in result if isinstance(item.fact, VersionFacts)]


# --- splits and orders -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_facts_do_not_depend_on_how_the_tasks_are_split_and_ordered(
    tmp_path: Path, seed: int
) -> None:
    specs = [task.to_json() for task in tasks_of(small_checkpoint(tmp_path))]
    complete = observed(specs)
    random = Random(seed)
    random.shuffle(specs)
    cut = random.randrange(len(specs) + 1)
    batches = [
        batch_of(TASKS, [{"task_id": 0, "spec": spec} for spec in part])
        for part in (specs[:cut], specs[cut:])
    ]
    result = [fact for batch in run_tasks(batches) for fact in facts_in(batch)]
    assert counted(result) == counted(complete)


@pytest.mark.parametrize(
    ("function", "in_order"), [(run_tasks, sorted), (run_fields, sorted), (run_rows, list)]
)
def test_every_engine_setting_gives_the_same_rows(
    tmp_path: Path, function: Any, in_order: Callable[[list[str]], list[str]]
) -> None:
    work = [Work(task.to_json()) for task in tasks_of(small_checkpoint(tmp_path))]
    item, several_values = (
        [
            str(row)
            for b in LocalEngine(n).run(Job(function, facts_schema(), work))
            for row in b.to_pylist()
        ]
        for n in (1, 4)
    )
    assert in_order(item) == in_order(several_values)
    assert len(item) > 6


def test_batches_have_the_schema_that_spark_is_promised(tmp_path: Path) -> None:
    tasks = [batch_of(TASKS, [{"spec": t.to_json()}]) for t in tasks_of(small_checkpoint(tmp_path))]
    (tmp_path / "state/1/2/2.delta").write_bytes(b"broken")
    for function, schema in (
        (run_tasks, facts_schema()),
        (run_fields, facts_schema()),
        (run_rows, ROWS),
    ):
        batches: list[pa.RecordBatch] = list(function(tasks))
        assert {row["kind"] for b in batches for row in b.to_pylist()} >= {"problem"}
        assert all(batch.schema.equals(schema) for batch in batches)


def test_worker_without_tasks_reads_nothing() -> None:
    for function in (run_tasks, run_fields, run_rows):
        assert list(function([])) == list(function([batch_of(TASKS, [])])) == []


def test_many_facts_make_several_batches(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [cases.Batch(5000)])
    cases.write_operator(root, 0, "dedupe", "default")
    folder = root / "state/0/0"
    cases.write_schema(folder, cases.EVENT_TIME, cases.EXPIRES_AT)
    cases.write_store(folder, {1: [(cases.micros(n), b"") for n in range(5000)]})
    tasks = batch_of(TASKS, [{"spec": task.to_json()} for task in tasks_of(root)])
    batches = list(run_tasks([tasks]))
    result = [fact for batch in batches for fact in facts_in(batch)]
    assert len(facts_of_type(result, Leftover)) == 5000
    # Those of one kind lie together.
    kinds = [batch.column("kind").unique().to_pylist() for batch in batches]
    assert all(len(of_batch) == 1 for of_batch in kinds)
    assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
    assert kinds.count(["leftover"]) == 2


def test_facts_of_every_store_and_version(tmp_path: Path) -> None:
    versions = versions_in(observed_in(small_checkpoint(tmp_path)))
    counter = Counter((*place(item), item.version) for item in versions)
    stores = [(1, "default"), *((0, store) for store in cases.JOIN_STORES)]
    assert counter == Counter(
        (*store, partition, version)
        for store in stores
        for partition in range(cases.PARTITIONS)
        for version in (1, 2, 3, 4)
    )
    assert observed_in(tmp_path) == observed_in(tmp_path)


# --- what is broken --------------------------------------------------------------------------

VICTIM = "state/1/1/2.delta"


def change(root: Path, path: str, edit: Callable[[bytes], bytes]) -> None:
    file = root / path
    file.write_bytes(edit(file.read_bytes()))


def assert_only_partition_1_of_operator_1_suffers(
    before: list[Seen], after: list[Seen]
) -> list[Seen]:
    victim = (1, "default", 1)
    siblings = [row for row in before if place(row) != victim]
    assert counted(row for row in after if place(row) != victim) == counted(siblings)
    return [row for row in after if place(row) == victim]


@pytest.mark.parametrize("codec", sampled(["lz4", "lzf", "snappy", "zstd"], 4))
def test_a_file_cut_anywhere_is_a_problem_with_its_path(tmp_path: Path, codec: str) -> None:
    root = small_checkpoint(tmp_path)
    rows: list[encode.Record] = [(cases.micros(500_000 + n), None) for n in range(1, 10)]
    complete = encode.state_file(rows, codec)
    (root / VICTIM).write_bytes(complete)
    specs = [task.to_json() for task in tasks_of(root) if task.operator_id == 1]
    before = observed(specs)
    for size in sorted({*range(0, len(complete), 7), *range(len(complete) - 5, len(complete))}):
        (root / VICTIM).write_bytes(complete[:size])
        listed = [task.to_json() for task in tasks_of(root) if task.operator_id == 1]
        mine = assert_only_partition_1_of_operator_1_suffers(before, observed(listed))
        bad = [item for item in problems_in(mine) if item.slug != "codec-mismatch"]
        (problem,) = bad
        assert problem.path == str(root / VICTIM)
        assert (problem.version, problem.message != "") == (2, True)
        assert problem.offset is not None
        # Version 3 comes from its snapshot; version 2 cannot be made, unless all records are there.
        rebased = {version.version: version.fact.rebased for version in versions_in(mine)}
        whole_records = problem.slug == "bad-tail"
        assert rebased == ({1: 0, 2: 0, 3: 0, 4: 0} if whole_records else {1: 0, 3: 1, 4: 0})


@pytest.mark.parametrize("path", sampled([VICTIM, "state/1/1/3.snapshot", "state/1/1/4.delta"], 3))
def test_a_flipped_bit_is_a_problem_or_changes_nothing(tmp_path: Path, path: str) -> None:
    root = small_checkpoint(tmp_path)
    specs = [task.to_json() for task in tasks_of(root) if task.operator_id == 1]
    before, good = observed(specs), (root / path).read_bytes()
    harmless = 0
    for at in (*range(21), *range(21, len(good), 5)):
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        (root / path).write_bytes(bad)
        after = observed(specs)
        mine = assert_only_partition_1_of_operator_1_suffers(before, after)
        problems = problems_in(mine)
        assert {problem.path for problem in problems} <= {str(root / path)}
        if not problems:
            harmless += 1
            assert counted(after) == counted(before)
    # The level in the token of an lz4 block says nothing of its bytes.
    assert harmless <= 2


def test_a_file_that_went_after_it_was_listed_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    before, specs = observed_in(root), [task.to_json() for task in tasks_of(root)]
    (root / VICTIM).unlink()
    mine = assert_only_partition_1_of_operator_1_suffers(before, observed(specs))
    (problem,) = problems_in(mine)
    assert (problem.path, problem.offset) == (str(root / VICTIM), None)
    assert problem.slug == "vanished"


def test_a_file_that_is_a_folder_by_now_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    before, specs = observed_in(root), [task.to_json() for task in tasks_of(root)]
    (root / VICTIM).unlink()
    (root / VICTIM).mkdir()
    mine = assert_only_partition_1_of_operator_1_suffers(before, observed(specs))
    (problem,) = problems_in(mine)
    assert (problem.path, problem.slug) == (str(root / VICTIM), "storage")


def test_files_are_read_after_broken_delta_without_versions(
    tmp_path: Path,
) -> None:
    root = small_checkpoint(tmp_path)
    (root / "state/1/1/3.snapshot").unlink()
    before = observed_in(root)
    change(root, VICTIM, lambda data: data[:-25])
    change(root, "state/1/1/4.delta", lambda data: data[:30])
    mine = assert_only_partition_1_of_operator_1_suffers(before, observed_in(root))
    assert [problem.version for problem in problems_in(mine)] == [2, 4]
    assert [version.version for version in versions_in(mine)] == [1]
    assert facts_of_type(mine, JudgedLeftover) == []


def test_broken_snapshot_with_delta_loses_no_fact(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    before = observed_in(root)
    change(root, "state/1/1/3.snapshot", lambda data: data[:40])
    mine = assert_only_partition_1_of_operator_1_suffers(before, observed_in(root))
    (problem,) = problems_in(mine)
    assert problem.path == str(root / "state/1/1/3.snapshot")
    result = [entry for entry in mine if not isinstance(entry.fact, ReadProblem)]
    sound = [element for element in before if not isinstance(element.fact, ReadProblem)]
    expected = [item for item in sound if place(item) == (1, "default", 1)]
    assert counted(map(_unsized, result)) == counted(map(_unsized, expected))


def _unsized(item: Seen) -> Seen:
    """The same without the size of a snapshot."""
    if not isinstance(item.fact, VersionFacts):
        return item
    return replace(item, fact=replace(item.fact, snapshot_bytes=0))


def test_worker_writes_nothing_below_checkpoint(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    change(root, VICTIM, lambda data: data[:30])
    before = cases.tree(root)
    assert observed_in(root, fit=True)
    for function in (run_rows, run_fields):
        assert run([task.to_json() for task in tasks_of(root)], function)
    assert cases.tree(root) == before
