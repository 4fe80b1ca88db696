"""Operators, versions and clocks of an opened checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import open_checkpoint
from inspector.exceptions import CheckpointError, UnsupportedProviderError
from inspector.model import BatchClock, BatchId
from tests import cases
from tests.attributes import attributes
from tests.cases import Batch, small_checkpoint


def test_operator_names_from_metadata(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    join, dedupe = checkpoint.operators
    assert (join.operator_id, join.name, join.name_from) == (0, "symmetricHashJoin", "metadata")
    assert (dedupe.operator_id, dedupe.name, dedupe.name_from) == (1, "dedupe", "metadata")
    (upstream,) = join.upstream
    assert upstream.name == "dedupe"
    assert list(dedupe.upstream) == []
    assert set(join.rules) == set(cases.JOIN_STORES)
    assert dedupe.rules["default"].expiry == cases.KEY_TIME
    assert checkpoint.problems == ()


def test_operator_names_from_schemas(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "state/0/_metadata")
    shutil.rmtree(root / "state/1/_metadata")
    operators = open_checkpoint(str(root)).operators
    assert attributes(operators, "name", "name_from") == [
        ("symmetricHashJoin", "schemas"),
        ("stateStoreSave", "schemas"),  # its value is no dummy value
    ]


def test_unreadable_schema_leaves_the_expiry_rule_unknown(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    path = root / "state/1/0/_metadata/schema"
    path.write_bytes(path.read_bytes()[:20])
    checkpoint = open_checkpoint(str(root))
    (problem,) = checkpoint.problems
    assert (problem.path, problem.slug) == (str(path), "truncated")
    assert checkpoint.operators[1].schemas == {}
    assert "the state schema (Spark 3.1 and later write one) is missing" in (
        checkpoint.operators[1].rules["default"].unknown or ""
    )


def test_newest_version_is_that_of_the_last_commit(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    assert open_checkpoint(str(root)).newest_version == 4
    (root / "commits/3").unlink()
    checkpoint = open_checkpoint(str(root))
    assert (checkpoint.newest_version, checkpoint.version_of()) == (3, 3)
    # All nine stores wrote version 4, and the user can still request it.
    assert checkpoint.versions_without_commit == {4: 9}
    assert checkpoint.version_of(state_version=4) == checkpoint.version_of(batch=3) == 4


def test_newest_version_without_commit_log_is_restorable_by_every_store(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "commits")
    assert open_checkpoint(str(root)).newest_version == 4
    (root / "state/1/2/4.delta").unlink()
    assert open_checkpoint(str(root)).newest_version == 3
    (root / "state/1/0/1.delta").unlink()
    assert open_checkpoint(str(root)).newest_version == 0


def test_newest_version_without_commit_is_0(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(committed=False)])
    cases.write_store(root / "state/0/0", {1: []})
    checkpoint = open_checkpoint(str(root))
    assert (checkpoint.newest_version, checkpoint.versions_without_commit) == (0, {1: 1})
    shutil.rmtree(root / "commits")
    shutil.rmtree(root / "state")
    assert open_checkpoint(str(root)).newest_version == 0


def test_missing_version_is_refused(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    assert checkpoint.version_of(state_version=1) == 1
    with pytest.raises(CheckpointError, match=r"version 9 \(batch 8\) does not .* one is 4"):
        checkpoint.version_of(state_version=9)
    with pytest.raises(CheckpointError, match=r"version 9 \(batch 8\) does not .* one is 4"):
        checkpoint.version_of(batch=8)


def test_path_of_a_state_file_selects_its_version(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    checkpoint = open_checkpoint(str(root / "state/1/1/3.delta"))
    assert (checkpoint.root, checkpoint.version_of()) == (str(root), 3)
    (operator,) = checkpoint.operators
    (partition,) = operator.layout.partitions
    assert (operator.operator_id, partition.partition_id) == (1, 1)
    # The schema is read although partition 0, which has its file, is not selected.
    assert set(operator.schemas) == {"default"}


def test_selection_narrows_the_path(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    selection = Selection(partition_id=2, store_name=cases.JOIN_STORES[0])
    (operator,) = open_checkpoint(str(root / "state/0"), selection=selection).operators
    (store,) = operator.layout.stores
    assert store.directory == f"state/0/2/{cases.JOIN_STORES[0]}"


def test_clock_and_confs_of_a_version(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    assert checkpoint.clock(3) == BatchClock(BatchId(2), 3000, 3000, True, False, 3000)
    assert checkpoint.clock(5) is None
    assert checkpoint.conf(3, "stateStore.compression.codec") == "lz4"


def test_unknown_state_store_provider_is_refused(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    provider = "com.example.OurProvider"
    cases.write_logs(root, [Batch()], {"streaming.stateStore.providerClass": provider}, first=4)
    # Its files have the names that the default provider uses, which proves nothing.
    with pytest.raises(UnsupportedProviderError, match=provider) as raised:
        open_checkpoint(str(root))
    assert raised.value.path == str(root)
    assert open_checkpoint(str(root), provider_format="hdfs").provider.name == "hdfs"
    shutil.rmtree(root / "state")
    assert open_checkpoint(str(root)).provider.name == "hdfs"  # there is no state to misread


def test_missing_schema_with_metadata_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    path = root / "state/1/0/_metadata/schema"
    path.unlink()
    (problem,) = open_checkpoint(str(root)).problems
    assert (problem.slug, problem.path) == ("missing-schema", str(path))


def test_unknown_type_in_a_schema_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    path = root / "state/1/0/_metadata/schema"
    path.write_bytes(path.read_bytes().replace(b'"timestamp"', b'"timestamq"'))
    checkpoint = open_checkpoint(str(root))
    (problem,) = checkpoint.problems
    assert (problem.slug, problem.path) == ("undecodable", str(path))
    assert "'timestamq'" in problem.message
    assert checkpoint.operators[1].schemas == {}
    assert set(checkpoint.operators[0].schemas) == set(cases.JOIN_STORES)
