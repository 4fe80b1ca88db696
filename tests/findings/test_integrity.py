"""Findings about files, and about what they waste."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.exceptions import ChecksumError, DecodeError, FrameError, TruncatedError
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.findings.integrity import (
    judge_format,
    judge_problems,
    judge_removals,
    judge_rewrites,
)
from inspector.model import Certainty, Problem, StoreId

FIXTURE = Path(__file__).parents[2] / "fixtures" / "4.3.0" / "agg_append" / "checkpoint"
STORE = StoreId(3, "default", 1)


def judged(*problems: Problem) -> list[Finding]:
    return list(judge_problems(problems))


@pytest.mark.parametrize(
    ("slug", "id_"),
    [
        ("missing-delta", "SS101"),
        (TruncatedError.slug, "SS102"),
        (FrameError.slug, "SS102"),
        (DecodeError.slug, "SS102"),
        ("storage", "SS102"),
        ("row-checksum", "SS102"),
        ("snapshot-differs", "SS104"),
        ("missing-version", "SS105"),
        ("bad-row", "SS106"),
        ("missing-partition", "SS109"),
        ("log-contradiction", "SS111"),
        ("log-entry-lost", "SS111"),
        (ChecksumError.slug, "SS112"),
    ],
)
def test_a_problem_is_a_proven_finding_with_its_place_and_a_next_step(slug: str, id_: str) -> None:
    (found,) = judged(Problem(slug, "got 1, expected 2", "/c/1.delta", 21, STORE, 1))
    assert (found.kind.id, found.certainty) == (id_, Certainty.PROVEN)
    assert found.evidence == "/c/1.delta: got 1, expected 2"
    assert (found.operator_id, found.store_name) == (3, None)
    assert found.next_step


@pytest.mark.parametrize("slug", ["codec-mismatch", "uncommitted"])
def test_what_is_only_remarkable_is_no_finding(slug: str) -> None:
    assert judged(Problem(slug, "got 1", "/c", 0, STORE)) == []


def test_problems_of_one_kind_in_one_operator_are_one_finding() -> None:
    other = StoreId(4, "default", 0)
    found = judged(
        Problem("truncated", "first", "/a", 1, STORE),
        Problem("bad-frame", "second", "/b", 2, STORE),
        Problem("truncated", "third", "/c", 3, other),
        Problem("missing-delta", "fourth", "/d", None, STORE),
        Problem("storage", "fifth"),
    )
    assert [(one.kind.id, one.operator_id, one.evidence) for one in found] == [
        ("SS102", 3, "/a: first (and 1 more, see problems)"),
        ("SS102", 4, "/c: third"),
        ("SS101", 3, "/d: fourth"),
        ("SS102", None, "fifth"),
    ]


def test_only_the_first_format_of_an_aggregation_repeats_its_keys() -> None:
    (found,) = judge_format(2, {"aggregation": "1"})
    assert (found.kind.id, found.operator_id) == ("SS301", 2)
    assert list(judge_format(2, {"aggregation": "2"})) == []
    assert list(judge_format(2, {})) == []


@pytest.mark.parametrize(("same", "found"), [(0, False), (4, False), (5, True), (10, True)])
def test_rewrites_are_told_from_half_of_the_updates_on(same: int, found: bool) -> None:
    versions = [
        VersionFacts(updates=4, puts=9, same_value_puts=0),
        VersionFacts(updates=6, puts=9, same_value_puts=same, same_value_put_bytes=16 * same),
    ]
    result = list(judge_rewrites(0, "default", versions))
    assert bool(result) == found
    if found:
        assert (result[0].rows, result[0].bytes) == (same, 16 * same)
        assert f"{same} of 10 updates" in result[0].evidence


def test_a_store_without_updates_rewrites_nothing() -> None:
    assert list(judge_rewrites(0, "default", [VersionFacts(puts=5, inserts=5)])) == []
    assert list(judge_rewrites(0, "default", [])) == []


def test_a_removal_of_what_is_not_there_is_no_work_of_spark() -> None:
    sound = {1: VersionFacts(removals=3), 2: VersionFacts(removals=1)}
    assert list(judge_removals(0, "default", sound)) == []
    wrong = sound | {7: VersionFacts(removals=2, absent_removals=2)}
    (finding,) = judge_removals(0, "default", wrong | {8: VersionFacts(absent_removals=1)})
    assert (finding.kind.id, finding.rows) == ("SS113", 3)
    assert "3 removals of keys that are not there, the first in version 7" in finding.evidence


def test_deltas_of_another_partition_are_noticed(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURE, root)
    for ours, others in (("0", "1"), ("1", "0")):
        for name in ("8.delta", "9.delta"):
            shutil.copy(FIXTURE / "state/0" / others / name, root / "state/0" / ours / name)
    found = [finding.kind.id for finding in api.audit(str(root)).findings]
    assert "SS113" in found
