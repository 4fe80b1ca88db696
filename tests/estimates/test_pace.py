"""The pace of this machine, on rows made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inspector.estimates import price
from inspector.estimates.price import Pace, measure
from inspector.facts.checks import ReadProblem
from inspector.facts.registry import facts_in
from inspector.facts.versions import VersionFacts
from inspector.passes.worker import run_tasks
from inspector.schemas import task_batch


def test_pace_is_measured_once_and_positive() -> None:
    result = measure()
    assert measure() is result
    assert 1e-6 < result.file < 1
    assert 1e-10 < result.byte < 1e-3


def test_pace_files_are_read_like_a_checkpoint(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    files = [price._write(tmp_path, version, 100, random) for version in (1, 2)]
    task = price._task(str(tmp_path), files)
    facts = [item.fact for b in run_tasks([task_batch(task.to_json())]) for item in facts_in(b)]
    assert not [fact for fact in facts if isinstance(fact, ReadProblem)]
    assert [fact.rows for fact in facts if isinstance(fact, VersionFacts)] == [100, 200]


def test_pace_seconds_for_files_and_bytes() -> None:
    assert Pace(file=0.5, byte=0.25).seconds(4, 8) == pytest.approx(4.0)
