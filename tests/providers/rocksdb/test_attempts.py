"""Which attempt at a version counts: by the commit log, by lineage, else the last."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from inspector.model import FileKind, StoreFile
from inspector.providers.registry import classify
from inspector.providers.rocksdb import mark_attempts


def file(name: str, modified_ms: int = 0) -> StoreFile:
    return StoreFile(f"p/{name}", *classify(name), 5, modified_ms)


def kept(
    names: list[StoreFile],
    committed: Mapping[int, frozenset[str]] | None = None,
    lineages: Mapping[str, Mapping[int, str]] | None = None,
) -> list[str]:
    questions: list[str] = []

    def lineage(of: StoreFile) -> Mapping[int, str]:
        questions.append(of.path)
        return (lineages or {}).get(of.path.removeprefix("p/"), {})

    result = mark_attempts(names, committed or {}, lineage)
    assert len(result) == len(names)
    assert len(set(questions)) == len(questions)  # no changelog is opened twice
    return [f.path.removeprefix("p/") for f in result if f.kind is not FileKind.ABANDONED]


def test_commit_log_selects_attempt() -> None:
    files = [file("1_a.changelog"), file("1_b.changelog"), file("1_b.zip")]
    assert kept(files, {1: frozenset("b")}) == ["1_b.changelog", "1_b.zip"]
    # The list has the ids of all stores of a partition of a join.
    assert kept(files, {1: frozenset("xa")}) == ["1_a.changelog"]


def test_attempt_absent_from_commit_log_is_uncommitted() -> None:
    assert kept([file("1_a.changelog"), file("1.changelog")], {1: frozenset("c")}) == []


def test_attempts_of_older_versions_follow_lineage() -> None:
    files = [
        *(file("1_a.changelog"), file("1_b.changelog"), file("2_a.changelog")),
        *(file("2_b.changelog"), file("3_a.changelog"), file("3_b.changelog")),
        *(file("4_a.changelog"), file("4_b.changelog")),
    ]
    lineages = {"4_a.changelog": {3: "b", 2: "b"}, "2_b.changelog": {1: "a"}}
    result = kept(files, {4: frozenset("a")}, lineages)
    assert result == ["1_a.changelog", "2_b.changelog", "3_b.changelog", "4_a.changelog"]


def test_newest_attempt_counts_without_commit_log() -> None:
    files = [file("5_a.changelog", 9), file("5_b.changelog", 3), file("5_b.zip", 7)]
    assert kept(files) == ["5_a.changelog"]


@pytest.mark.parametrize("names", [["1.changelog", "1.zip", "2.changelog"], ["3_a.zip"]])
def test_version_with_one_attempt_keeps_all_files(names: list[str]) -> None:
    assert kept([file(name) for name in names]) == names


def test_attempts_keep_other_files() -> None:
    files = [file("1_a.changelog"), file("1_a.changelog.crc"), file(".DS_Store")]
    assert mark_attempts(files, {1: frozenset("z")}, lambda _: {})[1:] == tuple(files[1:])
