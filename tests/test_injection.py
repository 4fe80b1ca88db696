"""Damages by the seed: every one is harmless, seen, or such that no byte could tell."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.fixture_folder import FIXTURES
from tests.injection import (
    CASES,
    OUTCOMES,
    ROCKSDB,
    Bench,
    Case,
    Told,
    outcome,
    table,
    tell,
)

ALLOWED = {"seen", "harmless", "unvouched", "plausible"}
SAMPLE, MORE = range(5), range(1_000, 1_005)


def check(cases: list[Case]) -> None:
    wrong = [case for case in cases if case.worst not in ALLOWED]
    assert not wrong, f"{wrong}\n{table(cases)}"


@pytest.mark.parametrize("checkpoints", [CASES, ROCKSDB], ids=["hdfs", "rocksdb"])
def test_injected_damage_never_changes_numbers_silently(
    checkpoints: Sequence[str], tmp_path: Path
) -> None:
    check(list(Bench(tmp_path, checkpoints).run(SAMPLE)))


@pytest.mark.full
@pytest.mark.parametrize("checkpoints", [CASES, ROCKSDB], ids=["hdfs", "rocksdb"])
def test_many_injected_damages_with_every_command(
    checkpoints: Sequence[str], tmp_path: Path
) -> None:
    check(list(Bench(tmp_path, checkpoints, every=True).run(MORE)))


def test_a_damage_is_made_again_from_its_seed(tmp_path: Path) -> None:
    first, second = (Bench(tmp_path / name, FIXTURES_OF_ONE).inject(7) for name in ("a", "b"))
    assert first == second


FIXTURES_OF_ONE = ("4.3.0/dedup_event_time",)
SOUND = Told("report", "1", frozenset({"known"}))


@pytest.mark.parametrize(
    ("damaged", "blind", "expected"),
    [
        (Told("report", "1", frozenset({"known"})), "", "harmless"),
        (Told("report", "1", frozenset({"new"})), "", "seen"),
        (Told("report", "2", frozenset({"known", "new"})), "", "seen"),
        (Told("report", "2", frozenset({"known"})), "", "unseen"),
        (Told("report", "2", frozenset()), "unvouched", "unseen"),  # the report has to say so
        (Told("report", "2", frozenset(), True), "unvouched", "unvouched"),
        (Told("report", "2"), "plausible", "plausible"),
        (Told("NotACheckpointError: x"), "", "lost"),
        (Told("fault"), "plausible", "fault"),
        (Told("hang"), "", "hang"),
    ],
)
def test_outcome_of_injected_damage(damaged: Told, blind: str, expected: str) -> None:
    assert outcome(SOUND, damaged, blind) == expected


def test_damage_table_counts_by_kind() -> None:
    cases = [
        Case("f", "all", kind, 1, (), {"audit": item})
        for kind, item in (("cut", "seen"), ("cut", "unseen"), ("flip", "harmless"))
    ]
    head, cut, flip, total = table(cases).splitlines()
    assert head.split() == ["damage", "tried", *OUTCOMES]
    assert cut.split()[:5] == ["cut", "2", "1", "0", "0"]
    assert flip.split()[:4] == ["flip", "1", "0", "1"]
    assert total.split()[:4] == ["all", "3", "1", "1"]


def _fails(_path: str) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(("target", "end"), [(_fails, "fault")])
def test_foreign_exception_counts_as_fault(
    target: Callable[[str], None], end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / FIXTURES_OF_ONE[0] / "checkpoint", root)
    assert tell("info", root).end == "report"
    assert tell("info", tmp_path).end.startswith("NotACheckpointError")
    monkeypatch.setattr("inspector.analyses.shared.opening.Opened.start", target)
    assert tell("info", root).end == end
