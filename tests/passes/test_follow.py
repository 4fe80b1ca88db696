"""A query that is followed gives the facts that a pass over all files gives, and reads less."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Request
from inspector.facts.checks import ReadProblem
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.versions import VersionFacts
from inspector.model import NO_TIMEOUT
from inspector.passes import follow
from inspector.passes.follow import Followed
from inspector.passes.worker import run_tasks
from tests.attributes import attributes
from tests.cases import (
    GROUP_STATE,
    USER,
    Batch,
    Seen,
    facts_of_type,
    group_state,
    micros,
    observed,
    problems_in,
    small_checkpoint,
    user,
    write_logs,
    write_operator,
    write_schema,
    write_store,
)
from tests.encode import state_file
from tests.faults import before_each_read, refusing
from tests.fixture_folder import NEWEST
from tests.passes.support import facts_by_version, rows_of_store, texts_of
from tests.profiles import sampled


def specs_of(root: Path, version: int) -> list[str]:
    tasks = plan(open_checkpoint(str(root)), version, Request(leftover_limit=3))
    return texts_of(tasks)


def seen_by(followed: Callable[..., Any], root: Path, version: int) -> list[Seen]:
    return observed(specs_of(root, version), followed)


def words(result: list[Seen]) -> list[str]:
    return sorted(map(repr, result))


def words_of_complete_pass(root: Path, version: int) -> list[str]:
    """Return the facts of a pass over all files of a version."""
    return words(observed(specs_of(root, version), run_tasks))


def rows_by_version(facts: list[Seen]) -> dict[int, int]:
    """Return the number of rows of each version of one store."""
    versions = facts_by_version(facts, VersionFacts)
    return dict(zip(versions, attributes(versions.values(), "rows"), strict=True))


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The state files that are opened, in order."""
    paths: list[str] = []

    def count(_storage: Storage, relative: str) -> None:
        if relative.endswith((".delta", ".snapshot")):
            paths.append(relative)

    with before_each_read(count):
        yield paths


def file_names(paths: Iterable[str]) -> list[str]:
    return [Path(path).name for path in paths]


CASES = (
    *("agg_two_levels", "dedup_after_join", "fmgws_event_ignore", "fmgws_processing_time"),
    *("fmgws_snapshots_cleaned", "join_time_key", "pandas_event_ignore", "session_window"),
    *("snapshot_in_middle", "trouble_rearmed_timeouts"),
)


@pytest.mark.parametrize("case", sampled(CASES, 4))
def test_every_version_has_the_facts_of_a_pass_over_all_files(case: str) -> None:
    root = NEWEST / case / "checkpoint"
    followed, compared = Followed(), 0
    for version in range(1, open_checkpoint(str(root)).newest_version + 1):
        seen = seen_by(followed, root, version)
        assert words(seen) == words_of_complete_pass(root, version)
        compared += len(seen)
    assert compared > 20


def test_a_later_version_reads_the_deltas_that_it_has_more(
    tmp_path: Path, opened: list[str]
) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 2)
    first = set(opened)
    assert set(file_names(first)) == {"1.delta", "2.delta"}
    opened.clear()
    seen_by(followed, root, 3)
    assert set(file_names(opened)) == {"3.delta"}
    assert len(opened) == len(set(opened)) == len(first) // 2
    opened.clear()
    seen_by(followed, root, 3)
    assert opened == []


def test_a_version_that_is_older_is_replayed_from_the_files(tmp_path: Path) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 4)
    assert words(seen_by(followed, root, 2)) == words_of_complete_pass(root, 2)


def test_a_delta_that_was_written_once_more_is_read_once_more(tmp_path: Path) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 3)
    rewritten = root / "state/1/0/3.delta"
    rewritten.write_bytes(state_file([(micros(n), b"\0" * 16) for n in range(7, 20)], "lz4"))
    assert words(seen_by(followed, root, 4)) == words_of_complete_pass(root, 4)


