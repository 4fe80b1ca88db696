"""The pace of this machine, measured with generated rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inspector.estimates import price
from inspector.estimates.price import Pace, measure
from inspector.facts.checks import ReadProblem
from inspector.facts.versions import VersionFacts
from tests import cases


def test_pace_is_measured_once_and_positive() -> None:
    result = measure()
    assert measure() is result
    assert 1e-6 < result.file < 1
    assert 1e-10 < result.byte < 1e-3


def test_pace_files_are_read_like_a_checkpoint(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    files = [price._write(tmp_path, 1, 100, random), price._write(tmp_path, 2, 100, random)]
    facts = cases.observed([price._task(str(tmp_path), files).to_json()])
    assert cases.facts_of_type(facts, ReadProblem) == []
    first, second = cases.facts_of_type(facts, VersionFacts)
    assert (first.rows, second.rows) == (100, 200)


def test_pace_seconds_for_files_and_bytes() -> None:
    assert Pace(file=0.5, byte=0.25).seconds(4, 8) == pytest.approx(4.0)
