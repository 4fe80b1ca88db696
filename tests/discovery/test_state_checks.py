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
from tests.attributes import attributes
from tests.cases import Batch, small_checkpoint
from tests.checkpoint_files import remove_paths


def found_problems(
    root: Path, version: int = 4, partition_id: int | None = None
) -> list[tuple[str, str]]:
    checkpoint = open_checkpoint(str(root), selection=Selection(partition_id=partition_id))
    return attributes(state_problems(checkpoint, version), "slug", "message")


def _add_partition(root: Path) -> None:
    shutil.copytree(root / "state/1/0", root / "state/1/7")


def _remove_join(root: Path) -> None:
    shutil.rmtree(root / "state/0")


def _empty_state(root: Path) -> None:
    shutil.rmtree(root / "state")
    (root / "state").mkdir()


def _remove_state(root: Path) -> None:
    shutil.rmtree(root / "state")


def _change_partition_count(root: Path) -> None:
    path = root / "state/1/_metadata/metadata"
    path.write_text(path.read_text().replace('"numPartitions": 3', '"numPartitions": 4'))


def _remove_store(root: Path) -> None:
    remove_paths(root, f"state/0/[0-9]*/{cases.JOIN_STORES[0]}")


@pytest.mark.parametrize(
    ("damage", "slug", "words"),
    [
        (_add_partition, "extra-partition", "partition 7 is too many, expected 0 to 2"),
        (_remove_join, "missing-operator", "operator 0 is missing, expected 0 to 1"),
        (_empty_state, "missing-operator", "got no operator in it"),
        (_remove_state, "missing-operator", "batch 2 ran without new data"),
        (
            _change_partition_count,
            "partition-counts",
            "got numPartitions 4 in the operator's metadata",
        ),
        (_remove_store, "missing-version", "store 'left-keyToNumValues' is missing"),
    ],
)
def test_folders_are_compared_with_metadata_and_log(
    tmp_path: Path, damage: Callable[[Path], None], slug: str, words: str
) -> None:
    root = small_checkpoint(tmp_path)
    assert found_problems(root) == []
    damage(root)
    problems = found_problems(root)
    assert {item for item, _ in problems} == {slug}
    assert words in problems[0][1]


def test_no_state_is_expected_before_the_first_commit(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    _empty_state(root)
    assert found_problems(root, 0) == []


def test_a_query_without_state_lacks_nothing(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(0, 1, 1), Batch(1, 2, 2)], {"shuffle.partitions": "3"})
    (root / "state").rmdir()
    assert found_problems(root, 2) == []


def test_selected_partition_lacks_no_other_state(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    _remove_join(root)
    _add_partition(root)
    assert found_problems(root, partition_id=0) == []


def test_ranges_text_of_consecutive_numbers() -> None:
    assert ranges_text([0, 1, 2, 3, 7]) == "0-3, 7"
