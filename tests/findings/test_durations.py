"""Lengths of time, for people."""

from __future__ import annotations

import pytest

from inspector.findings.durations import duration_text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0 s"),
        (350, "350 ms"),
        (61_000, "1 min 1 s"),
        (-300, "-300 ms"),
        (93_784_005, "1 d 2 h"),
    ],
)
def test_durations_for_people(millis: int, text: str) -> None:
    assert duration_text(millis) == text