@pytest.mark.parametrize(
    ("delta_seconds", "certainty", "problems"),
    [(1_704_067_201, "undecided", [0, 1, 1]), (1_704_067_200, "proven", [0, 0, 0])],
    ids=["snapshot is older", "snapshot is as old"],
)
def test_a_snapshot_of_a_batch_that_ran_again_is_held_against_its_delta(
    tmp_path: Path, delta_seconds: int, certainty: str, problems: list[int]
) -> None:
    remaining, due = group_state(2, NO_TIMEOUT), group_state(1, 600)
    batches = [Batch(0, 1000, 1), Batch(900, 2000, 1), Batch(900, 3000, 1), Batch(900, 4000, 1)]
    write_logs(tmp_path, batches, {"shuffle.partitions": "1"})
    write_operator(tmp_path, 0, "applyInPandasWithState", "default")
    write_schema(tmp_path / "state/0/0", USER, GROUP_STATE)
    rows = {1: [(user("a"), due)], 2: [(user("a"), remaining)], 3: [], 4: []}
    write_store(tmp_path / "state/0/0", rows, {3: [(user("a"), due)]})
    os.utime(tmp_path / "state/0/0/3.delta", (delta_seconds, delta_seconds))
    os.utime(tmp_path / "state/0/0/3.snapshot", (1_704_067_200, 1_704_067_200))
    followed = Followed()
    second, third, fourth = (seen_by(followed, tmp_path, version) for version in (2, 3, 4))
    assert list(map(len, map(problems_in, (second, third, fourth)))) == problems
    counts = facts_of_type(fourth, LeftoverCount)
    assert set(attributes(counts, "certainty.value")) == {certainty}


def test_deltas_that_were_cleaned_up_are_bridged_by_a_snapshot(tmp_path: Path) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 1)
    (root / "state/1/1/1.delta").unlink()
    (root / "state/1/1/2.delta").unlink()
    (root / "state/1/1/3.delta").unlink()
    seen = seen_by(followed, root, 4)
    assert rows_by_version(rows_of_store(seen, 1, "default", 1)) == {1: 12, 3: 3, 4: 3}
    complete = observed(specs_of(root, 4), run_tasks)
    assert rows_by_version(rows_of_store(complete, 1, "default", 1)) == {3: 3, 4: 3}


def test_a_file_that_cannot_be_read_is_told_once_a_version_until_a_snapshot(tmp_path: Path) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 1)
    (root / "state/1/1/2.delta").write_bytes(b"nonsense")
    (problem,) = facts_of_type(seen_by(followed, root, 2), ReadProblem)
    assert str(problem.path).endswith("state/1/1/2.delta")
    # The snapshot of version 3 begins anew.
    seen = seen_by(followed, root, 4)
    assert rows_by_version(rows_of_store(seen, 1, "default", 1)) == {1: 12, 3: 3, 4: 3}
    assert len(problems_in(seen)) == 1
    # When the query has cleaned the file up, nothing is wrong any more.
    (root / "state/1/1/2.delta").unlink()
    assert problems_in(seen_by(followed, root, 4)) == []


def test_what_the_storage_refused_is_read_again(tmp_path: Path) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 1)
    with refusing("2.delta", OSError("timed out")):
        assert facts_of_type(seen_by(followed, root, 2), ReadProblem)
    seen = seen_by(followed, root, 3)
    assert words(seen) == words_of_complete_pass(root, 3)


def test_another_schema_begins_anew(tmp_path: Path) -> None:
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 2)
    shutil.rmtree(root / "state/1/0/_metadata")
    seen = seen_by(followed, root, 3)
    assert words(seen) == words_of_complete_pass(root, 3)


def test_a_map_with_many_dead_keys_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    monkeypatch.setattr(follow, "MOST_DEAD_KEYS", 4)
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 2)
    several_values = [(user(f"guest-{n}"), micros(n)) for n in range(500)]
    location = root / "state/0/0/left-keyToNumValues"
    (location / "3.delta").write_bytes(state_file(several_values, "lz4"))
    seen_by(followed, root, 3)
    opened.clear()
    seen = seen_by(followed, root, 4)
    mine = [path for path in opened if "0/0/left-keyToNumValues" in path]
    assert file_names(mine) == ["1.delta", "2.delta", "3.delta", "4.delta"]
    assert words(seen) == words_of_complete_pass(root, 4)


def test_facts_of_old_versions_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "KEPT_VERSIONS", 2)
    root, followed = small_checkpoint(tmp_path), Followed()
    seen_by(followed, root, 1)
    seen_by(followed, root, 2)
    seen_by(followed, root, 3)
    assert set(rows_by_version(seen_by(followed, root, 4))) == {3, 4}
