"""Operators, partitions and stores that are missing or too many."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.listing import ranges_text, state_problems
from tests import cases
from tests.cases import Batch, small_checkpoint


def found(root: Path, version: int = 4, partition_id: int | None = None) -> list[tuple[str, str]]:
    checkpoint = open_checkpoint(str(root), selection=Selection(partition_id=partition_id))
    return [
        (state_problem.slug, state_problem.message)
        for state_problem in state_problems(checkpoint, version)
    ]


def _one_too_many(root: Path) -> None:
    shutil.copytree(root / "state/1/0", root / "state/1/7")


def _join_gone(root: Path) -> None:
    shutil.rmtree(root / "state/0")


def _emptied(root: Path) -> None:
    shutil.rmtree(root / "state")
    (root / "state").mkdir()


def _state_gone(root: Path) -> None:
    shutil.rmtree(root / "state")


def _other_number(root: Path) -> None:
    path = root / "state/1/_metadata/metadata"
    path.write_text(path.read_text().replace('"numPartitions": 3', '"numPartitions": 4'))


def _store_gone(root: Path) -> None:
    for partition in range(cases.PARTITIONS):
        shutil.rmtree(root / f"state/0/{partition}/{cases.JOIN_STORES[0]}")


@pytest.mark.parametrize(
    ("damage", "slug", "words"),
    [
        (_one_too_many, "extra-partition", "partition 7 is too many, expected 0 to 2"),
        (_join_gone, "missing-operator", "operator 0 is missing, expected 0 to 1"),
        (_emptied, "missing-operator", "got no operator in it"),
        (_state_gone, "missing-operator", "batch 2 ran without new data"),
        (_other_number, "partition-counts", "got numPartitions 4 in the operator's metadata"),
        (_store_gone, "missing-version", "store 'left-keyToNumValues' is missing"),
    ],
)
def test_folders_are_compared_with_metadata_and_log(
    tmp_path: Path, damage: Callable[[Path], None], slug: str, words: str
) -> None:
    root = small_checkpoint(tmp_path)
    assert found(root) == []
    damage(root)
    problems = found(root)
    assert {item for item, _ in problems} == {slug}
    assert words in problems[0][1]


def test_no_state_is_expected_before_the_first_commit(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    _emptied(root)
    assert found(root, 0) == []


def test_a_query_without_state_lacks_nothing(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(0, 1, 1), Batch(1, 2, 2)], {"shuffle.partitions": "3"})
    (root / "state").rmdir()
    assert found(root, 2) == []


def test_selected_partition_lacks_no_other_state(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    _join_gone(root)
    _one_too_many(root)
    assert found(root, partition_id=0) == []


def test_ranges_text_of_consecutive_numbers() -> None:
    assert ranges_text([0, 1, 2, 3, 7]) == "0-3, 7"
