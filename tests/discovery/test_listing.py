"""Problems that the names of files show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.listing import listing_problems
from inspector.model import Problem, StoreId
from inspector.sparktypes.ddl import parse_ddl
from tests import cases
from tests.cases import Batch, small_checkpoint
from tests.checkpoint_files import remove_paths
from tests.fixture_folder import NEWEST
from tests.reports import slugs


def problems(root: Path, version: int = 4) -> list[Problem]:
    return list(listing_problems(open_checkpoint(str(root)), version))


def test_complete_checkpoint_has_no_listing_problem(tmp_path: Path) -> None:
    assert problems(small_checkpoint(tmp_path)) == []


def test_gap_names_missing_deltas_and_the_restorable_version(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    remove_paths(root, "state/1/0/[23].delta")
    store_id = StoreId(1, "default", 0)
    folder = str(root / "state/1/0")
    missing, gap = problems(root)
    assert (missing.slug, missing.path, missing.store, missing.version) == (
        *("missing-version", folder, store_id, 4),
    )
    assert "which can restore version 1" in missing.message
    assert (gap.slug, gap.path, gap.store) == ("missing-delta", folder, store_id)
    assert "versions 2-3 are missing" in gap.message
    # Versions after the judged version are not checked.
    assert problems(root, 1) == []


@pytest.mark.parametrize("version", [2, 3])
def test_gap_up_to_a_snapshot_is_a_missing_delta(tmp_path: Path, version: int) -> None:
    """Partition 1 of operator 1 has a snapshot of version 3."""
    root = small_checkpoint(tmp_path)
    (root / f"state/1/1/{version}.delta").unlink()
    (gap,) = problems(root)
    assert (gap.slug, gap.store) == ("missing-delta", StoreId(1, "default", 1))
    assert f"the delta of version {version} is missing" in gap.message


def test_cleaned_up_files_are_not_missing(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    remove_paths(root, "state/1/1/[123].delta")
    assert problems(root) == []


def test_store_without_files_lacks_all_versions(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "state/1/2")
    (root / "state/1/2").mkdir()
    missing, gap = problems(root)
    assert "which can restore no version" in missing.message
    assert "versions 1-4 are missing" in gap.message


def test_missing_partitions_by_the_recorded_number(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "state/1/2")
    shutil.rmtree(root / "state/1/1")
    (missing,) = problems(root)
    assert (missing.slug, missing.path) == ("missing-partition", str(root / "state/1"))
    assert "partitions 1-2 are missing, expected 0 to 2" in missing.message
    selected = open_checkpoint(str(root), selection=Selection(partition_id=0))
    assert list(listing_problems(selected, 4)) == []


def test_no_missing_partition_without_a_recorded_number(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "state/1/2")
    cases.write_logs(root, [Batch(0, n, n) for n in range(4)])
    (missing,) = problems(root)
    assert "(numPartitions in the operator's metadata)" in missing.message
    shutil.rmtree(root / "state/1/_metadata")
    assert problems(root) == []


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [("globalLimit", "key void", "value long"), ("stateStoreSave", "", "count long")],
)
@pytest.mark.parametrize("with_metadata", [True, False])
def test_single_partition_operators_lack_no_partition(
    tmp_path: Path, name: str, key: str, value: str, with_metadata: bool
) -> None:
    root = cases.write_logs(tmp_path, [Batch(0, 1, 1)], {"shuffle.partitions": "5"})
    if with_metadata:
        cases.write_operator(root, 0, name, "default")
    cases.write_schema(root / "state/0/0", parse_ddl(key), parse_ddl(value))
    cases.write_store(root / "state/0/0", {1: []})
    assert open_checkpoint(str(root)).operators[0].name == name
    assert problems(root, 1) == []


def test_store_missing_in_one_partition(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "state/0/1" / cases.JOIN_STORES[0])
    (missing,) = problems(root)
    assert (missing.slug, missing.path) == ("missing-version", str(root / "state/0/1"))
    assert repr(cases.JOIN_STORES[0]) in missing.message


def test_gap_before_the_oldest_log_entry_is_no_missing_delta(tmp_path: Path) -> None:
    """A repartitioning may have used fewer partitions for these versions."""
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "rocksdb_agg_update_snapshots/checkpoint", root)
    remove_paths(root, "state/0/0/[45].changelog")
    assert "missing-delta" in slugs(problems(root, 8))
    remove_paths(root, "offsets/[0-4]", "commits/[0-4]")
    assert "missing-delta" not in slugs(problems(root, 8))
