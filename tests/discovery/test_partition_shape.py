"""Partitions of operators without metadata and schemas, as Spark wrote them until 3.0."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import api
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.partition_shape import SinglePartition
from inspector.discovery.restart import restart_of
from tests.checkpoint_files import overwrite_files, remove_paths
from tests.cli.support import run
from tests.encode import state_file
from tests.fixture_folder import FIXTURES
from tests.reports import slugs

NULL_KEY = b"\1" + bytes(15)
KEY = bytes(8) + b"\5" + bytes(7)
LONG = bytes(16)
YES, LIKELY, NO, UNKNOWN = (
    SinglePartition.YES,
    SinglePartition.LIKELY,
    SinglePartition.NO,
    SinglePartition.UNKNOWN,
)


SENTENCES = {
    YES: ": yes",
    LIKELY: "This assumes that operator 0 is a limit",
    NO: "Cannot restart",
    UNKNOWN: "unknown, because operator 0 has partition 0 alone and no row",
}


def write_operator(root: Path, keys: Sequence[bytes], value: bytes = LONG) -> Path:
    """Write a checkpoint of Spark 2.4.8 whose operator has only partition 0, with 8 deltas."""
    shutil.copytree(FIXTURES / "2.4.8/agg_update/checkpoint", root)
    shutil.rmtree(root / "state/0")
    (root / "state/0/0").mkdir(parents=True)
    data = state_file([(key, value) for key in keys])
    for version in range(1, 9):
        (root / f"state/0/0/{version}.delta").write_bytes(data)
    return root


def problem_slugs(root: Path) -> list[str]:
    return slugs(api.verify(str(root)).problems)


@pytest.mark.parametrize(
    ("keys", "value", "single", "possible"),
    [
        ([b""], LONG, YES, True),  # an aggregation without keys
        ([NULL_KEY], LONG, LIKELY, True),  # a limit
        ([NULL_KEY], bytes(24), NO, False),  # a group whose key is null, with two sums
        ([KEY], LONG, NO, False),
        ([KEY], b"", NO, False),  # an empty value is no removal
        ([], LONG, UNKNOWN, None),
    ],
)
def test_operator_with_only_partition_0(
    tmp_path: Path,
    keys: Sequence[bytes],
    value: bytes,
    single: SinglePartition,
    *,
    possible: bool | None,
) -> None:
    root = write_operator(tmp_path / "checkpoint", keys, value)
    checkpoint = open_checkpoint(str(root))
    (operator,) = checkpoint.operators
    assert operator.shape.single is single
    assert operator.single_partition is (single in (YES, LIKELY))
    restart = restart_of(checkpoint)
    assert restart.possible is possible
    assert SENTENCES[single] in restart.sentence
    assert ("missing-partition" in problem_slugs(root)) is (single is NO)
    assert run("audit", root).code == (4 if single is NO else 0)


@pytest.mark.parametrize("case", ["2.4.8/agg_update", "3.5.9/agg_update", "4.3.0/agg_update"])
def test_operator_with_schema_or_all_partitions_needs_no_shape(case: str) -> None:
    (operator,) = open_checkpoint(str(FIXTURES / case / "checkpoint")).operators
    assert operator.shape.single is NO
    assert operator.shape.first == 0


def test_operator_with_unreadable_deltas_has_an_unknown_shape(tmp_path: Path) -> None:
    root = write_operator(tmp_path / "checkpoint", [b""])
    overwrite_files(root, "state/0/0/*.delta", b"x")
    (operator,) = open_checkpoint(str(root)).operators
    assert operator.shape.single is UNKNOWN


def test_rerun_of_batch_0_needs_no_partition(tmp_path: Path) -> None:
    root = write_operator(tmp_path / "checkpoint", [])
    remove_paths(root, "offsets/[1-9]*", "commits/[0-9]*")
    assert restart_of(open_checkpoint(str(root))).possible is True


def shifted_join(root: Path, numbers: Sequence[int]) -> Path:
    """Write a join of Spark 2.4.8 with other numbers for its partitions 0 and 1."""
    shutil.copytree(FIXTURES / "2.4.8/join_inner_v1/checkpoint", root)
    partitions = sorted((root / "state/0").iterdir(), reverse=True)
    for folder, number in zip(partitions, sorted(numbers, reverse=True), strict=False):
        folder.rename(folder.with_name(str(number)))
    return root


def test_partitions_of_an_old_join_behind_a_union(tmp_path: Path) -> None:
    """SPARK-29438: no partition is missing, and Spark 2.4.5 and later do not find them."""
    root = shifted_join(tmp_path / "checkpoint", [3, 4])
    restart = restart_of(open_checkpoint(str(root)))
    assert "yes with Spark before 2.4.5, from 8 deltas; no with Spark 2.4.5 or" in restart.sentence
    assert {"missing-partition", "extra-partition"}.isdisjoint(problem_slugs(root))
    outcome = run("audit", root)
    assert outcome.code == 0
    assert outcome.out.startswith("Healthy: no findings")
    assert run("preflight", root).code == 1  # no release that preflight knows finds them


@pytest.mark.parametrize("numbers", [[0, 3], [3, 5]])
def test_nonconsecutive_partitions_of_an_old_join_are_missing(
    tmp_path: Path, numbers: list[int]
) -> None:
    root = shifted_join(tmp_path / "checkpoint", numbers)
    assert restart_of(open_checkpoint(str(root))).possible is False
    assert "missing-partition" in problem_slugs(root)


def test_newer_join_has_no_shifted_partitions(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / "3.0.3/join_inner_v1/checkpoint", root)
    (root / "state/0/1").rename(root / "state/0/4")
    (root / "state/0/0").rename(root / "state/0/3")
    assert "missing-partition" in problem_slugs(root)


@given(data=st.binary(max_size=200))
def test_any_bytes_in_partition_0_give_a_shape(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    root = write_operator(tmp_path_factory.mktemp("shape") / "checkpoint", [])
    overwrite_files(root, "state/0/0/*.delta", data)
    (operator,) = open_checkpoint(str(root)).operators
    assert operator.shape.single in SinglePartition
    shutil.rmtree(root)
