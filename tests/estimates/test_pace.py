"""The pace of this machine, on rows made up."""

from __future__ import annotations

import pytest

from inspector.estimates.pace import Pace, measure


def test_it_is_measured_once_and_above_nothing() -> None:
    pace = measure()
    assert measure() is pace
    assert 1e-6 < pace.file < 1
    assert 1e-10 < pace.byte < 1e-3


def test_files_and_bytes_take_their_time() -> None:
    assert Pace(file=0.5, byte=0.25).seconds(4, 8) == pytest.approx(4.0)
