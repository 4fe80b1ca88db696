"""Stores that are column families of one RocksDB instance."""

from __future__ import annotations

import shutil
from pathlib import Path

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import open_checkpoint, state_file_bytes
from inspector.discovery.plan import plan
from inspector.model import JOIN_STORES
from inspector.sparktypes.key_encoders import KeyEncoding
from tests.attributes import attributes
from tests.cli.support import checkpoint_of

FORMAT_3 = checkpoint_of("rocksdb_join_left_outer_v3")
FORMAT_4 = checkpoint_of("rocksdb_join_left_outer_v4")


def test_join_of_format_3_has_four_stores() -> None:
    (operator,) = open_checkpoint(str(FORMAT_3)).operators
    assert operator.layout.store_names == tuple(sorted(JOIN_STORES))
    assert set(operator.layout.expected_stores) == set(JOIN_STORES)
    schema = operator.schemas["left-keyWithIndexToValue"]
    assert attributes(schema.key.fields, "name")[-1] == "index"
    assert attributes(schema.column_families, "name") == ["left-keyWithIndexToValue"]


def test_join_of_format_4_has_several_values_per_key() -> None:
    (operator,) = open_checkpoint(str(FORMAT_4)).operators
    schema = operator.schemas["left-keyWithTsToValues"]
    assert attributes(schema.key.fields, "name")[-2:] == ["__event_time", "index"]
    (task, _) = plan(open_checkpoint(str(FORMAT_4)), 3)
    by_name = {store.store_name: store for store in task.stores}
    assert attributes(task.stores, "several_values") == [True] * 4
    assert by_name["left-tsWithKey"].key_encoder.kind is KeyEncoding.TIMESTAMP_FIRST
    assert by_name["right-keyWithTsToValues"].key_encoder.kind is KeyEncoding.TIMESTAMP_LAST


def test_shared_files_are_counted_once() -> None:
    checkpoint = open_checkpoint(str(FORMAT_3))
    (operator,) = checkpoint.operators
    assert len(operator.layout.stores) == 8
    assert len(operator.layout.folders) == len(checkpoint.store_files) == 2
    assert state_file_bytes(checkpoint) == 17_599
    (task, _) = plan(checkpoint, 3)
    assert attributes(task.stores, "counts_files") == [True, False, False, False]


def test_selection_of_one_column_family() -> None:
    checkpoint = open_checkpoint(str(FORMAT_3), selection=Selection(store_name=JOIN_STORES[0]))
    (operator,) = checkpoint.operators
    assert operator.layout.store_names == (JOIN_STORES[0],)


def test_a_schema_that_cannot_be_read_is_a_problem_of_its_operator(tmp_path: Path) -> None:
    root = Path(shutil.copytree(FORMAT_3, tmp_path / "c"))
    (path,) = (root / "state/0/_stateSchema/default").iterdir()
    path.write_bytes(path.read_bytes()[:50])
    checkpoint = open_checkpoint(str(root))
    (problem,) = checkpoint.problems
    assert (problem.slug, problem.path) == ("truncated", str(path))
    assert checkpoint.operators[0].layout.store_names == ("default",)
