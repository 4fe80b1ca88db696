"""Tasks in, facts out: in any split and order; what is broken becomes a problem and no more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from inspector.engines.engine import Job, Work
from inspector.engines.local import LocalEngine
from inspector.facts.checks import ReadProblem
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import JudgedLeftover
from inspector.facts.registry import facts_in, facts_schema
from inspector.facts.versions import VersionFacts
from inspector.passes.worker import run_fields, run_tasks
from inspector.schemas import ROWS
from tests import cases, encode
from tests.attributes import attributes
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
)
from tests.cli.support import tree
from tests.passes.support import rows_in, rows_of_store, specs_of, tasks_batch
from tests.profiles import sampled

VICTIM_STORE = (1, "default", 1)


def counted(result: Iterable[Any]) -> Counter[str]:
    return Counter(map(repr, result))


def versions_in(result: list[Seen]) -> list[Observed[VersionFacts]]:
    return [item for item in result if isinstance(item.fact, VersionFacts)]


def rebased_by_version(result: list[Seen]) -> dict[int, int]:
    return dict(attributes(versions_in(result), "version", "fact.rebased"))


# --- splits and orders -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_facts_do_not_depend_on_how_the_tasks_are_split_and_ordered(
    tmp_path: Path, seed: int
) -> None:
    specs = specs_of(small_checkpoint(tmp_path))
    complete = observed(specs)
    random = Random(seed)
    random.shuffle(specs)
    cut = random.randrange(len(specs) + 1)
    batches = [tasks_batch(specs[:cut]), tasks_batch(specs[cut:])]
    result = chain(*map(facts_in, run_tasks(batches)))
    assert counted(result) == counted(complete)


@pytest.mark.parametrize(
    ("function", "compared"), [(run_tasks, counted), (run_fields, counted), (run_rows, list)]
)
def test_every_engine_setting_gives_the_same_rows(
    tmp_path: Path, function: Any, compared: Callable[[Iterable[Any]], Any]
) -> None:
    job = Job(function, facts_schema(), list(map(Work, specs_of(small_checkpoint(tmp_path)))))
    rows = rows_in(LocalEngine(1).run(job))
    assert compared(rows_in(LocalEngine(4).run(job))) == compared(rows)
    assert len(rows) > 6


@pytest.mark.parametrize(
    ("function", "schema"),
    [(run_tasks, facts_schema()), (run_fields, facts_schema()), (run_rows, ROWS)],
)
def test_batches_have_the_schema_that_spark_is_promised(
    tmp_path: Path, function: Any, schema: pa.Schema
) -> None:
    tasks = tasks_batch(specs_of(small_checkpoint(tmp_path)))
    (tmp_path / "state/1/2/2.delta").write_bytes(b"broken")
    # from_batches raises an error if a batch has another schema.
    table = pa.Table.from_batches(function([tasks]), schema)
    assert "problem" in table.column("kind").to_pylist()


@pytest.mark.parametrize("function", [run_tasks, run_fields, run_rows])
def test_worker_without_tasks_reads_nothing(function: Any) -> None:
    assert list(function([])) == list(function([tasks_batch([])])) == []


def test_many_facts_make_several_batches(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [cases.Batch(5000)])
    cases.write_operator(root, 0, "dedupe", "default")
    folder = root / "state/0/0"
    cases.write_schema(folder, cases.EVENT_TIME, cases.EXPIRES_AT)
    keys = map(cases.micros, range(5000))
    cases.write_store(folder, {1: list(dict.fromkeys(keys, b"").items())})
    batches = list(run_tasks([tasks_batch(specs_of(root))]))
    # Each batch has facts of one kind.
    kinds = [(batch.column("kind").unique().to_pylist(), batch.num_rows) for batch in batches]
    assert kinds == [
        (["version_facts"], 1),
        (["ages"], 1),
        (["leftover_count"], 1),
        (["leftover_age"], 1),
        (["leftover"], 4092),
        (["leftover"], 908),
    ]


def test_facts_of_every_store_and_version(tmp_path: Path) -> None:
    versions = versions_in(observed_in(small_checkpoint(tmp_path)))
    stores = [
        *((0, "left-keyToNumValues", 0), (0, "left-keyToNumValues", 1)),
        *((0, "left-keyToNumValues", 2), (0, "left-keyWithIndexToValue", 0)),
        *((0, "left-keyWithIndexToValue", 1), (0, "left-keyWithIndexToValue", 2)),
        *((1, "default", 0), (1, "default", 1), (1, "default", 2)),
    ]
    result = sorted((place(item), item.version) for item in versions)
    assert result == list(product(stores, [1, 2, 3, 4]))
    assert observed_in(tmp_path) == observed_in(tmp_path)


# --- what is broken --------------------------------------------------------------------------

VICTIM = "state/1/1/2.delta"


def change(root: Path, path: str, edit: Callable[[bytes], bytes]) -> None:
    file = root / path
    file.write_bytes(edit(file.read_bytes()))


def assert_only_partition_1_of_operator_1_suffers(
    before: list[Seen], after: list[Seen]
) -> list[Seen]:
    mine = rows_of_store(after, *VICTIM_STORE)
    siblings_before = counted(before) - counted(rows_of_store(before, *VICTIM_STORE))
    assert counted(after) - counted(mine) == siblings_before
    return mine


@pytest.mark.parametrize("codec", sampled(["lz4", "lzf", "snappy", "zstd"], 4))
def test_a_file_cut_anywhere_is_a_problem_with_its_path(tmp_path: Path, codec: str) -> None:
    root = small_checkpoint(tmp_path)
    rows: list[encode.Record] = [(cases.micros(500_000 + n), None) for n in range(1, 10)]
    complete = encode.state_file(rows, codec)
    (root / VICTIM).write_bytes(complete)
    before = observed_in(root)
    for size in sorted({*range(0, len(complete), 7), *range(len(complete) - 5, len(complete))}):
        (root / VICTIM).write_bytes(complete[:size])
        mine = assert_only_partition_1_of_operator_1_suffers(before, observed_in(root))
        (problem,) = (item for item in problems_in(mine) if item.slug != "codec-mismatch")
        assert problem.path == str(root / VICTIM)
        assert (problem.version, problem.message != "") == (2, True)
        assert problem.offset is not None
        # Version 3 comes from its snapshot; version 2 cannot be made, unless all records are there.
        expected = {"bad-tail": {1: 0, 2: 0, 3: 0, 4: 0}}
        assert rebased_by_version(mine) == expected.get(problem.slug, {1: 0, 3: 1, 4: 0})


@pytest.mark.parametrize("path", sampled([VICTIM, "state/1/1/3.snapshot", "state/1/1/4.delta"], 3))
def test_a_flipped_bit_is_a_problem_or_changes_nothing(tmp_path: Path, path: str) -> None:
    root = small_checkpoint(tmp_path)
    specs = specs_of(root)
    before, good = observed(specs), (root / path).read_bytes()
    harmless = 0
    for at in (*range(21), *range(21, len(good), 5)):
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        (root / path).write_bytes(bad)
        after = observed(specs)
        mine = assert_only_partition_1_of_operator_1_suffers(before, after)
        problems = problems_in(mine)
        assert set(attributes(problems, "path")) <= {str(root / path)}
        if not problems:
            harmless += 1
            assert counted(after) == counted(before)
    # The level in the token of an lz4 block says nothing of its bytes.
    assert harmless <= 2


def test_a_file_that_went_after_it_was_listed_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    before, specs = observed_in(root), specs_of(root)
    (root / VICTIM).unlink()
    mine = assert_only_partition_1_of_operator_1_suffers(before, observed(specs))
    (problem,) = problems_in(mine)
    assert (problem.path, problem.offset) == (str(root / VICTIM), None)
    assert problem.slug == "vanished"


def test_a_file_that_is_a_folder_by_now_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    before, specs = observed_in(root), specs_of(root)
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
    assert attributes(problems_in(mine), "version") == [2, 4]
    assert rebased_by_version(mine) == {1: 0}
    assert facts_of_type(mine, JudgedLeftover) == []


def test_broken_snapshot_with_delta_loses_no_fact(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    before = observed_in(root)
    change(root, "state/1/1/3.snapshot", lambda data: data[:40])
    mine = assert_only_partition_1_of_operator_1_suffers(before, observed_in(root))
    (problem,) = problems_in(mine)
    assert problem.path == str(root / "state/1/1/3.snapshot")
    assert facts_without_sizes(mine) == facts_without_sizes(rows_of_store(before, *VICTIM_STORE))


def facts_without_sizes(facts: list[Seen]) -> Counter[str]:
    """Return facts other than problems, without the sizes of snapshots."""
    sound = [item for item in facts if not isinstance(item.fact, ReadProblem)]
    return Counter(re.sub(r"snapshot_bytes=\d+", "", repr(item)) for item in sound)


def test_worker_writes_nothing_below_checkpoint(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    change(root, VICTIM, lambda data: data[:30])
    before = tree(root)
    assert observed_in(root, fit=True)
    assert run(specs_of(root), run_rows)
    assert run(specs_of(root), run_fields)
    assert tree(root) == before
