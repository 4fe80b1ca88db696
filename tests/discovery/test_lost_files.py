"""Schemas and operator metadata that Spark wrote and that are missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.checkpoint.metadata import LOST_METADATA
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.lost_files import LOST_SCHEMA
from tests.checkpoint_files import remove_paths
from tests.fixture_folder import FIXTURES


def problems(tmp_path: Path, case: str, *gone: str, log: bool = True) -> list[tuple[str, str]]:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / case / "checkpoint", root)
    remove_paths(root, *gone)
    if not log:
        (root / "offsets/0").unlink()
    result = open_checkpoint(str(root)).problems
    return [(item.slug, str(item.path).removeprefix(f"{root}/")) for item in result]


@pytest.mark.parametrize("case", ["3.0.3/join_left_outer", "3.5.9/agg_append", "4.3.0/agg_append"])
def test_no_lost_files_that_the_release_does_not_write(case: str, tmp_path: Path) -> None:
    assert problems(tmp_path, case) == []


@pytest.mark.parametrize(
    "case", ["3.1.3/agg_update", "3.5.9/agg_append", "3.5.9/snapshots_cleaned"]
)
def test_lost_schema_of_a_release_that_writes_schemas(case: str, tmp_path: Path) -> None:
    schema = "state/0/0/_metadata/schema"
    assert problems(tmp_path, case, schema) == [(LOST_SCHEMA, schema)]


def test_lost_schema_if_another_store_has_one(tmp_path: Path) -> None:
    schema = "state/0/0/right-keyToNumValues/_metadata/schema"
    lost = problems(tmp_path, "3.3.4/join_inner_v1", schema, log=False)
    assert lost == [(LOST_SCHEMA, schema)]


def test_lost_schema_of_format_3(tmp_path: Path) -> None:
    case, schemas = "4.3.0/rocksdb_join_left_outer_v3", "state/0/_stateSchema"
    lost = [(LOST_SCHEMA, f"{schemas}/default")]
    assert problems(tmp_path / "store", case, f"{schemas}/default") == lost
    assert problems(tmp_path / "all", case, schemas) == lost


def test_lost_operator_metadata_since_spark_4_0(tmp_path: Path) -> None:
    lost = [(LOST_METADATA, "state/0/_metadata/metadata")]
    assert problems(tmp_path, "4.3.0/agg_append", "state/0/_metadata") == lost


def test_lost_operator_metadata_if_spark_4_1_wrote_the_first_state(tmp_path: Path) -> None:
    case, gone = "4.1.4/agg_file_checksum", "state/0/_metadata"
    assert not (FIXTURES / case / "checkpoint/offsets/0").exists()
    first = [f"state/0/{partition}/1.delta.crc" for partition in (0, 1)]
    lost = (LOST_METADATA, f"{gone}/metadata")
    assert lost in problems(tmp_path / "with", case, gone)
    assert lost not in problems(tmp_path / "without", case, gone, *first)


@pytest.mark.parametrize("case", ["rocksdb_tws_processing", "rocksdb_join_left_outer_v3"])
def test_lost_operator_metadata_if_schemas_have_format_3(case: str, tmp_path: Path) -> None:
    lost = (LOST_METADATA, "state/0/_metadata/metadata")
    assert lost in problems(tmp_path, f"4.3.0/{case}", "state/0/_metadata", log=False)


def test_no_lost_operator_metadata_without_the_start_of_the_log(tmp_path: Path) -> None:
    assert problems(tmp_path, "4.3.0/agg_append", "state/0/_metadata", log=False) == []
