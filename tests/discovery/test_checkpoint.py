"""A checkpoint as it is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.checkpoint.roots import Selection
from inspector.discovery.checkpoint import open_checkpoint
from inspector.exceptions import CheckpointError, UnsupportedProviderError
from inspector.model import BatchClock, BatchId
from tests import cases
from tests.cases import Batch, small_checkpoint


def test_operators_have_the_names_that_spark_wrote(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    assert [(item.operator_id, item.name, item.name_from) for item in checkpoint.operators] == [
        (0, "symmetricHashJoin", "metadata"),
        (1, "dedupe", "metadata"),
    ]
    assert [[o.name for o in operator.upstream] for operator in checkpoint.operators] == [
        ["dedupe"],
        [],
    ]
    assert set(checkpoint.operators[0].rules) == set(cases.JOIN_STORES)
    assert checkpoint.operators[1].rules["default"].expiry == cases.KEY_TIME
    assert checkpoint.problems == ()


def test_without_metadata_they_are_told_from_their_schemas(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    for operator in (0, 1):
        shutil.rmtree(root / f"state/{operator}/_metadata")
    operators = open_checkpoint(str(root)).operators
    assert [(item.name, item.name_from) for item in operators] == [
        ("symmetricHashJoin", "schemas"),
        ("stateStoreSave", "schemas"),  # the value of this one is no dummy
    ]


def test_a_schema_that_cannot_be_read_is_a_problem_and_its_rule_unknown(tmp_path: Path) -> None:
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


def test_the_newest_version_is_that_of_the_last_commit(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    assert open_checkpoint(str(root)).newest_version == 4
    (root / "commits/3").unlink()
    checkpoint = open_checkpoint(str(root))
    assert (checkpoint.newest_version, checkpoint.version_of()) == (3, 3)
    # Seven stores wrote version 4: nine minus none; it may still be asked for.
    assert checkpoint.versions_without_commit == {4: 9}
    assert checkpoint.version_of(state_version=4) == checkpoint.version_of(batch=3) == 4


def test_without_a_commit_log_it_is_the_newest_that_every_store_can_restore(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    shutil.rmtree(root / "commits")
    assert open_checkpoint(str(root)).newest_version == 4
    (root / "state/1/2/4.delta").unlink()
    assert open_checkpoint(str(root)).newest_version == 3
    (root / "state/1/0/1.delta").unlink()
    assert open_checkpoint(str(root)).newest_version == 0


def test_nothing_committed_is_version_0(tmp_path: Path) -> None:
    root = cases.write_logs(tmp_path, [Batch(committed=False)])
    cases.write_store(root / "state/0/0", {1: []})
    checkpoint = open_checkpoint(str(root))
    assert (checkpoint.newest_version, checkpoint.versions_without_commit) == (0, {1: 1})
    shutil.rmtree(root / "commits")
    shutil.rmtree(root / "state")
    assert open_checkpoint(str(root)).newest_version == 0


def test_a_version_that_does_not_exist_is_refused_by_name(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    assert checkpoint.version_of(state_version=1) == 1
    for item in ({"state_version": 9}, {"batch": 8}):
        with pytest.raises(CheckpointError, match=r"version 9 \(batch 8\) does not .* one is 4"):
            checkpoint.version_of(**item)


def test_a_path_to_a_file_means_its_version(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    checkpoint = open_checkpoint(str(root / "state/1/1/3.delta"))
    assert (checkpoint.root, checkpoint.version_of()) == (str(root), 3)
    assert [operator.operator_id for operator in checkpoint.operators] == [1]
    assert [p.partition_id for p in checkpoint.operators[0].layout.partitions] == [1]
    # The schema lies in partition 0, which is not selected.
    assert set(checkpoint.operators[0].schemas) == {"default"}


def test_what_is_asked_for_narrows_what_the_path_means(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    selection = Selection(partition_id=2, store_name=cases.JOIN_STORES[0])
    (operator,) = open_checkpoint(str(root / "state/0"), selection=selection).operators
    assert [layout.directory for layout in operator.layout.stores] == [
        f"state/0/2/{cases.JOIN_STORES[0]}"
    ]


def test_the_clock_and_confs_of_a_version_are_those_of_its_batch(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(small_checkpoint(tmp_path)))
    assert checkpoint.clock(3) == BatchClock(BatchId(2), 3000, 3000, True, False, 3000)
    assert checkpoint.clock(5) is None
    assert checkpoint.conf(3, "stateStore.compression.codec") == "lz4"


def test_the_state_of_an_unknown_provider_is_declined(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    provider = "com.example.OurProvider"
    cases.write_logs(root, [Batch()], {"streaming.stateStore.providerClass": provider}, first=4)
    # Its files are named as those of Spark's default, which shows nothing.
    with pytest.raises(UnsupportedProviderError, match=provider) as raised:
        open_checkpoint(str(root))
    assert raised.value.path == str(root)
    assert open_checkpoint(str(root), provider_format="hdfs").provider.name == "hdfs"
    shutil.rmtree(root / "state")
    assert open_checkpoint(str(root)).provider.name == "hdfs"  # there is no state to misread


def test_a_schema_that_is_gone_from_beside_the_metadata_is_a_problem(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    path = root / "state/1/0/_metadata/schema"
    path.unlink()
    (problem,) = open_checkpoint(str(root)).problems
    assert (problem.slug, problem.path) == ("missing-schema", str(path))


def test_a_type_that_no_release_has_costs_one_store_its_schema(tmp_path: Path) -> None:
    root = small_checkpoint(tmp_path)
    path = root / "state/1/0/_metadata/schema"
    path.write_bytes(path.read_bytes().replace(b'"timestamp"', b'"timestamq"'))
    checkpoint = open_checkpoint(str(root))
    (problem,) = checkpoint.problems
    assert (problem.slug, problem.path) == ("undecodable", str(path))
    assert "'timestamq'" in problem.message
    assert checkpoint.operators[1].schemas == {}
    assert set(checkpoint.operators[0].schemas) == set(cases.JOIN_STORES)
