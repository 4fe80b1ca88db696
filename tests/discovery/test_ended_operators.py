"""Operators that a restart took out of the query, which Spark allowed before 4.0."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector import api
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.copy_contents import small_files
from inspector.discovery.restart import restart_of
from inspector.model import LEFT
from tests.checkpoint_files import remove_paths
from tests.fixture_folder import FIXTURES
from tests.reports import cell_values, finding_ids, slugs

CASE = "agg_two_levels"
DAMAGE = {"SS101", "SS105"}
"""Findings about a missing delta and an unrestorable version."""


@pytest.fixture
def shortened(tmp_path: Path) -> Callable[..., tuple[Path, int]]:
    """Return a function that copies a checkpoint and removes the newest versions of operators."""

    def made(*missing: tuple[str, int], release: str = "3.5.9") -> tuple[Path, int]:
        root = tmp_path / release
        shutil.copytree(FIXTURES / release / CASE / "checkpoint", root)
        newest = open_checkpoint(str(root)).newest_version
        for folder, count in missing:
            for version in range(newest - count + 1, newest + 1):
                for file in root.glob(f"state/{folder}/{version}.*"):
                    file.unlink()
        return root, newest

    return made


def operators_with_rows(root: Path, batch: int) -> set[int]:
    rows = api.rows(str(root), api.Options(batch=batch), limit=0).primary.rows
    return set(cell_values(rows, "operator_id"))


@pytest.mark.parametrize("missing", [[("1/*", 3)], [("1/0", 2), ("1/1", 3)], [("1/*", 1)]])
def test_operator_removed_by_a_restart_is_no_damage(
    shortened: Callable[..., tuple[Path, int]], missing: list[tuple[str, int]]
) -> None:
    root, newest = shortened(*missing)
    report = api.audit(str(root))
    assert slugs(report.problems) == [LEFT]
    assert DAMAGE.isdisjoint(finding_ids(report))
    assert restart_of(open_checkpoint(str(root))).obstacles == ()
    assert operators_with_rows(root, newest - 1) == {0}
    assert operators_with_rows(root, newest - 4) == {0, 1}


def test_one_missing_delta_with_a_missing_partition_is_damage(
    shortened: Callable[..., tuple[Path, int]],
) -> None:
    root, _ = shortened(("1/*", 1))
    shutil.rmtree(root / "state/1/1")
    assert set(finding_ids(api.audit(str(root)))) >= DAMAGE


def test_copy_leaves_out_an_ended_operator(shortened: Callable[..., tuple[Path, int]]) -> None:
    root, newest = shortened(("1/*", 3))
    checkpoint = open_checkpoint(str(root))

    def names(batch: int) -> set[str]:
        files, _ = small_files(checkpoint, batch, "elsewhere")
        return {name for file in files if (name := file.path).startswith("state/1/")}

    assert names(newest - 1) == set()
    assert names(newest - 4)


@pytest.mark.parametrize(
    ("missing", "release"),
    [
        ([("1/0", 1)], "3.5.9"),  # another partition continues
        ([("1/0", 3)], "3.5.9"),
        ([("0/*", 3)], "3.5.9"),  # the operator with a higher number continues
        ([("0/*", 3), ("1/*", 3)], "3.5.9"),
        ([("1/*", 3)], "4.3.0"),  # Spark refuses such a restart
    ],
)
def test_missing_files_of_other_shapes_are_damage(
    shortened: Callable[..., tuple[Path, int]], missing: list[tuple[str, int]], release: str
) -> None:
    root, _ = shortened(*missing, release=release)
    assert set(finding_ids(api.audit(str(root)))) >= DAMAGE


def test_release_of_ended_operators_from_the_log(
    shortened: Callable[..., tuple[Path, int]],
) -> None:
    root, _ = shortened(("1/*", 3), release="4.3.0")
    remove_paths(root, "state/*/_metadata")
    assert set(finding_ids(api.audit(str(root)))) >= DAMAGE
