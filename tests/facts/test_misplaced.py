"""Keys held against their partition: every key that Spark placed is where its hash sends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.facts.misplaced import MisplacedKeys
from tests.attributes import attributes
from tests.cases import hdfs_cases
from tests.fixture_folder import NEWEST
from tests.profiles import sampled

UNCHECKED = ("agg_global", "wide_key")
"""One partition has all keys; a key that holds an array has a hash that is not computed here."""

CASES = attributes(hdfs_cases("4.3.0"), "name")


def misplaced_keys(path: Path) -> MisplacedKeys:
    facts = Run.start(str(path), None).facts(Request(fit=True))
    return sum(attributes(facts.of(MisplacedKeys), "fact"), MisplacedKeys())


@pytest.mark.parametrize("case", sampled(CASES, 5))
def test_keys_of_spark_are_in_the_partition_of_their_hash(case: str) -> None:
    total = misplaced_keys(NEWEST / case / "checkpoint")
    assert total.misplaced == total.misplaced_bytes == 0
    assert bool(total.checked) != (case in UNCHECKED)


@pytest.mark.parametrize("case", ["agg_update", "session_window", "join_left_outer"])
def test_swapped_partition_files_give_misplaced_keys(case: str, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    state = root / "state" / "0"
    shutil.copytree(NEWEST / case / "checkpoint", root)
    for ours in (state / "0").rglob("*.delta"):
        siblings = state / "1" / ours.relative_to(state / "0")
        spare = ours.read_bytes()
        ours.write_bytes(siblings.read_bytes())
        siblings.write_bytes(spare)
    total = misplaced_keys(root)
    assert total.misplaced == total.checked > 0
    assert total.misplaced_bytes > 0


def test_misplaced_keys_are_checked_only_on_request() -> None:
    facts = Run.start(str(NEWEST / "agg_update" / "checkpoint"), None).facts()
    assert facts.of(MisplacedKeys) == []
